// Facts about values that follow from those about others, all around loops: each is found again after one that it is
// made of has changed, until nothing does.
#pragma once

#include <functional>

#include "ptx/llvm/ir/warp_ir.h"

namespace vg::ptx::gen {

// Calls `update`, which says whether what it knows of a value is new. Rounds go through all values in order, but leave
// out those that nothing has changed for since.
void settleValues(const Program& program, const std::function<bool(ValueId)>& update);

}  // namespace vg::ptx::gen
