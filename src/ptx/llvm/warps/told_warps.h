// Stores that tell which warp runs, for whoever reports a fault: each copy of a block has its own, and warps often run
// through several.
#pragma once

#include <llvm/IR/Function.h>
#include <llvm/IR/Instructions.h>

namespace vg::ptx::gen {

void markTold(llvm::StoreInst& store);
bool isTold(const llvm::Instruction& i);
// Erases those that say again what was said on every way to them.
void tellOnce(llvm::Function& function);

}  // namespace vg::ptx::gen
