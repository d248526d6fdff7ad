#include "ptx/llvm/warps/told_warps.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/PostOrderIterator.h>
#include <llvm/IR/CFG.h>

namespace vg::ptx::gen {
namespace {

constexpr const char* kMark = "vg.warp";

using Told = llvm::DenseMap<const llvm::BasicBlock*, const llvm::Value*>;  // at the end of a block

// Nothing is known where a loop comes back: another warp may have run.
const llvm::Value* toldBefore(const llvm::BasicBlock& block, const Told& told) {
  const llvm::Value* common = nullptr;
  for (const llvm::BasicBlock* from : llvm::predecessors(&block)) {
    const llvm::Value* const here = told.lookup(from);
    if (!here || (common && common != here)) return nullptr;
    common = here;
  }
  return common;
}

}  // namespace

void markTold(llvm::StoreInst& store) { store.setMetadata(kMark, llvm::MDNode::get(store.getContext(), {})); }

bool isTold(const llvm::Instruction& i) { return llvm::isa<llvm::StoreInst>(i) && i.getMetadata(kMark); }

void tellOnce(llvm::Function& function) {
  Told told;
  for (llvm::BasicBlock* block : llvm::ReversePostOrderTraversal<llvm::Function*>(&function)) {
    const llvm::Value* present = toldBefore(*block, told);
    for (llvm::Instruction& i : llvm::make_early_inc_range(*block)) {
      if (!isTold(i)) continue;
      if (i.getOperand(0) == present)
        i.eraseFromParent();
      else
        present = i.getOperand(0);
    }
    told[block] = present;
  }
}

}  // namespace vg::ptx::gen
