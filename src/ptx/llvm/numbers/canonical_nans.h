// NaNs become the one NaN of a GPU. Made by arithmetic, by a single instruction where the processor has VRANGEPS: of
// two quiet NaNs it gives the first, and of a number and a quiet NaN the number, bit for bit. Elsewhere vectors are
// asked together whether one of them has a NaN at all, a comparison for two of them, and are blended only then.
#pragma once

#include <llvm/IR/Function.h>

namespace vg::ptx::gen {

// Requires AVX-512DQ and VL.
void rangeNaNs(llvm::Function& function);
void askForNaNsTogether(llvm::Function& function);

}  // namespace vg::ptx::gen
