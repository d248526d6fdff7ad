// Whether two accesses are known to be of different memory.
#pragma once

#include "ptx/llvm/ir/warp_ir.h"

namespace vg::ptx::gen {

// Whether pointers that a kernel is given are taken to be of different memory, or may be of one that it is given twice.
enum class Given { Apart, PerhapsTwice };

// True where addresses count from different variables, or from different pointers that the kernel was given. Of loads,
// stores and atomics.
bool liesElsewhere(const Program& program, const Instruction& a, const Instruction& b, Given given);

}  // namespace vg::ptx::gen
