// Whether two accesses are known to be of different memory.
#pragma once

#include "ptx/llvm/ir/warp_ir.h"

namespace vg::ptx::gen {

// True where addresses count from different variables, or from different pointers that the kernel was given: a kernel
// that is given one piece of memory twice is not thought of. Of loads, stores and atomics.
bool liesElsewhere(const Program& program, const Instruction& a, const Instruction& b);

}  // namespace vg::ptx::gen
