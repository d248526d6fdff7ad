// A real GPU as core knows devices: memory, copies and fills, native code.
//
// Made by the registry, never destroyed. One kernel driver's client and one space of addresses serve all GPUs.
#pragma once

#include <memory>

#include "backend/device.h"
#include "backend/launch_limit.h"
#include "backend/nvidia/child_queue.h"
#include "backend/nvidia/copies/copy_lanes.h"
#include "backend/nvidia/copies/transfer.h"
#include "backend/nvidia/gpu_clock.h"
#include "backend/nvidia/memory/gpu_memory.h"
#include "backend/nvidia/memory/host_pages.h"
#include "backend/nvidia/memory/managed_memory.h"
#include "backend/nvidia/promised_points.h"
#include "backend/nvidia/textures/kernel_engine.h"
#include "backend/nvidia/watcher.h"

namespace vg::backend::nvidia {

class GpuDevice final : public Device {
 public:
  // Whether a kernel driver's node is on this machine, which says nothing of its use.
  static bool driverIsThere();
  // The GPU at this place of the driver's list; `threads` help with copies of pageable memory. Null, with the reason in
  // the log, when it cannot be used.
  static Device* open(int ordinal, copy::Parallel* threads);
  // `gpu` must be one that traits are known of.
  GpuDevice(std::unique_ptr<Gpu> gpu, Addresses& addresses, Traits traits, copy::Parallel* threads = nullptr);

  Transfer& transfer() { return transfer_; }
  CopyLanes& copyLanes() { return copyLanes_; }
  PromisedPoints& promisedPoints() { return promisedPoints_; }
  Gpu& gpu() { return *gpu_; }
  Watcher& watcher() { return watcher_; }
  // Of this device and no other; they live as long.
  const GpuParts& parts() const { return parts_; }
  Result<ComputeEngine&> compute() { return engine_.compute(); }
  // Makes it beside the application, as soon as that has a context: some 35 ms.
  void prepareEarly() { early_.store(true, std::memory_order_relaxed); }
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

  const Traits& traits() const override { return traits_; }
  alloc::MemorySource& memory() override { return memory_; }
  MovableMemory* managedMemory() override { return &managed_; }
  host_register::PageLocker& pageLocker() override { return hostPages_; }
  std::unique_ptr<Queue> createQueue(int priority, const MultiprocessorSet* only) override;
  Result<std::unique_ptr<Image>> load(const ImageSource& source, const LoadOptions& options) override;
  Result<uint64_t> addTexture(const arrays::TextureView& view, void* owner) override;
  void* textureOwner(uint64_t handle) const override;
  void removeTexture(uint64_t handle) noexcept override;
  bool hostAddressable() const override { return false; }
  void showToHost(const void* start, size_t bytes) override {
    memory_.showToHost(static_cast<const std::byte*>(start), bytes);
  }
  bool canReach(const Device& peer) const override;
  CUresult reach(Device& peer) override;
  void leave(Device& peer) noexcept override;
  CUresult reachRange(Device& peer, std::byte* start, size_t bytes) override;
  void leaveRange(Device& peer, std::byte* start) noexcept override;
  CUresult grant(Device& owner, std::byte* start, size_t bytes, alloc::Protection protection) override;
  void reachManaged(Device& owner) override;
  uint64_t timestamp() const override { return clock_.now(); }
  void hostMemoryLocked(std::byte* start, size_t bytes, bool readOnly) override {
    hostPages_.show(start, bytes, readOnly);
  }
  void hostMemoryUnlocked(std::byte* start, size_t bytes) override { hostPages_.hide(start, bytes); }
  void contextBegins() noexcept override;
  void flushOutput() noexcept override;
  void quiesce() noexcept override;

 private:
  const std::unique_ptr<Gpu> gpu_;
  const Traits traits_;
  KnownRanges known_;
  GpuMemory memory_;
  ManagedMemory managed_;
  HostPages hostPages_;
  KernelEngine engine_;
  Transfer transfer_;
  CopyLanes copyLanes_;
  PromisedPoints promisedPoints_;
  mutable GpuClock clock_;
  Watcher watcher_;
  ChildSender childSender_;
  const GpuParts parts_;
  std::atomic<unsigned> lanes_{0};
  std::atomic<bool> early_{false};
  uint64_t launchLimit_ = backend::launchLimit();
};

}  // namespace vg::backend::nvidia
