#include "backend/nvidia/child_queue.h"

#include "backend/nvidia/device.h"
#include "backend/nvidia/kernels/gpu_kernel.h"
#include "backend/nvidia/queue.h"
#include "base/spin.h"

namespace vg::backend::nvidia {
namespace {

FaultSink* faultsOf(const Command& command) {
  if (const auto* launch = std::get_if<LaunchCommand>(&command)) return launch->faults;
  if (const auto* copy = std::get_if<CopyCommand>(&command)) return copy->faults;
  const auto* const fill = std::get_if<FillCommand>(&command);
  return fill ? fill->faults : nullptr;
}

// A launch that cannot be: its record is dropped here.
void drop(const Command& command, CUresult error) {
  if (FaultSink* const faults = faultsOf(command))
    faults->report(error, "a launch from a kernel that could not be queued");
  const auto* const launch = std::get_if<LaunchCommand>(&command);
  if (launch && launch->record->release) launch->record->release(launch->record);
}

// The limit of the stack may have grown since the parent was launched.
CUresult prepare(const Command& command) {
  const auto* const launch = std::get_if<LaunchCommand>(&command);
  return launch ? static_cast<GpuKernel&>(*launch->record->kernel).reserveLocal() : CUDA_SUCCESS;
}

}  // namespace

class ChildSender::ChildQueue final : public Queue {
 public:
  ChildQueue(ChildSender& sender, std::shared_ptr<GpuQueue> queue, bool tail)
      : sender_(sender), queue_(std::move(queue)), tail_(tail) {}
  CUresult submit(const Command* commands, size_t count, Point done) override {
    size_t i = 0;
    const auto reached = [&] { return i + 1 < count ? Point{} : done; };
    if (tail_)
      while (i < count && sender_.sendAtOnce(*queue_, commands[i], reached())) ++i;
    for (; i < count; ++i) sender_.add({queue_, commands[i], reached()});
    return CUDA_SUCCESS;
  }
  bool idle() const override { return false; }

 private:
  ChildSender& sender_;
  const std::shared_ptr<GpuQueue> queue_;
  const bool tail_;
};

std::unique_ptr<Queue> ChildSender::newQueue(const std::array<uint32_t, 4>& disabledTpcs, bool tail) {
  return std::make_unique<ChildQueue>(*this, std::make_shared<GpuQueue>(device_, executor_, 0, disabledTpcs), tail);
}

bool ChildSender::sendAtOnce(GpuQueue& queue, const Command& command, Point done) const {
  const auto* const launch = std::get_if<LaunchCommand>(&command);
  return launch && !executor_.closing() && static_cast<GpuKernel&>(*launch->record->kernel).hasLocal() &&
         queue.launchAtOnce(*launch, done);
}

void ChildSender::add(Entry entry) {
  {
    const std::lock_guard guard(mutex_);
    entries_.push_back(std::move(entry));
    added_.fetch_add(1, std::memory_order_release);
    if (scheduled_) return;
    scheduled_ = true;
  }
  executor_.schedule(*this, Executor::kUrgencies - 1);
}

// All that there are, as each look costs a line of the cache that who adds has. Kernels that launch do so again soon:
// to wake a thread each time takes longer than to wait a little.
bool ChildSender::next(std::vector<Entry>& entries) {
  constexpr uint64_t kWait = 50'000;  // ns
  entries.clear();
  for (bool waited = false;; waited = true) {
    const uint64_t seen = added_.load(std::memory_order_acquire);
    {
      const std::lock_guard guard(mutex_);
      entries.swap(entries_);
      if (!entries.empty()) return true;
      if (waited) {
        scheduled_ = false;
        return false;
      }
    }
    spinUntil([&] { return added_.load(std::memory_order_acquire) != seen; }, kWait);
  }
}

void ChildSender::handOn(Entry& entry) const {
  if (!entry.queue) {
    const auto& call = std::get<HostCall>(entry.command);
    if (!executor_.closing()) call.function(call.data);
    return;
  }
  CUresult error = executor_.closing() ? CUDA_SUCCESS : prepare(entry.command);
  if (error == CUDA_SUCCESS) error = entry.queue->submit(&entry.command, 1, entry.done);
  if (error == CUDA_SUCCESS) return;
  drop(entry.command, error);
  if (entry.done.timeline) entry.done.timeline->advance(entry.done.value);
}

void ChildSender::run() {
  const Executor::Blocking blocking(executor_);
  for (std::vector<Entry> entries; next(entries);)
    for (Entry& entry : entries) {
      handOn(entry);
      entry.queue.reset();
    }
}

}  // namespace vg::backend::nvidia
