// The functions of CUDA's device runtime for kernels of real GPUs: native code of our own, which comes along
// (launch_functions.cu) for compute capability 9.0. They ask the host by a ring of KernelRequests.
#pragma once

#include <memory>

#include "base/result.h"
#include "cubin/cubin.h"
#include "ptx/abi/device_runtime.h"

namespace vg::backend::nvidia {

struct LaunchFunctions {
  std::shared_ptr<const cubin::Cubin> code;
  // 8 bytes each: the addresses of the ring, of the words of answers and of the buffers for parameters, and whether
  // these are too small.
  const cubin::Variable *ring = nullptr, *answers = nullptr, *buffers = nullptr, *buffersAreSmall = nullptr;
  // Takes the place of what the vendor's own functions ask of its driver, and stops the kernel.
  const cubin::Function* nobodyCalls = nullptr;
  // What a kernel that calls them needs at least, and on top of its own, without what malloc needs.
  uint32_t registers = 0, stackBytes = 0;

  const cubin::Function* find(ptx::DeviceCall call) const;
};
// Once a process. CUDA_ERROR_NOT_SUPPORTED for other architectures.
Result<const LaunchFunctions&> launchFunctions(uint32_t architecture);

}  // namespace vg::backend::nvidia
