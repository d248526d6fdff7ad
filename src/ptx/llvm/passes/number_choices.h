// Choices between a value and a constant, by a comparison of the two, that stay choices. LLVM takes them for the
// smaller or larger of two numbers, and on ARM makes one instruction of them that gives a NaN for a signalling NaN,
// where the choice gives the constant.
#pragma once

#include <llvm/IR/Function.h>

namespace vg::ptx::gen {

// Just before instructions are selected.
void keepChoices(llvm::Function& function);

}  // namespace vg::ptx::gen
