// Kernels written in C++ for tests of the runner: they obey the same contract as compiled PTX.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <string>

#include "backend/cpu/code/kernel.h"
#include "backend/cpu/code/kernel_image.h"
#include "backend/cpu/run/runner.h"
#include "backend/queue.h"

namespace vg::backend::cpu::testing {

class FakeDevice final : public Device {
 public:
  FakeDevice() {
    traits_.computeCapability = 121;
    traits_.attributes[CU_DEVICE_ATTRIBUTE_CLOCK_RATE] = 2'000'000;
  }
  const Traits& traits() const override { return traits_; }
  alloc::MemorySource& memory() override { std::abort(); }
  host_register::PageLocker& pageLocker() override { std::abort(); }
  std::unique_ptr<Queue> createQueue(int, const MultiprocessorSet*) override { return nullptr; }
  Result<std::unique_ptr<Image>> load(const ImageSource&, const LoadOptions&) override {
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  bool hostAddressable() const override { return true; }
  uint64_t timestamp() const override { return 0; }

 private:
  Traits traits_;
};

struct Faults final : FaultSink {
  std::atomic<int> error{CUDA_SUCCESS};
  std::string reason;
  void report(CUresult result, const char* why) noexcept override {
    int none = CUDA_SUCCESS;
    if (error.compare_exchange_strong(none, result)) reason = why;
  }
  CUresult state() const noexcept override { return static_cast<CUresult>(error.load()); }
};

// One kernel whose code is a C++ function.
class NativeKernel final : public CpuKernel {
 public:
  explicit NativeKernel(ptx::KernelEntry entry, ptx::KernelTraits traits = {}) {
    code_.entry = entry;
    code_.traits = traits;
  }
  KernelLimits limits;

  const std::string& name() const override { return name_; }
  const std::vector<Parameter>& parameters() const override { return parameters_; }
  uint32_t parameterBytes() const override { return 0; }
  Result<int> attribute(CUfunction_attribute) override { return 0; }
  CUresult setAttribute(CUfunction_attribute, int) override { return CUDA_SUCCESS; }
  CUresult prepare(const LaunchShape&) override { return CUDA_SUCCESS; }
  Result<int> occupancy(int, size_t) override { return 1; }
  bool inlineSafe(const LaunchShape&) const override { return false; }
  Result<Ready> ready(const LaunchShape&, const std::byte*) override { return Ready{&code_, nullptr, &context_, 1}; }

 private:
  const std::string name_ = "native";
  const std::vector<Parameter> parameters_;
  LoadedKernel code_;
  KernelContext context_{limits};
};

struct Launched {
  CUresult result;
  std::string reason;
};

// Runs the kernel; `parameters` is what it finds at KernelLaunch::parameters.
inline Launched launch(NativeKernel& kernel, uint32_t blocks, uint32_t threads, void* parameters = nullptr,
                       uint32_t dynamicShared = 0, bool cooperative = false) {
  static FakeDevice device;
  Faults faults;
  LaunchRecord record;
  record.kernel = &kernel;
  record.shape.grid[0] = blocks;
  record.shape.block[0] = threads;
  record.shape.dynamicShared = dynamicShared;
  record.shape.cooperative = cooperative;
  record.parameters = static_cast<const std::byte*>(parameters);
  const CUresult result = runLaunch(device, record, faults, LaunchPlace{});
  EXPECT_EQ(result, faults.state());
  return {result, faults.reason};
}

template <class T>
T& parametersOf(ptx::BlockState* block) {
  return *reinterpret_cast<T*>(const_cast<std::byte*>(block->launch->parameters));
}
inline const ptx::RuntimeCalls& callsOf(ptx::BlockState* block) { return *block->launch->calls; }

inline ptx::KernelTraits waiting() {
  ptx::KernelTraits traits;
  traits.waits = true;
  return traits;
}
inline ptx::KernelTraits polling() {
  ptx::KernelTraits traits;
  traits.waits = traits.polls = traits.loops = true;
  return traits;
}

}  // namespace vg::backend::cpu::testing
