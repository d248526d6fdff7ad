// Freezes out of sight of InstCombine: at each that it meets it asks whether the operand can be poison at all, through
// six levels of operands with a look at what follows each, which took half of its time.
#pragma once

#include <llvm/IR/Function.h>

namespace vg::ptx::gen {

// Calls of functions that nobody knows take their place until showFreezes.
void hideFreezes(llvm::Function& function);
void showFreezes(llvm::Function& function);

}  // namespace vg::ptx::gen
