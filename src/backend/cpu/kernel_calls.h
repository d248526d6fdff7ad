// The services that kernels call back for: barriers, yields, printf, assert, malloc, clocks.
#pragma once

#include "ptx/kernel_abi.h"

namespace vg::backend::cpu {

extern const ptx::RuntimeCalls kRuntimeCalls;

}  // namespace vg::backend::cpu
