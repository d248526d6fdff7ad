// Queues of what kernels launch. Sending may wait until there is room behind others, which may themselves wait for an
// answer. So a queue of these only notes its commands, and a thread of the executor hands them on, in the order in
// which they came.
#pragma once

#include <array>
#include <atomic>
#include <list>
#include <memory>

#include "backend/nvidia/kernels/gpu_parts.h"
#include "backend/nvidia/queue.h"
#include "backend/queues/executor.h"
#include "base/sync/mutex.h"

namespace vg::backend::nvidia {

// One a device; never destroyed. Thread-safe.
class ChildSender final : public ChildQueues, private Executor::Task {
 public:
  ChildSender(QueueParts& parts, Executor& executor) : parts_(parts), executor_(executor) {}
  std::unique_ptr<Queue> makeQueue(const std::array<uint32_t, 4>& disabledTpcs) override {
    return newQueue(disabledTpcs, false);
  }
  std::unique_ptr<Queue> makeTailQueue(const std::array<uint32_t, 4>& disabledTpcs) override {
    return newQueue(disabledTpcs, true);
  }
  void call(const HostCall& call) noexcept override;

 private:
  class ChildQueue;
  struct Entry {
    std::shared_ptr<GpuQueue> queue;  // kept until the command is handed on; null: a call that is made here
    Command command;
    Point done;
  };
  std::unique_ptr<Queue> newQueue(const std::array<uint32_t, 4>& disabledTpcs, bool tail);
  bool sendAtOnce(GpuQueue& queue, const Command& command, Point done) const;
  void add(std::list<Entry> entries) noexcept;
  void run() override;
  bool next(std::list<Entry>& entries);
  void handOn(Entry& entry) const;
  CUresult submit(Entry& entry) const noexcept;

  QueueParts& parts_;
  Executor& executor_;
  std::atomic<uint64_t> added_{0};
  Mutex mutex_;
  std::list<Entry> entries_ VG_GUARDED_BY(mutex_);
  bool scheduled_ VG_GUARDED_BY(mutex_) = false;
};

}  // namespace vg::backend::nvidia
