#include "backend/nvidia/sent_work.h"

#include "backend/nvidia/compute/fault_report.h"
#include "backend/nvidia/device.h"
#include "backend/nvidia/gpu_kernel.h"
#include "backend/nvidia/kernel_services.h"
#include "base/log.h"

namespace vg::backend::nvidia {

SentWork::SentWork(GpuDevice& device)
    : device_(device),
      lane_(device.nextLane()),
      timeline_(Timeline::create()),
      first_(timeline_->value()),
      added_(first_) {}

SentWork::~SentWork() { Timeline::destroy(timeline_); }

bool SentWork::accepts(const Command& command) {
  if (const auto* wait = std::get_if<Wait>(&command)) return wait->point.done();
  return std::holds_alternative<LaunchCommand>(command) || std::holds_alternative<Timestamp>(command) ||
         std::holds_alternative<Write>(command);
}

void SentWork::add(const Command& command, Point done) {
  bool watch = false;
  {
    const std::lock_guard guard(mutex_);
    Entry entry{command, done, {}};
    if (const auto* launch = std::get_if<LaunchCommand>(&command)) {
      Result<ComputeEngine::Sent> sent = send(*launch);
      if (sent.ok()) entry.sent = *sent;
    }
    entries_.push_back(entry);
    added_.fetch_add(1, std::memory_order_release);
    watch = !watched_;
    watched_ = true;
  }
  if (watch) device_.watcher().watch(shared_from_this());
}

// After a device fault the context's kernels do not run any more.
Result<ComputeEngine::Sent> SentWork::send(const LaunchCommand& command) {
  if (command.faults->state() != CUDA_SUCCESS) return command.faults->state();
  const LaunchRecord& record = *command.record;
  const auto& kernel = static_cast<const GpuKernel&>(*record.kernel);
  const auto launch = [&]() -> Result<ComputeEngine::Sent> {
    VG_TRY(ComputeEngine & engine, device_.compute());
    return engine.launch(lane_, kernel.code(), kernel.grid(record.shape), record.parameters, kernel.parameterBytes(),
                         record.shape.cooperative);
  };
  Result<ComputeEngine::Sent> sent = launch();
  if (!sent.ok()) command.faults->report(sent.error(), "a kernel that could not be sent");
  return sent;
}

void SentWork::runLaunch(const LaunchCommand& command) {
  Entry entry{command, {}, {}};
  Result<ComputeEngine::Sent> sent = send(command);
  if (sent.ok()) {
    entry.sent = *sent;
    if (const CUresult error = sent.value().wait()) reportFault(entry, error);
  }
  if (command.record->release) command.record->release(command.record);
}

bool SentWork::ended(Entry& entry) {
  if (!entry.sent.channel || entry.sent.done()) return true;
  const CUresult error = entry.sent.channel->state();
  if (error == CUDA_SUCCESS) return false;
  if (entry.sent.done()) return true;  // just before its channel died
  reportFault(entry, error);
  return true;
}

void SentWork::reportFault(const Entry& entry, CUresult error) {
  const auto& launch = std::get<LaunchCommand>(entry.command);
  if (launch.faults->state() != CUDA_SUCCESS) return;  // the first fault is the one that matters
  const Channel& channel = entry.sent.channel->channel();
  const std::string what = describeFault(device_.gpu(), channel);
  VG_LOG(Error, "kernel %s was stopped by a fault%s%s (%s)", launch.record->kernel->name().c_str(),
         what.empty() ? "" : ": ", what.c_str(), channel.describe().c_str());
  // An assertion says so in words, then traps.
  KernelServices* const services = static_cast<const GpuKernel&>(*launch.record->kernel).services();
  if (services && services->flush())
    launch.faults->report(CUDA_ERROR_ASSERT, "an assertion failed");
  else
    launch.faults->report(error, "a fault in a kernel");
}

void SentWork::finish(const Entry& entry) {
  if (const auto* launch = std::get_if<LaunchCommand>(&entry.command)) {
    if (launch->record->release) launch->record->release(launch->record);
  } else if (const auto* stamp = std::get_if<Timestamp>(&entry.command)) {
    *stamp->nanoseconds = device_.timestamp();
  } else if (const auto* write = std::get_if<Write>(&entry.command)) {
    write->timeline->advance(write->value);
  }
  if (entry.done.timeline) entry.done.timeline->advance(entry.done.value);
}

// Timelines run the code of others, so no lock is held then; nobody but the watcher takes entries off.
SentWork::Found SentWork::collect() {
  for (Found found = Found::Nothing;; found = Found::Something) {
    std::unique_lock lock(mutex_, std::try_to_lock);
    if (!lock.owns_lock()) return found;  // somebody sends
    if (entries_.empty()) {
      watched_ = false;
      return Found::End;
    }
    if (!ended(entries_.front())) return found;
    const Entry entry = entries_.front();
    entries_.pop_front();
    lock.unlock();
    finish(entry);
    timeline_->advance(timeline_->value() + 1);
  }
}

}  // namespace vg::backend::nvidia
