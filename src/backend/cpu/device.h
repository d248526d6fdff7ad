// An emulated device: this machine's cores and memory, presented with the traits of a profile.
//
// Made by the registry, never destroyed. Nothing is started before the first work: a device costs an address range.
#pragma once

#include <memory>

#include "backend/cpu/workers.h"
#include "backend/device.h"

namespace vg::backend::cpu {

class CpuDevice final : public Device {
 public:
  // Null when the address range cannot be had (the reason is in the log).
  static Device* create(int ordinal);

  // Position among the process's devices, before CUDA_VISIBLE_DEVICES.
  int ordinal() const { return ordinal_; }
  // The threads that run blocks; shared by all emulated devices.
  Workers& workers() const { return Workers::shared(); }

  const Traits& traits() const override { return traits_; }
  alloc::MemorySource& memory() override;
  host_register::PageLocker& pageLocker() override;
  std::unique_ptr<Queue> createQueue(int priority) override;
  Result<std::unique_ptr<Image>> load(const ImageSource& source, const LoadOptions& options) override;
  bool hostAddressable() const override { return true; }
  uint64_t timestamp() const override;

 private:
  CpuDevice(int ordinal, Traits traits);
  ~CpuDevice() override;

  const int ordinal_;
  const Traits traits_;
  std::unique_ptr<alloc::MemorySource> memory_;
  std::unique_ptr<host_register::PageLocker> pageLocker_;
};

}  // namespace vg::backend::cpu
