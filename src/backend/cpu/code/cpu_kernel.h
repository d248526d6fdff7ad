// A kernel of the emulated device, as launches know it.
#pragma once

#include <vector>

#include "backend/cpu/code/coverage.h"
#include "backend/cpu/code/kernel_code.h"
#include "backend/cpu/run/kernel_context.h"
#include "backend/device.h"

namespace vg::ptx {
struct Module;
}

namespace vg::backend::cpu {

// What every kernel of an image may be: the queue finds the class of a record's kernel here.
class CpuKernel : public Kernel {
 public:
  // What a launch with these parameters runs. Requires: prepare(shape) succeeded.
  struct Ready {
    const LoadedKernel* code;
    const uint64_t* globals;
    KernelContext* context;
    uint32_t residentPerMultiprocessor;
    uint32_t cluster[3] = {1, 1, 1};  // blocks
    bool explicitCluster = false;     // the kernel or its launch asks for clusters, if of one block each
    const std::vector<CpuKernel*>* kernels = nullptr;  // of its program, by Module::functions
    coverage::Recording* recording = nullptr;          // of what it runs; null: nobody counts
  };
  virtual Result<Ready> ready(const LaunchShape& shape, const std::byte* parameters) = 0;
  // Whether a kernel may launch it so. On the stack of a kernel: compiles nothing. Requires: prepare() of the kernel
  // that launches it succeeded.
  virtual CUresult permits(const LaunchShape&) { return CUDA_SUCCESS; }
  // The PTX that it was made from; null: of none.
  virtual const ptx::Module* module() const { return nullptr; }
};

}  // namespace vg::backend::cpu
