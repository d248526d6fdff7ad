#include "backend/cpu/queue.h"

#include "backend/cpu/run/runner.h"
#include "backend/cpu/run/worker_parallel.h"
#include "backend/cpu/textures/texture_table.h"
#include "backend/device_side/updatable_node.h"
#include "backend/queues/command_failure.h"
#include "backend/queues/serial_work.h"
#include "check/races/order.h"
#include "copy/copy.h"

namespace vg::backend::cpu {
namespace {

std::unique_ptr<Queue> makeQueue(const Device& device, const LaunchPlace& place) {
  return std::make_unique<CpuQueue>(device, Executor::shared(), place);
}

}  // namespace

class CpuQueue::Work final : public SerialWork {
 public:
  Work(const Device& device, Executor& executor, const LaunchPlace& place)
      : SerialWork(executor, place.urgency), device_(device), place_(place) {}

  bool tryInline(const Command& command) noexcept {
    if (std::holds_alternative<HostCall>(command) || std::holds_alternative<Wait>(command)) return false;
    try {
      const auto* launch = std::get_if<LaunchCommand>(&command);
      if (launch && !launch->record->kernel->inlineSafe(launch->record->shape)) return false;
      execute(launch ? LaunchCommand{launch->record, launch->faults, now(), 0, false, launch->checked} : command);
      return true;
    } catch (const std::bad_alloc&) {
      return false;
    }
  }

 private:
  void perform(const CopyCommand& c) override {
    const check::order::Doing doing(c.checked);
    WorkerParallel parallel(Workers::shared());
    if (!copy::copy(c.shape, &parallel) && c.faults) c.faults->report(CUDA_ERROR_ILLEGAL_ADDRESS, copy::kFault);
  }
  void perform(const FillCommand& c) override {
    const check::order::Doing doing(c.checked);
    WorkerParallel parallel(Workers::shared());
    if (!copy::fill(c.fill, &parallel) && c.faults) c.faults->report(CUDA_ERROR_ILLEGAL_ADDRESS, copy::kFault);
  }
  // After a device fault the context's kernels do not run any more.
  Point perform(const LaunchCommand& c) override {
    LaunchPlace place = place_;
    place.urgency = urgency();
    place.makeQueue = makeQueue;
    place.checked = c.checked;
    if (!place.texturesRemoved) place.texturesRemoved = c.queuedAt;
    Point descendants;
    if (c.faults->state() == CUDA_SUCCESS) {
      if (c.record->node) [[unlikely]]
        runUpdatable(c, place, &descendants);
      else
        (void)runLaunch(device_, *c.record, *c.faults, place, &descendants);
    }
    const OwnedRecord done(c.record);
    return descendants;
  }
  void runUpdatable(const LaunchCommand& c, const LaunchPlace& place, Point* descendants) {
    const Result<UpdatableNode::OwnRecord> record = c.record->node->now(c.record->graph);
    if (!record.ok()) return c.faults->report(record.error(), "a kernel node that kernels may change");
    if (record.value()) (void)runLaunch(device_, *record.value(), *c.faults, place, descendants);
  }
  // From here on textures that are removed live on for the launch.
  uint64_t now() const override { return textures::removals(); }
  void perform(const Timestamp& c) override { *c.nanoseconds = device_.timestamp(); }

  const Device& device_;
  const LaunchPlace place_;
};

CpuQueue::CpuQueue(const Device& device, Executor& executor, const LaunchPlace& place)
    : work_(new Work(device, executor, place)) {}
CpuQueue::~CpuQueue() { work_->unreference(); }

CUresult CpuQueue::submit(const Command* commands, size_t count, Point done) {
  return work_->submit(commands, count, done);
}
bool CpuQueue::idle() const { return work_->idle(); }
bool CpuQueue::tryInline(const Command& command) noexcept { return work_->tryInline(command); }
void CpuQueue::setPriority(int priority) { work_->setUrgency(Executor::urgencyOf(priority)); }

}  // namespace vg::backend::cpu
