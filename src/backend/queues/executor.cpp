#include "backend/queues/executor.h"

#include <time.h>

#include <algorithm>
#include <cstdlib>

#include "backend/queues/interleaving.h"
#include "base/settings.h"
#include "base/sync/core_use.h"
#include "base/sync/futex.h"
#include "base/sync/spin.h"
#include "base/system/os.h"
#include "base/undying.h"

namespace vg::backend {
namespace {

constexpr uint64_t kSpin = 30'000;             // ns an idle thread polls before it sleeps, if there are cores for it
constexpr uint64_t kStall = 1'000'000;         // ns after which a waiting task gets a thread whatever runs
constexpr uint64_t kBoredom = 10'000'000'000;  // ns of sleep after which a spare thread ends
constexpr uint64_t kTryAgain = 10'000'000;     // ns after the system has refused a thread
constexpr uint32_t kMostThreads = 2048;

uint32_t cores() {
  const unsigned long wanted = std::strtoul(settings().workers.c_str(), nullptr, 10);
  return wanted ? static_cast<uint32_t>(wanted) : os::usableCores();
}

}  // namespace

Executor& Executor::shared() {
  return undyingFrom<Executor>([] { return Executor(std::clamp(cores(), 2u, kMostThreads)); });
}

Executor::Executor(uint32_t concurrency) : concurrency_(concurrency) {}

void Executor::schedule(Task& task, unsigned urgency) noexcept {
  if (interleaving::on()) [[unlikely]]
    return interleaving::add(task);
  const MutexLock lock(mutex_);
  List& list = lists_[std::min(urgency, kUrgencies - 1)];
  task.next_ = nullptr;
  (list.last ? list.last->next_ : list.first) = &task;
  list.last = &task;
  waiting_.fetch_add(1, std::memory_order_seq_cst);
  rouse();
}

void Executor::close(uint64_t nanoseconds) {
  if (closing_.exchange(true)) return;  // several devices share the executor
  const uint64_t limit = monotonicNanoseconds() + nanoseconds;
  ReleasableLock lock(mutex_);
  while (running_ && monotonicNanoseconds() < limit) {
    lock.unlock();
    const timespec pause{0, 100'000};
    nanosleep(&pause, nullptr);
    lock.lock();
  }
}

// Sees to it that somebody looks at the lists. A thread that polls or is about to sleep takes
// the mutex afterwards, so it cannot miss a task that is in a list by now.
void Executor::rouse() {
  if (!waiting_.load(std::memory_order_relaxed) || spinning_.load(std::memory_order_seq_cst)) return;
  if (running_ >= concurrency_ && watching_) return;
  if (sleeping_) {
    if (roused_ < sleeping_) {
      ++roused_;
      core_use::begin();
    }
    signal_.fetch_add(1, std::memory_order_release);
    futex::wake(signal_, 1);
    return;
  }
  refused_ = !startThread();
  if (refused_) spare_hands::adopt(*this);
}

bool Executor::startThread() {
  if (threads_ >= kMostThreads || (refused_ && monotonicNanoseconds() < nextTry_)) return false;
  ++threads_;
  core_use::begin();
  if (os::startThread(
          "vg-service", [](void* self) { static_cast<Executor*>(self)->threadMain(); }, this))
    return true;
  core_use::end();
  --threads_;
  nextTry_ = monotonicNanoseconds() + kTryAgain;
  return false;
}

// Whatever else runs: it may wait for this.
bool Executor::help() noexcept {
  ReleasableLock lock(mutex_);
  Task* const task = refused_ ? take(true) : nullptr;
  if (task) perform(*task, lock);
  return task;
}

void Executor::perform(Task& task, ReleasableLock& lock) {
  ++running_;
  rouse();
  lock.unlock();
  task.run();
  lock.lock();
  --running_;
}

Executor::Task* Executor::take(bool overdue) {
  if (running_ >= concurrency_ && !overdue) return nullptr;
  for (unsigned urgency = kUrgencies; urgency-- > 0;) {
    List& list = lists_[urgency];
    Task* task = list.first;
    if (!task) continue;
    list.first = task->next_;
    if (!list.first) list.last = nullptr;
    waiting_.fetch_sub(1, std::memory_order_relaxed);
    ++taken_;
    return task;
  }
  return nullptr;
}

void Executor::threadMain() {
  ReleasableLock lock(mutex_);
  Rest rested = Rest::Woken;
  uint64_t takenBefore = taken_;
  for (;;) {
    if (Task* task = take(rested == Rest::Stalled && taken_ == takenBefore)) {
      perform(*task, lock);
      rested = Rest::Woken;
      continue;
    }
    takenBefore = taken_;
    rested = rest(lock);
    if (rested == Rest::Bored && threads_ > concurrency_ && !waiting_.load(std::memory_order_relaxed)) break;
  }
  core_use::end();
  --threads_;
}

Executor::Rest Executor::rest(ReleasableLock& lock) {
  const bool stalled = waiting_.load(std::memory_order_relaxed) > 0;
  if (!stalled && !spinning_.exchange(true, std::memory_order_seq_cst)) {
    lock.unlock();
    const auto found = [&] { return waiting_.load(std::memory_order_relaxed) > 0; };
    // A thread of the application needs a core too: it may wait for what has been done.
    spinUntil(found, kSpin, [] { return core_use::leaves(1); });
    spinning_.store(false, std::memory_order_seq_cst);
    lock.lock();
    if (found()) return Rest::Woken;
  }
  const uint32_t seen = signal_.load(std::memory_order_relaxed);
  const uint64_t limit = stalled ? kStall : kBoredom;
  ++sleeping_;
  watching_ += stalled;
  lock.unlock();
  core_use::end();
  const bool woken = futex::wait(signal_, seen, &limit);
  lock.lock();
  if (roused_) {
    --roused_;
  } else {
    core_use::begin();
  }
  --sleeping_;
  watching_ -= stalled;
  if (woken) return Rest::Woken;
  return stalled ? Rest::Stalled : Rest::Bored;
}

Executor::Blocking::Blocking(Executor& executor) : executor_(executor) {
  interleaving::mayBlock();
  const MutexLock lock(executor_.mutex_);
  --executor_.running_;
  executor_.rouse();
}

Executor::Blocking::~Blocking() {
  const MutexLock lock(executor_.mutex_);
  ++executor_.running_;
}

}  // namespace vg::backend
