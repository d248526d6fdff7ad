// How a service that a kernel called ends the launch.
#pragma once

#include "backend/cpu/run/block.h"

namespace vg::backend::cpu {

// Because of this fault.
[[noreturn]] void giveUp(ResidentBlock& block, const KernelFault& fault);
// A launch that has ended takes its warps along wherever they ask for something.
void stopIfEnded(ResidentBlock& block);

}  // namespace vg::backend::cpu
