#include "backend/nvidia/watcher.h"

#include "backend/nvidia/sent_work.h"
#include "base/futex.h"
#include "base/os.h"
#include "base/spin.h"

namespace vg::backend::nvidia {
namespace {

constexpr uint64_t kPolling = 200'000;     // ns without an end, after which it naps
constexpr uint64_t kReminder = 1'000'000;  // ns without an end, after which channels are reminded of their work
constexpr uint64_t kAwake = 50'000;        // ns without work, after which it sleeps
constexpr size_t kEmptyLooks = 512;        // at queues without work, after which it leaves one

}  // namespace

void Watcher::watch(std::shared_ptr<SentWork> work) {
  {
    const std::lock_guard guard(mutex_);
    new_.push_back(std::move(work));
    if (!started_)
      started_ = os::startThread(
          "vg-gpu", [](void* self) { static_cast<Watcher*>(self)->main(); }, this);
  }
  arrivals_.fetch_add(1, std::memory_order_seq_cst);
  if (asleep_.load(std::memory_order_seq_cst)) futex::wakeAll(arrivals_);
}

void Watcher::takeNew(std::vector<Watched>& active) {
  const std::lock_guard guard(mutex_);
  for (auto& work : new_) active.push_back({std::move(work)});
  new_.clear();
}

// To begin to watch costs who sends more than all else, but each queue that is watched makes the others wait.
bool Watcher::enough(Watched& one, size_t all) {
  return (++one.emptyLooks * all > kEmptyLooks || os::soleCore()) && one.work->leave();
}

void Watcher::main() {
  std::vector<Watched> active;
  uint32_t seen = 0;
  uint64_t lastEnd = 0, reminded = 0;
  for (uint32_t round = 0;; ++round) {
    if (const uint32_t arrivals = arrivals_.load(std::memory_order_acquire); arrivals != seen) {
      seen = arrivals;
      takeNew(active);
      lastEnd = monotonicNanoseconds();
    }
    bool progress = false;
    for (size_t i = 0; i < active.size();) {
      Watched& one = active[i];
      const SentWork::Found found = one.work->collect();
      if (found != SentWork::Found::Empty) {
        progress |= found == SentWork::Found::Something || one.emptyLooks;
        one.emptyLooks = 0;
      } else if (enough(one, active.size())) {
        one = std::move(active.back());
        active.pop_back();
        continue;
      }
      ++i;
    }
    if (active.empty()) {
      rest(seen);
    } else if (progress) {
      lastEnd = monotonicNanoseconds();
    } else if (round % 64 == 0) {
      const uint64_t now = monotonicNanoseconds();
      if (now - lastEnd > kReminder && now - reminded > kReminder) {
        for (const Watched& one : active) one.work->remind();
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
