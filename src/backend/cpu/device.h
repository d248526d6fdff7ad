// An emulated device: this machine's cores and memory, presented with the traits of a profile.
//
// Made by the registry, never destroyed. Nothing is started before the first work.
#pragma once

#include <memory>

#include "backend/cpu/memory.h"
#include "backend/cpu/run/workers.h"
#include "backend/device.h"
#include "host_register/page_locker.h"

namespace vg::backend::cpu {

class CpuDevice final : public Device {
 public:
  // `ordinal` counts the emulated devices.
  CpuDevice(int ordinal, Workers& workers);

  int ordinal() const { return ordinal_; }
  // The threads that run blocks; shared by all emulated devices.
  Workers& workers() const { return workers_; }

  const Traits& traits() const override { return traits_; }
  alloc::MemorySource& memory() override { return memory_; }
  host_register::PageLocker& pageLocker() override { return pageLocker_; }
  std::unique_ptr<Queue> createQueue(int priority, const MultiprocessorSet* only) override;
  Result<std::unique_ptr<Image>> load(const ImageSource& source, const LoadOptions& options) override;
  Result<uint64_t> addTexture(const arrays::TextureView& view, void* owner) override;
  void* textureOwner(uint64_t handle) const override;
  void removeTexture(uint64_t handle) noexcept override;
  bool hostAddressable() const override { return true; }
  uint64_t timestamp() const override;
  bool hasClockOfHost() const override { return true; }
  Activity* activity() const override { return &activity_; }
  void flushOutput() noexcept override;
  CUresult canDetach() const override { return CUDA_SUCCESS; }
  void detach() noexcept override;
  void attach() noexcept override;
  void beforeExit() noexcept override;
  void quiesce() noexcept override;

 private:
  uint32_t workersFor(const MultiprocessorSet* only) const;
  const int ordinal_;
  Workers& workers_;
  const Traits traits_;
  Activity& activity_;  // in the entry that other processes see
  CpuMemory memory_;
  host_register::SystemPageLocker pageLocker_;
};

}  // namespace vg::backend::cpu
