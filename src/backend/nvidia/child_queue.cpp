#include "backend/nvidia/child_queue.h"

#include "backend/nvidia/kernels/gpu_kernel.h"
#include "backend/queues/command_failure.h"
#include "base/sync/claim.h"
#include "base/sync/spin.h"

namespace vg::backend::nvidia {
namespace {

// A launch that cannot be: its record is dropped here.
void drop(const Command& command, CUresult error) {
  if (FaultSink* const faults = faultsOf(command))
    faults->report(error, "a launch from a kernel that could not be queued");
  dropRecord(command);
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
    std::list<Entry> entries;  // all memory that they need, before the first is sent
    for (size_t i = 0; i < count; ++i) entries.push_back({queue_, commands[i], i + 1 < count ? Point{} : done});
    if (tail_)
      while (!entries.empty() && sender_.sendAtOnce(*queue_, entries.front().command, entries.front().done))
        entries.pop_front();
    if (!entries.empty()) sender_.add(std::move(entries));
    return CUDA_SUCCESS;
  }
  bool idle() const override { return false; }

 private:
  ChildSender& sender_;
  const std::shared_ptr<GpuQueue> queue_;
  const bool tail_;
};

std::unique_ptr<Queue> ChildSender::newQueue(const std::array<uint32_t, 4>& disabledTpcs, bool tail) {
  return std::make_unique<ChildQueue>(*this, std::make_shared<GpuQueue>(parts_, executor_, 0, disabledTpcs), tail);
}

bool ChildSender::sendAtOnce(GpuQueue& queue, const Command& command, Point done) const {
  const auto* const launch = std::get_if<LaunchCommand>(&command);
  return launch && !executor_.closing() && static_cast<GpuKernel&>(*launch->record->kernel).hasLocal() &&
         queue.launchAtOnce(*launch, done);
}

// Without memory the caller has to make it, although it may have to wait.
void ChildSender::call(const HostCall& call) noexcept {
  try {
    std::list<Entry> entries;
    entries.push_back({nullptr, call, {}});
    add(std::move(entries));
  } catch (const std::bad_alloc&) {
    if (!executor_.closing()) call.function(call.data);
  }
}

void ChildSender::add(std::list<Entry> entries) noexcept {
  {
    const MutexLock guard(mutex_);
    entries_.splice(entries_.end(), entries);
    added_.fetch_add(1, std::memory_order_release);
    if (scheduled_) return;
    scheduled_ = true;
  }
  executor_.schedule(*this, Executor::kUrgencies - 1);
}

// All that there are, as each look costs a line of the cache that who adds has. Kernels that launch do so again soon:
// to wake a thread each time takes longer than to wait a little.
bool ChildSender::next(std::list<Entry>& entries) {
  constexpr uint64_t kWait = 50'000;  // ns
  entries.clear();
  for (bool waited = false;; waited = true) {
    const uint64_t seen = added_.load(std::memory_order_acquire);
    {
      const MutexLock guard(mutex_);
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
  const CUresult error = submit(entry);
  if (error == CUDA_SUCCESS) return;
  const Claim claim(entry.done);
  drop(entry.command, error);
}

CUresult ChildSender::submit(Entry& entry) const noexcept {
  try {
    if (!executor_.closing()) VG_CHECK(prepare(entry.command));
    return entry.queue->submit(&entry.command, 1, entry.done);
  } catch (const std::bad_alloc&) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
}

void ChildSender::run() {
  const Executor::Blocking blocking(executor_);
  for (std::list<Entry> entries; next(entries);)
    for (Entry& entry : entries) {
      handOn(entry);
      entry.queue.reset();
    }
}

}  // namespace vg::backend::nvidia
