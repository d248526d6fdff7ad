// A queue of the emulated device: commands in order, run by the executor's service threads.
//
// A queue occupies a thread only while a command runs. A Wait that is not due parks the queue: the timeline's
// continuation schedules it again. Kernels and large copies spread over the compute threads. All functions are
// thread-safe.
#pragma once

#include "backend/cpu/run/launch_place.h"
#include "backend/queue.h"
#include "backend/queues/executor.h"

namespace vg::backend::cpu {

class QueueWork;

class CpuQueue final : public Queue {
 public:
  CpuQueue(const Device& device, Executor& executor, const LaunchPlace& place);
  ~CpuQueue() override;
  CpuQueue(const CpuQueue&) = delete;

  CUresult submit(const Command* commands, size_t count, Point done) override;
  bool idle() const override;
  bool tryInline(const Command& command) noexcept override;
  void setPriority(int priority) override;

 private:
  QueueWork* const work_;  // outlives the queue while commands are left
};

}  // namespace vg::backend::cpu
