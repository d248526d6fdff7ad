// What loops carry from round to round, made less.
#pragma once

#include "ptx/llvm/ir/warp_ir.h"

namespace vg::ptx::gen {

// Values that a loop's head takes only to make one of them, as x * x and y * y for a difference, are carried as that
// one, made where they come from: each is several vector registers. Before cross-block uses are marked.
void carryLess(Program& program);

}  // namespace vg::ptx::gen
