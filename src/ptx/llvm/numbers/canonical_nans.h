// NaNs that arithmetic made become the one NaN of a GPU by a single instruction, where the processor has VRANGEPS: of
// two quiet NaNs it gives the first, and of a number and a quiet NaN the number, bit for bit.
#pragma once

#include <llvm/IR/Function.h>

namespace vg::ptx::gen {

// Requires AVX-512DQ and VL.
void rangeNaNs(llvm::Function& function);

}  // namespace vg::ptx::gen
