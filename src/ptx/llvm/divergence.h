// The steps of shape analysis that follow once it is known which branches diverge.
#pragma once

#include "ptx/llvm/warp_ir.h"

namespace vg::ptx::gen {

// Fills Program::components and Block::component.
void formComponents(Program& program);
// Fills Loop::polls. Throws Unsupported where lanes of a warp would wait for each other for ever.
void findPolls(Program& program);

}  // namespace vg::ptx::gen
