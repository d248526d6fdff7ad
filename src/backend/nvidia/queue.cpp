#include "backend/nvidia/queue.h"

#include "backend/nvidia/device.h"
#include "copy/copy.h"

namespace vg::backend::nvidia {

class GpuQueue::Work final : public SerialWork {
 public:
  Work(GpuDevice& device, Executor& executor, unsigned urgency) : SerialWork(executor, urgency), device_(device) {}

  // A thread that waits for its copy may as well send it.
  bool tryInline(const Command& command) {
    if (!std::holds_alternative<CopyCommand>(command) && !std::holds_alternative<FillCommand>(command)) return false;
    execute(command);
    return true;
  }

 private:
  void perform(const CopyCommand& c) override { end(device_.transfer().copy(c.shape), c.faults); }
  void perform(const FillCommand& c) override { end(device_.transfer().fill(c.fill), c.faults); }
  // No image can be loaded, so there is no kernel to run.
  void perform(const LaunchCommand& c) override {
    c.faults->report(CUDA_ERROR_NOT_SUPPORTED, "kernels on a real GPU");
    if (c.record->release) c.record->release(c.record);
  }
  void perform(const Timestamp& c) override { *c.nanoseconds = device_.timestamp(); }

  static void end(CUresult result, FaultSink* faults) {
    if (result != CUDA_SUCCESS && faults) faults->report(result, copy::kFault);
  }

  GpuDevice& device_;
};

GpuQueue::GpuQueue(GpuDevice& device, Executor& executor, unsigned urgency)
    : work_(new Work(device, executor, urgency)) {}
GpuQueue::~GpuQueue() { work_->unreference(); }

CUresult GpuQueue::submit(const Command* commands, size_t count, Point done) {
  return work_->submit(commands, count, done);
}
bool GpuQueue::idle() const { return work_->idle(); }
bool GpuQueue::tryInline(const Command& command) { return work_->tryInline(command); }

}  // namespace vg::backend::nvidia
