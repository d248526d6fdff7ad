// The steps of shape analysis that follow once it is known which branches diverge.
#pragma once

#include "ptx/llvm/ir/warp_ir.h"

namespace vg::ptx::gen {

// Fills Program::components and Block::component.
void formComponents(Program& program);
// Fills Loop::polls, and Loop::takesTurns where lanes of a warp may wait for each other.
void findPolls(Program& program);

}  // namespace vg::ptx::gen
