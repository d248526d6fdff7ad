// How a service that a kernel called ends the launch.
#pragma once

#include "backend/cpu/run/block.h"

namespace vg::backend::cpu {

// Because of this fault.
[[noreturn]] void giveUp(ResidentBlock& block, const KernelFault& fault);
// The instruction that made a call, for KernelFault::codeAddress.
inline const std::byte* callBefore(const void* returnAddress) {
  return static_cast<const std::byte*>(returnAddress) - 1;
}
// A launch that has ended takes its warps along wherever they ask for something. `from`: what the call returns to.
void stopIfEnded(ResidentBlock& block, const void* from);

}  // namespace vg::backend::cpu
