// The service threads that drain queues: an elastic pool, apart from the compute threads of emulated devices.
//
// As many tasks as there are cores run at once; the rest waits its turn. A task that says it may block (a host
// function) does not count, and a task that has waited for a millisecond while no other could be taken gets a thread of
// its own, so that work which waits for other work always meets it in the end. Threads start at the first need, sleep
// when idle, end after a long rest, and otherwise end with the process. While the system refuses threads, those who
// wait for work do it (base/sync/spare_hands.h).
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "backend/queues/task.h"
#include "base/sync/mutex.h"
#include "base/sync/spare_hands.h"

namespace vg::backend {

class Executor final : private spare_hands::Orphan {
 public:
  using Task = backend::Task;

  static constexpr unsigned kUrgencies = 6;
  // That of work in streams of this priority: 0 is the least, -5 the greatest.
  static unsigned urgencyOf(int priority) {
    return static_cast<unsigned>(std::clamp(-priority, 0, static_cast<int>(kUrgencies) - 1));
  }

  // The executor of all devices.
  static Executor& shared();
  // `concurrency`: tasks that run at once when none blocks. Never destroyed.
  explicit Executor(uint32_t concurrency);
  Executor(const Executor&) = delete;

  // Runs the task soon on some thread; tasks of a higher urgency (below kUrgencies) are taken first. Any thread.
  void schedule(Task& task, unsigned urgency = 0) noexcept;
  // True when tasks wait for a thread: a long task should step aside.
  bool congested() const { return waiting_.load(std::memory_order_relaxed) > 0; }

  // For the end of the process: tasks are to drop their work from now on; waits until none is in the middle of any,
  // at most `nanoseconds`.
  void close(uint64_t nanoseconds);
  bool closing() const { return closing_.load(std::memory_order_relaxed); }

  // Marks the calling task as blocked while it lives.
  class Blocking {
   public:
    explicit Blocking(Executor& executor);
    ~Blocking();
    Blocking(const Blocking&) = delete;

   private:
    Executor& executor_;
  };

 private:
  struct List {
    Task* first = nullptr;
    Task* last = nullptr;
  };
  enum class Rest { Woken, Stalled, Bored };

  bool help() noexcept override;
  void threadMain();
  void perform(Task& task, ReleasableLock& lock) VG_REQUIRES(mutex_) VG_UNCHECKED_LOCKS;  // `lock` is of mutex_
  bool startThread() VG_REQUIRES(mutex_);
  Task* take(bool overdue) VG_REQUIRES(mutex_);
  Rest rest(ReleasableLock& lock) VG_REQUIRES(mutex_) VG_UNCHECKED_LOCKS;  // `lock` is of mutex_
  void rouse() VG_REQUIRES(mutex_);

  const uint32_t concurrency_;
  std::atomic<uint32_t> waiting_{0};  // tasks in the lists
  std::atomic<bool> closing_{false};
  std::atomic<bool> spinning_{false};  // one idle thread polls waiting_
  std::atomic<uint32_t> signal_{0};    // futex word of sleeping threads
  Mutex mutex_;
  List lists_[kUrgencies] VG_GUARDED_BY(mutex_);
  uint64_t taken_ VG_GUARDED_BY(mutex_) = 0;
  uint32_t threads_ VG_GUARDED_BY(mutex_) = 0;
  uint32_t running_ VG_GUARDED_BY(mutex_) = 0;   // tasks that run and do not block
  uint32_t sleeping_ VG_GUARDED_BY(mutex_) = 0;  // threads
  uint32_t roused_ VG_GUARDED_BY(mutex_) = 0;    // sleepers for which somebody has told core_use that they are awake
  uint32_t watching_ VG_GUARDED_BY(mutex_) = 0;  // those of them that sleep at most kStall, because tasks wait
  bool refused_ VG_GUARDED_BY(mutex_) = false;   // the last thread that was to be started was not
  uint64_t nextTry_ VG_GUARDED_BY(mutex_) = 0;   // when the system is asked again then
};

}  // namespace vg::backend
