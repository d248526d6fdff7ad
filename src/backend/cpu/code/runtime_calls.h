// The services that kernels call back for: barriers, yields, printf, assert, malloc, clocks.
#pragma once

#include "ptx/abi/kernel_abi.h"

namespace vg::backend::cpu {

// Those of all launches. What they know of memory is brought up to date.
const ptx::RuntimeCalls& runtimeCalls();

}  // namespace vg::backend::cpu
