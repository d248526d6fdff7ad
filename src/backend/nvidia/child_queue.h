// Queues of what kernels launch. Who answers kernels must never wait for a kernel: sending may wait until there is room
// behind others, which may themselves wait for an answer. So a queue of these only notes its commands, and a thread of
// the executor hands them on, in the order in which they came.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "backend/executor.h"
#include "backend/queue.h"

namespace vg::backend::nvidia {

class GpuDevice;
class GpuQueue;

// One a device; never destroyed. Thread-safe.
class ChildSender final : private Executor::Task {
 public:
  explicit ChildSender(Executor& executor) : executor_(executor) {}
  // `disabledTpcs` as in Grid.
  std::unique_ptr<Queue> makeQueue(GpuDevice& device, const std::array<uint32_t, 4>& disabledTpcs) {
    return newQueue(device, disabledTpcs, false);
  }
  // A queue that takes commands once: launches that nothing has to wait for are sent by who submits them.
  std::unique_ptr<Queue> makeTailQueue(GpuDevice& device, const std::array<uint32_t, 4>& disabledTpcs) {
    return newQueue(device, disabledTpcs, true);
  }
  // Makes a call that may wait for the GPU.
  void call(const HostCall& call) { add({nullptr, call, {}}); }

 private:
  class ChildQueue;
  struct Entry {
    std::shared_ptr<GpuQueue> queue;  // kept until the command is handed on; null: a call that is made here
    Command command;
    Point done;
  };
  std::unique_ptr<Queue> newQueue(GpuDevice& device, const std::array<uint32_t, 4>& disabledTpcs, bool tail);
  bool sendAtOnce(GpuQueue& queue, const Command& command, Point done) const;
  void add(Entry entry);
  void run() override;
  bool next(std::vector<Entry>& entries);
  void handOn(Entry& entry) const;

  Executor& executor_;
  std::atomic<uint64_t> added_{0};
  std::mutex mutex_;
  std::vector<Entry> entries_;  // guarded by mutex_
  bool scheduled_ = false;      // guarded by mutex_
};

}  // namespace vg::backend::nvidia
