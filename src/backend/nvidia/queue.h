// A queue of a real GPU. All functions are thread-safe.
#pragma once

#include <array>

#include "backend/nvidia/queue_parts.h"
#include "backend/queue.h"
#include "backend/queues/serial_work.h"

namespace vg::backend::nvidia {

class GpuQueue final : public Queue {
 public:
  // `disabledTpcs` as in Grid.
  GpuQueue(QueueParts& parts, Executor& executor, unsigned urgency, const std::array<uint32_t, 4>& disabledTpcs);
  ~GpuQueue() override;
  GpuQueue(const GpuQueue&) = delete;

  CUresult submit(const Command* commands, size_t count, Point done) override;
  CUresult submitAtOnce(const Command* commands, size_t count, Point done) override;
  // Sends it unless anybody had to wait for that; false, with nothing done, otherwise.
  bool launchAtOnce(const LaunchCommand& command, Point done) noexcept;
  bool idle() const override;
  bool tryInline(const Command& command) noexcept override;
  std::unique_ptr<PreparedLaunches> prepare(std::span<const ChainedWork> launches) override;
  bool sends(const PreparedLaunches& launches) const override;
  void setPriority(int priority) override;

 private:
  class Work;  // what outlives the queue while commands are left
  Work* const work_;
};

}  // namespace vg::backend::nvidia
