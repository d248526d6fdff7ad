// CUDA's device runtime: what kernels ask for when they launch kernels, make streams, copy, allocate, and look at
// errors.
#pragma once

#include "ptx/kernel_abi.h"

namespace vg::backend::cpu {

// RuntimeCalls::deviceRuntime. Answers as a GPU of compute capability 9.0 was seen to.
void callDeviceRuntime(ptx::BlockState* block, uint32_t warp, uint32_t mask, const uint32_t* functions,
                       const uint64_t* arguments, uint64_t* results);

}  // namespace vg::backend::cpu
