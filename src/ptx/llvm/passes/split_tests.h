// Branches on several tests as several branches. LLVM computes the bit of each test and combines them, which takes
// three instructions a test where a branch takes one; and tests that a loop does not change it makes again in each
// round, where they are mixed with others.
#pragma once

#include <llvm/IR/Function.h>

namespace vg::ptx::gen {

// To run last: what simplifies control flow afterwards would undo it.
void splitTests(llvm::Function& function);

}  // namespace vg::ptx::gen
