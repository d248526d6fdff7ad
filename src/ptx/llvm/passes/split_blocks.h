// Long stretches of straight code as several blocks. LLVM selects instructions for a block as a whole, in quadratic
// time where thousands of operations depend on each other.
#pragma once

#include <llvm/IR/Function.h>

namespace vg::ptx::gen {

// Of so many instructions at most.
void splitBlocks(llvm::Function& function, size_t longest);

}  // namespace vg::ptx::gen
