// A kernel of native code that is in device memory, ready to be sent.
#pragma once

#include <atomic>
#include <map>

#include "backend/device.h"
#include "backend/launches/kernel_rules.h"
#include "backend/nvidia/compute/grid.h"
#include "backend/nvidia/kernels/kernel_roles.h"
#include "backend/nvidia/textures/named_textures.h"
#include "cubin/cubin.h"

namespace vg::backend::nvidia {

class GpuKernel;
struct GpuParts;

// Of a module whose kernels launch kernels: all of them, by the address that programs take.
using LaunchableKernels = std::map<uint64_t, GpuKernel*>;

class GpuKernel final : public Kernel {
 public:
  // `cubin` holds `native`, and both live as long as the kernel, as do `limits`; `services` may be null, which means
  // that no kernel of the module calls functions of the driver. `code` without local memory.
  GpuKernel(const GpuParts& gpu, const cubin::Cubin& cubin, const cubin::Kernel& native, const KernelCode& code,
            const KernelLimits& limits, CalledServices* services);

  const std::string& name() const override { return native_.name; }
  const std::vector<Parameter>& parameters() const override { return parameters_; }
  uint32_t parameterBytes() const override { return native_.parameterBytes; }
  Result<int> attribute(CUfunction_attribute attribute) override { return rules_.attribute(facts_, attribute); }
  CUresult setAttribute(CUfunction_attribute attribute, int value) override {
    return rules_.setAttribute(facts_, attribute, value);
  }
  void setCacheConfig(CUfunc_cache config) override { rules_.setCacheConfig(config); }
  int preferredShared() const override { return rules_.preferredShared(); }
  std::array<uint32_t, 3> requiredThreads() const override { return facts_.requiredThreads; }
  CUresult prepare(const LaunchShape& shape) override;
  // As for prepare(), but asks nothing of the device.
  CUresult permits(const LaunchShape& shape) const { return rules_.check(facts_, shape); }
  // Local memory for the kernel, and for those that it may launch.
  CUresult reserveLocal();
  // Whether there is as much already.
  bool hasLocal();
  Result<int> occupancy(int blockSize, size_t dynamicShared) override {
    return rules_.occupancy(facts_, blockSize, dynamicShared);
  }
  bool inlineSafe(const LaunchShape&) const override { return false; }

  // Null: its module needs none.
  CalledServices* services() const { return services_; }
  Calls calls() override { return calls_; }
  // What it may ask, and the kernels that it may launch, which live as long. Without them it asks and launches nothing.
  void setRequests(std::shared_ptr<AskedRuntime> requests, Calls calls, bool mayHaveChildren,
                   const LaunchableKernels& kernels) {
    requests_ = std::move(requests);
    calls_ = calls;
    mayHaveChildren_ = mayHaveChildren;
    launchable_ = &kernels;
  }
  // Null: it asks nothing.
  const std::shared_ptr<AskedRuntime>& requests() const { return requests_; }
  // A grid of it is not over before others are that it has launched.
  bool mayHaveChildren() const { return mayHaveChildren_; }
  // Null: none has this address.
  GpuKernel* launchable(uint64_t address) const;
  uint64_t address() const { return code_.program; }
  // Words of bank 0 that a launch takes from elsewhere.
  void setTextures(std::vector<NamedTextures::Word> words) { textures_ = std::move(words); }
  bool namesTextures() const { return !textures_.empty(); }
  // The parameters and what follows them in bank 0. Requires: namesTextures().
  std::vector<std::byte> withTextures(const std::byte* parameters) const;
  // What a launch sends. Requires: prepare(shape) succeeded.
  KernelCode code() const;
  Grid grid(const LaunchShape& shape) const;

 private:
  uint32_t localBytes() const;
  uint32_t mostLocalBytes() const;
  uint32_t sharedPreferred(const LaunchShape& shape) const;

  const GpuParts& gpu_;
  const cubin::Kernel& native_;
  const KernelCode code_;
  const KernelLimits& limits_;
  CalledServices* const services_;
  const bool samplersApart_;
  const LaunchableKernels* launchable_ = nullptr;
  std::shared_ptr<AskedRuntime> requests_;
  Calls calls_;
  bool mayHaveChildren_ = false;
  std::vector<NamedTextures::Word> textures_;
  std::vector<Parameter> parameters_;
  const KernelFacts facts_;
  KernelRules rules_;
  // Blocks of the last launch, by threads and dynamic shared memory; sharedPreferred() of them. 32 bits each.
  mutable std::atomic<uint64_t> lastShared_{0};
};

}  // namespace vg::backend::nvidia
