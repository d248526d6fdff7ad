#include "backend/cpu/queue_work.h"

#include "backend/cpu/run/runner.h"
#include "backend/cpu/run/worker_parallel.h"
#include "backend/cpu/textures/texture_table.h"
#include "backend/device_side/updatable_node.h"
#include "backend/queues/command_failure.h"
#include "check/races/order.h"
#include "copy/copy.h"

namespace vg::backend::cpu {

QueueWork::QueueWork(const Device& device, Executor& executor, const LaunchPlace& place)
    : SerialWork(executor, place.urgency), device_(device), place_(place) {}

uint64_t QueueWork::now() const { return textures::removals(); }

void QueueWork::perform(const CopyCommand& c) {
  const check::order::Doing doing(c.checked);
  WorkerParallel parallel(Workers::shared());
  if (!copy::copy(c.shape, &parallel) && c.faults) c.faults->report(CUDA_ERROR_ILLEGAL_ADDRESS, copy::kFault);
}

void QueueWork::perform(const FillCommand& c) {
  const check::order::Doing doing(c.checked);
  WorkerParallel parallel(Workers::shared());
  if (!copy::fill(c.fill, &parallel) && c.faults) c.faults->report(CUDA_ERROR_ILLEGAL_ADDRESS, copy::kFault);
}

// After a device fault the context's kernels do not run any more.
Point QueueWork::perform(const LaunchCommand& c) {
  LaunchPlace place = place_;
  place.urgency = urgency();
  place.checked = c.checked;
  if (!place.texturesRemoved) place.texturesRemoved = c.queuedAt;
  Point descendants;
  const uint64_t begin = c.timing.launch ? device_.timestamp() : 0;
  if (c.faults->state() == CUDA_SUCCESS) {
    if (c.record->node) [[unlikely]]
      runUpdatable(c, place, &descendants);
    else
      (void)runLaunch(device_, *c.record, *c.faults, place, &descendants);
  }
  const OwnedRecord done(c.record);
  if (c.timing.launch) [[unlikely]]
    c.timing.ended(c.timing.launch, begin, device_.timestamp());
  return descendants;
}

void QueueWork::runUpdatable(const LaunchCommand& c, const LaunchPlace& place, Point* descendants) {
  const Result<UpdatableNode::OwnRecord> record = c.record->node->now(c.record->graph);
  if (!record.ok()) return c.faults->report(record.error(), "a kernel node that kernels may change");
  if (record.value()) (void)runLaunch(device_, *record.value(), *c.faults, place, descendants);
}

void QueueWork::perform(const Timestamp& c) { *c.nanoseconds = device_.timestamp(); }

}  // namespace vg::backend::cpu
