#include "backend/nvidia/watcher.h"

#include "base/sync/futex.h"
#include "base/sync/spin.h"
#include "base/system/os.h"

namespace vg::backend::nvidia {
namespace {

constexpr uint64_t kPolling = 200'000;     // ns without an end, after which it naps
constexpr uint64_t kReminder = 1'000'000;  // ns without an end, after which channels are reminded of their work
constexpr uint64_t kAwake = 50'000;        // ns without work, after which it sleeps
constexpr size_t kEmptyLooks = 512;        // at queues without work, after which it leaves one

}  // namespace

// Needs no memory, for what is watched was sent already: the lists are made of the works themselves.
void Watcher::watch(std::shared_ptr<Watched> work) noexcept {
  {
    const MutexLock guard(mutex_);
    work->next_ = std::move(new_);
    new_ = std::move(work);
    if (!started_)
      started_ = os::startThread(
          "vg-gpu", [](void* self) { static_cast<Watcher*>(self)->main(); }, this);
    if (!started_) spare_hands::adopt(*this);
  }
  arrivals_.fetch_add(1, std::memory_order_seq_cst);
  if (asleep_.load(std::memory_order_seq_cst)) futex::wakeAll(arrivals_);
}

void Watcher::takeNew() {
  const MutexLock guard(mutex_);
  while (std::shared_ptr<Watched> work = std::move(new_)) {
    new_ = std::move(work->next_);
    work->emptyLooks_ = 0;
    work->next_ = std::move(active_);
    active_ = std::move(work);
    ++count_;
  }
}

// To begin to watch costs who sends more than all else, but each queue that is watched makes the others wait.
bool Watcher::enough(Watched& work) const { return ++work.emptyLooks_ * count_ > kEmptyLooks || os::soleCore(); }

// Out of the list first: from the moment that it is left, it may be watched anew.
bool Watcher::leave(std::shared_ptr<Watched>& place) {
  std::shared_ptr<Watched> work = std::move(place);
  place = std::move(work->next_);
  --count_;
  if (work->leave()) return true;
  work->next_ = std::move(place);
  place = std::move(work);
  ++count_;
  return false;
}

// True when something had ended or has begun.
bool Watcher::lookAtAll() {
  bool progress = false;
  for (std::shared_ptr<Watched>* place = &active_; *place;) {
    Watched& work = **place;
    const Watched::Found found = work.collect();
    if (found != Watched::Found::Empty) {
      progress |= found == Watched::Found::Something || work.emptyLooks_;
      work.emptyLooks_ = 0;
    } else if (enough(work) && leave(*place)) {
      continue;
    }
    place = &work.next_;
  }
  return progress;
}

bool Watcher::help() noexcept {
  if (!looking_.try_lock()) return false;
  const MutexLock looking(looking_, std::adopt_lock);
  takeNew();
  return lookAtAll();
}

Watcher::~Watcher() {
  {
    const MutexLock guard(mutex_);
    if (!started_) return;
  }
  stopping_.store(true, std::memory_order_seq_cst);
  arrivals_.fetch_add(1, std::memory_order_seq_cst);
  futex::wakeAll(arrivals_);
  while (!ended_.load(std::memory_order_acquire)) nap();
}

void Watcher::main() {
  look();
  ended_.store(true, std::memory_order_release);
}

void Watcher::look() {
  const MutexLock looking(looking_);
  uint32_t seen = 0;
  uint64_t lastEnd = 0, reminded = 0;
  for (uint32_t round = 0; !stopping_.load(std::memory_order_relaxed); ++round) {
    if (const uint32_t arrivals = arrivals_.load(std::memory_order_acquire); arrivals != seen) {
      seen = arrivals;
      takeNew();
      lastEnd = monotonicNanoseconds();
    }
    const bool progress = lookAtAll();
    if (!active_) {
      rest(seen);
    } else if (progress) {
      lastEnd = monotonicNanoseconds();
    } else if (round % 64 == 0) {
      const uint64_t now = monotonicNanoseconds();
      if (now - lastEnd > kReminder && now - reminded > kReminder) {
        for (Watched* work = active_.get(); work; work = work->next_.get()) work->remind();
        reminded = now;
      }
      if (os::soleCore() || now - lastEnd > kPolling) nap();
    } else {
      relax();
    }
  }
}

void Watcher::rest(uint32_t seen) {
  const auto arrived = [&] { return arrivals_.load(std::memory_order_acquire) != seen; };
  if (spinUntil(arrived, kAwake)) return;
  asleep_.store(true, std::memory_order_seq_cst);
  while (!arrived()) futex::wait(arrivals_, seen);
  asleep_.store(false, std::memory_order_seq_cst);
}

}  // namespace vg::backend::nvidia
