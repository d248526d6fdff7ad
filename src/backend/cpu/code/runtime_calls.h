// The services that kernels call back for: barriers, yields, printf, assert, malloc, clocks.
#pragma once

#include "ptx/abi/kernel_abi.h"

namespace vg::backend::cpu {

class ResidentBlock;
struct KernelFault;

// Those of all launches. What they know of memory is brought up to date.
const ptx::RuntimeCalls& runtimeCalls();

// For other services of the kind. Ends the launch.
[[noreturn]] void giveUp(ResidentBlock& block, const KernelFault& fault);
// A launch that has ended takes its warps along wherever they ask for something.
void stopIfEnded(ResidentBlock& block);

}  // namespace vg::backend::cpu
