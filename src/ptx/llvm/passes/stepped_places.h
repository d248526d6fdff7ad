// Gathers and scatters whose places are known distances apart, such as a column of a matrix: loads and stores of their
// own for all lanes, where the processor gathers no faster than it loads and the distances save the work on addresses.
#pragma once

#include <llvm/IR/Function.h>

namespace vg::ptx::gen {

// For processors whose gathers and scatters are made of so many steps as there are lanes.
void accessStepsSingly(llvm::Function& function);

}  // namespace vg::ptx::gen
