// A real GPU as core knows devices: memory, copies and fills, native code.
//
// Made by the registry, never destroyed. One kernel driver's client and one space of addresses serve all GPUs.
#pragma once

#include <memory>

#include "backend/device.h"
#include "backend/nvidia/child_queue.h"
#include "backend/nvidia/copies/transfer.h"
#include "backend/nvidia/memory/gpu_memory.h"
#include "backend/nvidia/memory/host_pages.h"
#include "backend/nvidia/memory/managed_memory.h"
#include "backend/nvidia/queue_parts.h"
#include "backend/nvidia/textures/kernel_engine.h"

namespace vg::backend::nvidia {

class GpuDevice final : public Device {
 public:
  // Whether a kernel driver's node is on this machine, which says nothing of its use.
  static bool driverIsThere();
  // The GPU at this place of the driver's list; `threads` help with copies of pageable memory. Null, with the reason in
  // the log, when it cannot be used.
  static Device* open(int ordinal, copy::Parallel* threads);
  // `gpu` must be one that traits are known of; `hostPages` are those of all GPUs of its Uvm.
  GpuDevice(std::unique_ptr<Gpu> gpu, HostPages& hostPages, Addresses& addresses, Traits traits,
            copy::Parallel* threads = nullptr);

  Transfer& transfer() { return transfer_; }
  Gpu& gpu() { return *gpu_; }
  QueueParts& queueParts() { return queueParts_; }
  // Of this device and no other; they live as long.
  const GpuParts& parts() const { return parts_; }
  Result<ComputeEngine&> compute() { return engine_.compute(); }
  // Makes it beside the application, as soon as that has a context: some 35 ms.
  void prepareEarly() { early_.store(true, std::memory_order_relaxed); }
  // As of QueueParts.
  void setLaunchLimit(uint64_t nanoseconds) { queueParts_.setLaunchLimit(nanoseconds); }

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
  bool isLaunch(const copy::Shape& shape) const override { return transfer_.route(shape).way == Transfer::Way::Kernel; }
  bool isLaunch(const copy::Fill& fill) const override { return transfer_.route(fill).way == Transfer::Way::Kernel; }
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
  uint64_t timestamp() const override { return queueParts_.timestamp(); }
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
  HostPages& hostPages_;
  GpuHostPages gpuHostPages_;
  KernelEngine engine_;
  Transfer transfer_;
  QueueParts queueParts_;
  ChildSender childSender_;
  const GpuParts parts_;
  std::atomic<bool> early_{false};
};

}  // namespace vg::backend::nvidia
