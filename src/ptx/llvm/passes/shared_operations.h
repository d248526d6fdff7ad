// Quick code of large kernels: what is done with vectors are calls of small functions that stand in the module once for
// each kind of operation, and vectors lie in memory between them. LLVM makes a call in a twentieth of the time that it
// takes to select the instructions of one operation on all lanes of a warp; such code runs slower, so operations in
// loops stay where they are as far as that costs little.
#pragma once

#include <llvm/IR/Function.h>

#include <cstddef>

namespace vg::ptx::gen {

// Leaves up to `most` operations in loops in place. No vector of the function is in a phi or crosses blocks after it.
void shareOperations(llvm::Function& function, size_t most);

}  // namespace vg::ptx::gen
