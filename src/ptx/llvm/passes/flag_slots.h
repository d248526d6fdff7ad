// Flags of programs, which compilers keep in registers of 16 or 32 bits that are set to 0 or 1 and compared with 0
// later, are masks in place of vectors of numbers, between blocks and in frames of warps that wait.
#pragma once

#include <llvm/IR/Function.h>

namespace vg::ptx::gen {

// Of slots of 16 lanes, as many as a vector has where masks have registers of their own.
void narrowFlags(llvm::Function& function);

}  // namespace vg::ptx::gen
