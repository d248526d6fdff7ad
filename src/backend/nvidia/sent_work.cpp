#include "backend/nvidia/sent_work.h"

#include <algorithm>

#include "backend/nvidia/compute/fault_report.h"
#include "backend/nvidia/device.h"
#include "backend/nvidia/gpu_kernel.h"
#include "backend/nvidia/kernel_requests.h"
#include "backend/nvidia/kernel_services.h"
#include "base/log.h"
#include "base/spin.h"

namespace vg::backend::nvidia {
namespace {

constexpr char kRanTooLong[] = "a kernel ran longer than VERDIGRIS_LAUNCH_TIMEOUT";

}  // namespace

SentWork::Ending SentWork::endingOf(const Command& command) const {
  if (const auto* copy = std::get_if<CopyCommand>(&command)) return SentTransfer{copy->faults};
  if (const auto* fill = std::get_if<FillCommand>(&command)) return SentTransfer{fill->faults};
  if (const auto* launch = std::get_if<LaunchCommand>(&command)) return *launch;
  if (const auto* write = std::get_if<Write>(&command)) return *write;
  if (const auto* stamp = std::get_if<Timestamp>(&command)) return Stamp{stamp->nanoseconds, device_.timestamp()};
  return std::get<Wait>(command);
}

FaultSink* SentWork::faultsOf(const Ending& ending) {
  if (const auto* launch = std::get_if<LaunchCommand>(&ending)) return launch->faults;
  const auto* const transfer = std::get_if<SentTransfer>(&ending);
  return transfer ? transfer->faults : nullptr;
}

std::string SentWork::nameOf(const Ending& ending) {
  const auto* const launch = std::get_if<LaunchCommand>(&ending);
  return launch ? "kernel " + launch->record->kernel->name() : "a copy";
}

// An assertion says so in words, then traps.
bool SentWork::assertionFailed(const Ending& ending) {
  const auto* const launch = std::get_if<LaunchCommand>(&ending);
  KernelServices* const services = launch ? static_cast<const GpuKernel&>(*launch->record->kernel).services() : nullptr;
  return services && services->flush();
}

SentWork::SentWork(GpuDevice& device, const std::array<uint32_t, 4>& disabledTpcs)
    : device_(device),
      disabledTpcs_(disabledTpcs),
      lane_(device.nextLane()),
      timeline_(Timeline::create()),
      first_(timeline_->value()),
      added_(first_),
      parentEnd_(first_) {}

SentWork::~SentWork() { Timeline::destroy(timeline_); }

bool SentWork::mayLaunch(const Command& command) {
  const auto* const launch = std::get_if<LaunchCommand>(&command);
  return launch && static_cast<const GpuKernel&>(*launch->record->kernel).requests();
}

bool SentWork::accepts(const Command& command) const {
  if (const auto* wait = std::get_if<Wait>(&command)) return wait->point.done();
  const bool forGpu = !std::holds_alternative<Write>(command) && !std::holds_alternative<Timestamp>(command);
  if (forGpu && !timeline_->reached(parentEnd_.load(std::memory_order_acquire))) return false;
  if (const auto* copy = std::get_if<CopyCommand>(&command)) return device_.transfer().isKernel(copy->shape);
  if (const auto* fill = std::get_if<FillCommand>(&command)) return device_.transfer().isKernel(fill->fill);
  return !std::holds_alternative<HostCall>(command);
}

// Sent before it is kept: whoever looks for new entries waits for no launch.
void SentWork::add(const Command& command, Point done) {
  std::unique_ptr<ParentGrid> parent = parentFor(command);
  Result<ComputeEngine::Sent> sent = send(command, parent.get());
  bool watch = false;
  {
    const std::lock_guard guard(mutex_);
    if (parent) parentEnd_.store(added_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
    entries_.push_back({endingOf(command), done, sent.ok() ? *sent : ComputeEngine::Sent{}, 0, std::move(parent), {}});
    added_.fetch_add(1, std::memory_order_release);
    watch = !watched_;
    watched_ = true;
  }
  if (watch) device_.watcher().watch(shared_from_this());
}

std::unique_ptr<ParentGrid> SentWork::parentFor(const Command& command) const {
  if (!mayLaunch(command)) return nullptr;
  const auto& launch = std::get<LaunchCommand>(command);
  const auto& kernel = static_cast<const GpuKernel&>(*launch.record->kernel);
  return std::make_unique<ParentGrid>(kernel.requests(), kernel, launch.record->shape, *launch.faults, disabledTpcs_);
}

// No channel for what the GPU has nothing to do with.
Result<ComputeEngine::Sent> SentWork::send(const Command& command, const ParentGrid* parent) {
  if (const auto* launch = std::get_if<LaunchCommand>(&command)) return send(*launch, parent);
  if (const auto* copy = std::get_if<CopyCommand>(&command)) return sendTransfer(copy->shape, copy->faults);
  if (const auto* fill = std::get_if<FillCommand>(&command)) return sendTransfer(fill->fill, fill->faults);
  return ComputeEngine::Sent{};
}

template <class Box>
Result<ComputeEngine::Sent> SentWork::sendTransfer(const Box& box, FaultSink* faults) {
  const auto launch = [&]() -> Result<ComputeEngine::Sent> {
    VG_TRY(ComputeEngine & engine, device_.compute());
    VG_TRY(const VideoKernels::Work work, device_.transfer().kernelFor(box));
    return engine.launch(lane_, work.code, work.grid, work.parameters.data(), work.bytes, false);
  };
  Result<ComputeEngine::Sent> sent = launch();
  if (!sent.ok() && faults) faults->report(sent.error(), "a copy that could not be sent");
  return sent;
}

// After a device fault the context's kernels do not run any more.
Result<ComputeEngine::Sent> SentWork::send(const LaunchCommand& command, const ParentGrid* parent) {
  if (command.faults->state() != CUDA_SUCCESS) return command.faults->state();
  const LaunchRecord& record = *command.record;
  const auto& kernel = static_cast<const GpuKernel&>(*record.kernel);
  const auto launch = [&]() -> Result<ComputeEngine::Sent> {
    VG_TRY(ComputeEngine & engine, device_.compute());
    const auto send = [&](const std::byte* parameters, size_t bytes) {
      Grid grid = kernel.grid(record.shape);
      grid.disabledTpcs = disabledTpcs_;
      grid.number = parent ? parent->number() : 0;
      return engine.launch(lane_, kernel.code(), grid, parameters, static_cast<uint32_t>(bytes),
                           record.shape.cooperative);
    };
    if (!kernel.namesTextures()) return send(record.parameters, kernel.parameterBytes());
    const std::vector<std::byte> parameters = kernel.withTextures(record.parameters);
    return send(parameters.data(), parameters.size());
  };
  Result<ComputeEngine::Sent> sent = launch();
  if (sent.ok()) return sent;
  if (sent.error() == CUDA_ERROR_TIMEOUT && device_.launchLimit()) {  // no room behind kernels that do not end
    device_.stopKernels();
    command.faults->report(CUDA_ERROR_LAUNCH_TIMEOUT, kRanTooLong);
  } else {
    command.faults->report(sent.error(), "a kernel that could not be sent");
  }
  return sent;
}

void SentWork::runLaunch(const LaunchCommand& command) {
  Entry entry{command, {}, {}, 0, nullptr, {}};
  Result<ComputeEngine::Sent> sent = send(command, nullptr);
  if (sent.ok()) {
    entry.sent = *sent;
    waitFor(entry);
  }
  if (command.record->release) command.record->release(command.record);
}

void SentWork::waitFor(Entry& entry) {
  constexpr uint64_t kSpin = 1'000'000;  // ns
  if (!device_.launchLimit()) (void)entry.sent.wait();
  const auto over = [&] { return ended(entry); };
  while (!spinUntil(over, kSpin)) {
    entry.sent.channel->channel().remind();
    nap();
  }
}

bool SentWork::overdue(Entry& entry) const {
  const uint64_t limit = device_.launchLimit();
  if (!limit || !std::holds_alternative<LaunchCommand>(entry.ending) || !entry.sent.first()) return false;
  const uint64_t now = monotonicNanoseconds();
  if (!entry.begun) entry.begun = now;
  return now - entry.begun > limit;
}

void SentWork::remind() {
  if (next_ == taken_.size()) return;
  if (const ComputeChannel* const channel = taken_[next_].sent.channel) channel->channel().remind();
}

bool SentWork::ended(Entry& entry) {
  if (!gridEnded(entry)) return false;
  if (entry.parent) {
    noteEnd(entry);
    entry.sent = {};
    entry.children = entry.parent->finish();
    entry.parent.reset();
  }
  return entry.children.done();
}

// Nobody says when the last of several children had ended, so that is when it is seen.
void SentWork::noteEnd(const Entry& entry) {
  if (entry.sent.channel && entry.sent.done())
    lastEnd_ = std::max(lastEnd_, entry.sent.endedAt());
  else if (entry.children.timeline)
    lastEnd_ = device_.timestamp();
}

bool SentWork::gridEnded(Entry& entry) {
  if (!entry.sent.channel || entry.sent.done()) return true;
  CUresult error = entry.sent.channel->state();
  if (error == CUDA_SUCCESS) {
    if (!overdue(entry)) return false;
    device_.stopKernels();
    error = CUDA_ERROR_LAUNCH_TIMEOUT;
  }
  if (entry.sent.done()) return true;  // just before its channel died
  reportFault(entry, error);
  return true;
}

void SentWork::reportFault(const Entry& entry, CUresult error) {
  FaultSink* const faults = faultsOf(entry.ending);
  if (!faults || faults->state() != CUDA_SUCCESS) return;  // the first fault is the one that matters
  const Channel& channel = entry.sent.channel->channel();
  Fault fault =
      error == CUDA_ERROR_LAUNCH_TIMEOUT ? Fault{error, kRanTooLong} : examineFault(device_.gpu(), channel, error);
  if (fault.instruction && device_.holdsTrap(fault.instruction)) fault = {CUDA_ERROR_LAUNCH_FAILED, "it met a trap"};
  VG_LOG(Error, "%s was stopped by a fault%s%s (%s)", nameOf(entry.ending).c_str(), fault.what.empty() ? "" : ": ",
         fault.what.c_str(), channel.describe().c_str());
  if (assertionFailed(entry.ending))
    faults->report(CUDA_ERROR_ASSERT, "an assertion failed");
  else
    faults->report(fault.error, "a fault in a kernel");
}

void SentWork::finish(const Entry& entry) {
  if (const auto* launch = std::get_if<LaunchCommand>(&entry.ending)) {
    if (launch->record->release) launch->record->release(launch->record);
  } else if (const auto* stamp = std::get_if<Stamp>(&entry.ending)) {
    *stamp->nanoseconds = std::max(lastEnd_, stamp->asked);
  } else if (const auto* write = std::get_if<Write>(&entry.ending)) {
    write->timeline->advance(write->value);
  }
  if (entry.done.timeline) entry.done.timeline->advance(entry.done.value);
}

// Timelines run the code of others, so no lock is held then.
SentWork::Found SentWork::collect() {
  for (Found found = Found::Nothing;; found = Found::Something) {
    if (next_ == taken_.size()) {
      taken_.clear();
      next_ = 0;
      const std::unique_lock lock(mutex_, std::try_to_lock);
      if (!lock.owns_lock()) return found;  // somebody adds
      if (entries_.empty()) {
        watched_ = false;
        return Found::End;
      }
      taken_.swap(entries_);
    }
    Entry& first = taken_[next_];
    if (first.parent && first.parent->serve()) found = Found::Something;
    if (!ended(first)) return found;
    noteEnd(first);
    finish(taken_[next_++]);
    timeline_->advance(timeline_->value() + 1);
  }
}

}  // namespace vg::backend::nvidia
