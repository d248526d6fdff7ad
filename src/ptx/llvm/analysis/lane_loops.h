// Loops that lanes run one after the other.
#pragma once

#include <vector>

#include "ptx/llvm/ir/warp_ir.h"

namespace vg::ptx::gen {

// Loops that lanes leave one by one and in which most of the work is at places that came out of memory, such as those
// over the neighbours of a node or the elements of a sparse row. Gathers take as long for a few lanes as for all, and
// no less than a load for each; so a lane alone takes only its own rounds, and needs no masks. Lanes of such a loop
// neither meet nor wait for others. Where a place depends on what an earlier round has loaded, as in a list, lanes stay
// together: then loads of different lanes are all that the processor can do at a time. The outermost loops: those
// inside of them belong to them.
std::vector<LoopId> loopsForSingleLanes(const Program& program);

}  // namespace vg::ptx::gen
