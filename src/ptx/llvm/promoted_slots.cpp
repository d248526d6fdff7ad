#include "ptx/llvm/promoted_slots.h"

#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/IR/CFG.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/Instructions.h>
#include <llvm/Transforms/Utils/PromoteMemToReg.h>
#include <llvm/Transforms/Utils/SSAUpdater.h>

namespace vg::ptx::gen {
namespace {

constexpr size_t kLargeFunction = 500;  // blocks
constexpr size_t kFewBlocks = 64;

using Accesses = llvm::SmallVector<llvm::Instruction*, 8>;

class SlotPromoter : public llvm::LoadAndStorePromoter {
 public:
  SlotPromoter(const llvm::AllocaInst& slot, llvm::ArrayRef<const llvm::Instruction*> accesses, llvm::SSAUpdater& ssa)
      : LoadAndStorePromoter(accesses, ssa, slot.getName()), slot_(slot) {}
  bool isInstInList(llvm::Instruction* i, const llvm::SmallVectorImpl<llvm::Instruction*>&) const override {
    return llvm::getLoadStorePointerOperand(i) == &slot_;
  }

 private:
  const llvm::AllocaInst& slot_;
};

// Whether the value lives across few blocks, found from the loads backwards.
bool livesNearby(const Accesses& accesses) {
  llvm::SmallPtrSet<llvm::BasicBlock*, 16> stores, seen;
  llvm::SmallVector<llvm::BasicBlock*, 16> work;
  for (llvm::Instruction* i : accesses) {
    if (llvm::isa<llvm::StoreInst>(i))
      stores.insert(i->getParent());
    else if (seen.insert(i->getParent()).second)
      work.push_back(i->getParent());
  }
  while (!work.empty() && seen.size() <= kFewBlocks) {
    for (llvm::BasicBlock* before : llvm::predecessors(work.pop_back_val()))
      if (!stores.contains(before) && seen.insert(before).second) work.push_back(before);
  }
  return seen.size() <= kFewBlocks;
}

// Slots of one store need no phis, and LLVM is quick with them.
bool promoteNearby(llvm::AllocaInst& slot) {
  Accesses accesses;
  size_t stores = 0;
  for (llvm::User* user : slot.users()) {
    if (!llvm::isa<llvm::LoadInst, llvm::StoreInst>(user)) return false;
    stores += llvm::isa<llvm::StoreInst>(user);
    accesses.push_back(llvm::cast<llvm::Instruction>(user));
  }
  if (stores < 2 || !livesNearby(accesses)) return false;
  llvm::SSAUpdater ssa;
  SlotPromoter(slot, llvm::SmallVector<const llvm::Instruction*, 8>(accesses.begin(), accesses.end()), ssa)
      .run(accesses);
  slot.eraseFromParent();
  return true;
}

}  // namespace

void promoteSlots(llvm::Function& function) {
  std::vector<llvm::AllocaInst*> slots;
  for (llvm::Instruction& i : function.getEntryBlock())
    if (auto* slot = llvm::dyn_cast<llvm::AllocaInst>(&i))
      if (llvm::isAllocaPromotable(slot)) slots.push_back(slot);
  if (function.size() > kLargeFunction) std::erase_if(slots, [](auto* slot) { return promoteNearby(*slot); });
  if (slots.empty()) return;
  llvm::DominatorTree dominators(function);
  llvm::PromoteMemToReg(slots, dominators);
}

}  // namespace vg::ptx::gen
