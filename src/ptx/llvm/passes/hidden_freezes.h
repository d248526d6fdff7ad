// Freezes out of sight of InstCombine and EarlyCSE: at each that they meet they ask whether the operand can be poison
// at all, through six levels of operands with a look at what follows each, which took half of their time and more.
#pragma once

#include <llvm/IR/Function.h>

namespace vg::ptx::gen {

// Calls of functions that nobody knows take their place until showFreezes.
void hideFreezes(llvm::Function& function);
void showFreezes(llvm::Function& function);

}  // namespace vg::ptx::gen
