// What all queues of a GPU share: the engines that they send work to, its clock, and the thread that sees work end.
// Owned by GpuDevice. Thread-safe.
#pragma once

#include <atomic>

#include "backend/launches/launch_limit.h"
#include "backend/nvidia/copies/copy_lanes.h"
#include "backend/nvidia/copies/transfer.h"
#include "backend/nvidia/gpu_clock.h"
#include "backend/nvidia/memory/known_ranges.h"
#include "backend/nvidia/promised_points.h"
#include "backend/nvidia/textures/kernel_engine.h"
#include "backend/nvidia/watcher.h"

namespace vg::backend::nvidia {

class QueueParts {
 public:
  QueueParts(Gpu& gpu, const KnownRanges& known, KernelEngine& engine, Transfer& transfer);

  Gpu& gpu() { return gpu_; }
  Transfer& transfer() { return transfer_; }
  CopyLanes& copyLanes() { return copyLanes_; }
  PromisedPoints& promisedPoints() { return promisedPoints_; }
  Watcher& watcher() { return watcher_; }
  Result<ComputeEngine&> compute() { return engine_.compute(); }
  uint64_t timestamp() const { return clock_.now(); }
  // How long a kernel may run, nanoseconds; 0: for ever. Set before the first launch.
  uint64_t launchLimit() const { return launchLimit_; }
  void setLaunchLimit(uint64_t nanoseconds) { launchLimit_ = nanoseconds; }
  // Ends all kernels, of all contexts, with CUDA_ERROR_LAUNCH_TIMEOUT: this process runs none any more.
  void stopKernels() noexcept;
  // Nothing that was sent is waited for any more, as it may itself wait for what a fault has ended.
  void abandonWork(CUresult error) noexcept;
  // For the next queue: its place among the channels that run kernels.
  unsigned nextLane() { return lanes_.fetch_add(1, std::memory_order_relaxed); }
  // Whether native code at this address, which may be any, stops its kernel on purpose.
  bool holdsTrap(uint64_t address) const;

 private:
  Gpu& gpu_;
  const KnownRanges& known_;
  KernelEngine& engine_;
  Transfer& transfer_;
  CopyLanes copyLanes_;
  PromisedPoints promisedPoints_;
  mutable GpuClock clock_;
  Watcher watcher_;
  std::atomic<unsigned> lanes_{0};
  uint64_t launchLimit_ = backend::launchLimit();
};

}  // namespace vg::backend::nvidia
