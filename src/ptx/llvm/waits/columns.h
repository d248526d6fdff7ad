// Whether lanes that poll memory can be waiting for each other.
#pragma once

#include "ptx/llvm/ir/warp_ir.h"

namespace vg::ptx::gen {

// True when every lane that polls by `load`, an instruction of the loop, reads a column of its own: places that no
// other lane of its warp writes after having left the loop. Look-back scans of digits are made so, a column a digit.
// Only writes that may signal are looked at: volatile and stronger ones, and atomics. Requires the shapes of values.
bool pollsOwnColumn(const Program& program, LoopId loop, const Instruction& load);

}  // namespace vg::ptx::gen
