#include "ptx/llvm/warps/common_values.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/Analysis/PostDominators.h>
#include <llvm/IR/CFG.h>

#include <vector>

namespace vg::ptx::gen {

using BB = llvm::BasicBlock;

// All slots are taken for common at first. Those that are not show themselves, and with them branches at which warps
// part, until no more do.
CommonValues::CommonValues(llvm::ArrayRef<BB*> own, const SuspendFrame& frame, llvm::ArrayRef<llvm::AllocaInst*> slots)
    : own_(own), ownSet_(own.begin(), own.end()), common_(slots.begin(), slots.end()) {
  loop_.insert(frame.loop.begin(), frame.loop.end());
  loop_.insert(frame.warpPoint->getParent());
  const llvm::PostDominatorTree tree(*frame.start->getParent());
  for (BB* block : own) {
    const auto* const node = tree.getNode(block);
    meets_[block] = node && node->getIDom() ? node->getIDom()->getBlock() : nullptr;
  }
  do {
    known_.clear();
    findParting();
  } while (dropSlots());
}

bool CommonValues::isSameNow(const llvm::Instruction& i) {
  if (!ownSet_.contains(i.getParent())) return !loop_.contains(i.getParent());
  if (llvm::isa<llvm::PHINode, llvm::AllocaInst, llvm::CallBase>(i)) return false;
  if (const auto* const load = llvm::dyn_cast<llvm::LoadInst>(&i))
    if (common_.contains(load->getPointerOperand())) return true;
  const bool ofLaunch = i.getMetadata(llvm::LLVMContext::MD_invariant_load);
  if (i.mayReadOrWriteMemory() && !ofLaunch) return false;
  return llvm::all_of(i.operands(), [&](const llvm::Use& operand) { return isSame(operand); });
}

bool CommonValues::isSame(const llvm::Value* value) {
  const auto* const i = llvm::dyn_cast<llvm::Instruction>(value);
  if (!i) return llvm::isa<llvm::Constant, llvm::Argument>(value);
  if (const auto known = known_.find(value); known != known_.end()) return known->second;
  const bool same = isSameNow(*i);
  return known_[value] = same;
}

// Blocks between a branch that some warps take and others not, and where they meet.
void CommonValues::findParting() {
  for (BB* block : own_) {
    llvm::Instruction* const end = block->getTerminator();
    if (end->getNumSuccessors() < 2 || isSame(end->getOperand(0))) continue;
    llvm::SmallVector<BB*, 16> open(llvm::successors(block));
    while (!open.empty()) {
      BB* const at = open.pop_back_val();
      if (at != meets_[block] && ownSet_.contains(at) && ofSome_.insert(at).second)
        llvm::append_range(open, llvm::successors(at));
    }
  }
}

// Whether any was found not to be common.
bool CommonValues::dropSlots() {
  bool any = false;
  for (BB* block : own_)
    for (llvm::Instruction& i : *block)
      if (auto* const store = llvm::dyn_cast<llvm::StoreInst>(&i))
        if (ofSome_.contains(block) || !isSame(store->getValueOperand()))
          any |= common_.erase(store->getPointerOperand());
  return any;
}

}  // namespace vg::ptx::gen
