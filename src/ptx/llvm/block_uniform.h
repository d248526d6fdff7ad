// Whether the warps of a block go the same way, not only the lanes of a warp.
#pragma once

#include "ptx/llvm/warp_ir.h"

namespace vg::ptx::gen {

// Whether every warp of a block meets the same barriers in the same order, and none ends while another goes on to one.
// Requires analyseShapes. Says no where it does not know.
bool warpsMeetAlike(const Program& program);

}  // namespace vg::ptx::gen
