// Whether one lane of a warp at most comes to a place.
#pragma once

#include "ptx/llvm/warp_ir.h"

namespace vg::ptx::gen {

// True for what lies behind `if (threadIdx.x == 0)`, `if (threadIdx.x + threadIdx.y + threadIdx.z == 0)`, an elected
// lane and the like. Requires the shapes of values.
bool onlyOneLaneReaches(const Program& program, BlockId block);

}  // namespace vg::ptx::gen
