#include "backend/cpu/queue.h"

#include "backend/cpu/queue_work.h"

namespace vg::backend::cpu {
namespace {

std::unique_ptr<Queue> makeQueue(const Device& device, const LaunchPlace& place) {
  return std::make_unique<CpuQueue>(device, Executor::shared(), place);
}

LaunchPlace withQueues(LaunchPlace place) {
  place.makeQueue = makeQueue;
  return place;
}

}  // namespace

CpuQueue::CpuQueue(const Device& device, Executor& executor, const LaunchPlace& place)
    : work_(new QueueWork(device, executor, withQueues(place))) {}
CpuQueue::~CpuQueue() { work_->unreference(); }

CUresult CpuQueue::submit(const Command* commands, size_t count, Point done) {
  return work_->submit(commands, count, done);
}
bool CpuQueue::idle() const { return work_->idle(); }
void CpuQueue::setPriority(int priority) { work_->setUrgency(Executor::urgencyOf(priority)); }

bool CpuQueue::tryInline(const Command& command) noexcept {
  if (std::holds_alternative<HostCall>(command) || std::holds_alternative<Wait>(command)) return false;
  const auto* launch = std::get_if<LaunchCommand>(&command);
  if (!launch) return work_->tryHere(command);
  try {
    if (!launch->record->kernel->inlineSafe(launch->record->shape)) return false;
  } catch (const std::bad_alloc&) {
    return false;
  }
  return work_->tryHere(LaunchCommand{launch->record, launch->faults, work_->now(), 0, false, launch->checked});
}

}  // namespace vg::backend::cpu
