// Whether one lane of a warp at most comes to a place, and what all lanes have alike although its shape does not say
// so.
#pragma once

#include "ptx/llvm/ir/warp_ir.h"

namespace vg::ptx::gen {

// True for what lies behind `if (threadIdx.x == 0)`, `if (threadIdx.x + threadIdx.y + threadIdx.z == 0)`, an elected
// lane and the like. Requires the shapes of values.
bool onlyOneLaneReaches(const Program& program, BlockId block);

// True for values made of uniform ones, of what one lane tells all, and of the number of the warp, as a thread's rank
// shifted to the right gives it.
bool alikeInWarp(const Program& program, ValueId value);

// True for what depends on which lane of its warp a thread is, as far as is certain: `lane & 1`, `threadIdx.x < 16`.
// What is compared with numbers that are not known may divide warps alone.
bool differsInWarp(const Program& program, ValueId value);

}  // namespace vg::ptx::gen
