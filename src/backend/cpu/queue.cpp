#include "backend/cpu/queue.h"

#include "backend/cpu/device.h"
#include "backend/cpu/kernel_image.h"
#include "backend/cpu/texture_table.h"
#include "backend/cpu/worker_parallel.h"
#include "backend/serial_work.h"
#include "copy/copy.h"

namespace vg::backend::cpu {
namespace {

// From here on textures that are removed live on for this launch.
void mark(const Command& command) {
  if (const auto* launch = std::get_if<LaunchCommand>(&command)) launch->record->submitted = textures::removals();
}

}  // namespace

class CpuQueue::Work final : public SerialWork {
 public:
  Work(const CpuDevice& device, Executor& executor, unsigned urgency, uint32_t workers)
      : SerialWork(executor, urgency), device_(device), workers_(workers) {}

  bool tryInline(const Command& command) {
    if (std::holds_alternative<HostCall>(command) || std::holds_alternative<Wait>(command)) return false;
    if (const auto* launch = std::get_if<LaunchCommand>(&command))
      if (!launch->record->kernel->inlineSafe(launch->record->shape)) return false;
    execute(command);
    return true;
  }

 private:
  void perform(const CopyCommand& c) override {
    WorkerParallel parallel(device_.workers());
    if (!copy::copy(c.shape, &parallel) && c.faults) c.faults->report(CUDA_ERROR_ILLEGAL_ADDRESS, copy::kFault);
  }
  void perform(const FillCommand& c) override {
    WorkerParallel parallel(device_.workers());
    if (!copy::fill(c.fill, &parallel) && c.faults) c.faults->report(CUDA_ERROR_ILLEGAL_ADDRESS, copy::kFault);
  }
  // After a device fault the context's kernels do not run any more.
  void perform(const LaunchCommand& c) override {
    if (c.faults->state() == CUDA_SUCCESS) (void)runLaunch(device_, *c.record, *c.faults, workers_);
    if (c.record->release) c.record->release(c.record);
  }
  void perform(const Timestamp& c) override { *c.nanoseconds = device_.timestamp(); }

  const CpuDevice& device_;
  const uint32_t workers_;
};

CpuQueue::CpuQueue(const CpuDevice& device, Executor& executor, unsigned urgency, uint32_t workers)
    : work_(new Work(device, executor, urgency, workers)) {}
CpuQueue::~CpuQueue() { work_->unreference(); }

CUresult CpuQueue::submit(const Command* commands, size_t count, Point done) {
  for (size_t i = 0; i < count; ++i) mark(commands[i]);
  return work_->submit(commands, count, done);
}
bool CpuQueue::idle() const { return work_->idle(); }
bool CpuQueue::tryInline(const Command& command) {
  mark(command);
  return work_->tryInline(command);
}

}  // namespace vg::backend::cpu
