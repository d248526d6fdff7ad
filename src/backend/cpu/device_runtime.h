// How kernels of the emulated device reach CUDA's device runtime (backend/device_side/device_runtime.h).
#pragma once

#include "ptx/abi/kernel_abi.h"

namespace vg::backend::cpu {

// RuntimeCalls::deviceRuntime. `from`: what the kernel's call returns to.
void callDeviceRuntime(ptx::BlockState* block, uint32_t warp, uint32_t mask, const uint32_t* functions,
                       const uint64_t* arguments, uint64_t* results, const void* from);

}  // namespace vg::backend::cpu
