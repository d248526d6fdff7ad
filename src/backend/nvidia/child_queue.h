// Queues of what kernels launch. Who answers kernels must never wait for a kernel: sending may wait until there is room
// behind others, which may themselves wait for an answer. So a queue of these only notes its commands, and a thread of
// the executor hands them on, in the order in which they came.
#pragma once

#include <array>
#include <atomic>
#include <deque>
#include <memory>
#include <mutex>

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
  std::unique_ptr<Queue> makeQueue(GpuDevice& device, const std::array<uint32_t, 4>& disabledTpcs);
  // Makes a call that may wait for the GPU.
  void call(const HostCall& call) { add({nullptr, call, {}}); }

 private:
  class ChildQueue;
  struct Entry {
    std::shared_ptr<GpuQueue> queue;  // kept until the command is handed on; null: a call that is made here
    Command command;
    Point done;
  };
  void add(Entry entry);
  void run() override;
  bool next(Entry& entry);

  Executor& executor_;
  std::atomic<uint64_t> added_{0};
  std::mutex mutex_;
  std::deque<Entry> entries_;  // guarded by mutex_
  bool scheduled_ = false;     // guarded by mutex_
};

}  // namespace vg::backend::nvidia
