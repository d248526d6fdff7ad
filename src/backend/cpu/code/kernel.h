// A kernel in one image: the program's code with this context's variables and the attributes that were set for it.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "backend/cpu/code/cpu_kernel.h"
#include "backend/cpu/code/program.h"
#include "backend/device.h"
#include "backend/launches/kernel_rules.h"
#include "cubin/cubin.h"

namespace vg::backend::cpu {

class PtxKernel final : public CpuKernel {
 public:
  // What the kernels of an image share. Lives as long as they.
  struct Family {
    std::vector<CUdeviceptr> addresses;    // of Module::variables, by index
    std::vector<CpuKernel*> kernels;       // by Module::functions; null for other functions
    std::vector<ProgramKernel*> launched;  // whose address something takes
  };
  PtxKernel(const Device& device, ProgramKernel& program, const Family& family, KernelContext& context,
            uint32_t target);

  const std::string& name() const override { return program_.function().name; }
  const std::vector<Parameter>& parameters() const override { return program_.parameters(); }
  uint32_t parameterBytes() const override { return program_.parameterBytes(); }
  Result<int> attribute(CUfunction_attribute attribute) override;
  CUresult setAttribute(CUfunction_attribute attribute, int value) override;
  void setCacheConfig(CUfunc_cache config) override { rules_.setCacheConfig(config); }
  int preferredShared() const override { return rules_.preferredShared(); }
  std::array<uint32_t, 3> requiredThreads() const override {
    return std::to_array(program_.function().requiredThreads);
  }
  CUresult prepare(const LaunchShape& shape) override;
  Result<int> occupancy(int blockSize, size_t dynamicShared) override;
  bool inlineSafe(const LaunchShape& shape) const override;
  Result<Ready> ready(const LaunchShape& shape, const std::byte* parameters) override;
  CUresult permits(const LaunchShape& shape) override;
  Calls calls() override { return program_.facts().calls; }
  const ptx::Module* module() const override;

 private:
  uint32_t threadsOf(const uint32_t (&size)[3]) const;  // the most that a block may have if the size is not given
  uint32_t maxThreads() const;
  uint32_t registers() const;
  uint32_t estimateRegisters() const;
  KernelFacts facts() const;
  CodeVariant variantOf(const LaunchShape& shape) const;

  const Device& device_;
  ProgramKernel& program_;
  const Family& family_;
  KernelContext& context_;
  const uint32_t target_;
  mutable std::atomic<uint32_t> registers_{0};  // 0: not estimated yet
  Once globalsOnce_;
  std::vector<uint64_t> globals_;
  KernelRules rules_;
};

// A kernel of native code for a real GPU: can be asked about, not launched.
class NativeOnlyKernel final : public CpuKernel {
 public:
  // `description` lives as long as the kernel.
  NativeOnlyKernel(const Device& device, const cubin::Kernel& description);

  const std::string& name() const override { return description_.name; }
  const std::vector<Parameter>& parameters() const override { return parameters_; }
  uint32_t parameterBytes() const override { return description_.parameterBytes; }
  Result<int> attribute(CUfunction_attribute attribute) override;
  CUresult setAttribute(CUfunction_attribute attribute, int value) override;
  CUresult prepare(const LaunchShape& shape) override;
  Result<int> occupancy(int blockSize, size_t dynamicShared) override;
  bool inlineSafe(const LaunchShape&) const override { return false; }
  Result<Ready> ready(const LaunchShape& shape, const std::byte* parameters) override;

 private:
  CUresult refuse() const;

  const Device& device_;
  const cubin::Kernel& description_;
  std::vector<Parameter> parameters_;
  std::atomic<int> maxDynamicShared_;
};

}  // namespace vg::backend::cpu
