// Whether the warps of a block go the same way, not only the lanes of a warp.
#pragma once

#include <vector>

#include "ptx/llvm/ir/warp_ir.h"

namespace vg::ptx::gen {

// Whether every warp of a block meets the same barriers in the same order, and none ends while another goes on to one.
// Requires analyseShapes. Says no where it does not know.
bool warpsMeetAlike(const Program& program);
// By block: whether some warps of a block may not get there, or not as often as others.
std::vector<bool> blocksOfSomeWarps(const Program& program);

}  // namespace vg::ptx::gen
