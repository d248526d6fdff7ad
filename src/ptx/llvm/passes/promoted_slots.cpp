#include "ptx/llvm/passes/promoted_slots.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/IR/CFG.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/Instructions.h>
#include <llvm/Transforms/Utils/PromoteMemToReg.h>
#include <llvm/Transforms/Utils/SSAUpdater.h>

namespace vg::ptx::gen {
namespace {

constexpr size_t kLargeFunction = 500, kSeveralBlocks = 200;  // blocks
constexpr size_t kFewBlocks = 64;
constexpr size_t kManyPhis =
    2000;  // that registers for slots may always cost, and one for so many instructions beyond:
constexpr size_t kInstructionsAPhi = 4;

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

// Whether there is one store, by which all ways to the loads come.
bool storedBeforeAll(const llvm::AllocaInst& slot, const llvm::DominatorTree& dominators) {
  const llvm::StoreInst* only = nullptr;
  for (const llvm::User* user : slot.users())
    if (auto* store = llvm::dyn_cast<llvm::StoreInst>(user)) {
      if (only) return false;
      only = store;
    }
  return only && llvm::all_of(slot.users(), [&](const llvm::User* user) {
           return user == only || dominators.dominates(only, llvm::cast<llvm::Instruction>(user));
         });
}

bool readsFirst(const llvm::AllocaInst& slot, const llvm::BasicBlock& block) {
  for (const llvm::Instruction& i : block)
    if (llvm::getLoadStorePointerOperand(&i) == &slot) return llvm::isa<llvm::LoadInst>(i);
  return false;
}

// What registers for slots cost: at most a phi in each block where ways meet and the slot's content is read later.
class PhiCounter {
 public:
  explicit PhiCounter(llvm::Function& function) : dominators_(function) {
    for (llvm::BasicBlock& block : function) number_.try_emplace(&block, number_.size());
    predecessors_.resize(number_.size());
    for (llvm::BasicBlock& block : function)
      for (llvm::BasicBlock* next : llvm::successors(&block)) predecessors_[number_[next]].push_back(number_[&block]);
    stored_.resize(number_.size(), 0);
    live_.resize(number_.size(), 0);
  }

  size_t phisFor(const llvm::AllocaInst& slot) {
    ++round_;
    size_t phis = 0;
    if (storedBeforeAll(slot, dominators_)) return 0;
    for (const llvm::User* user : slot.users())
      if (auto* store = llvm::dyn_cast<llvm::StoreInst>(user)) {
        stored_[number_[store->getParent()]] = round_;
      }
    for (const llvm::User* user : slot.users())
      if (auto* load = llvm::dyn_cast<llvm::LoadInst>(user))
        if (const auto at = number_[load->getParent()]; stored_[at] != round_ || readsFirst(slot, *load->getParent()))
          visit(at, phis);
    while (!work_.empty()) {
      const unsigned at = work_.back();
      work_.pop_back();
      for (unsigned before : predecessors_[at])
        if (stored_[before] != round_) visit(before, phis);
    }
    return phis;
  }

 private:
  void visit(unsigned block, size_t& phis) {
    if (std::exchange(live_[block], round_) == round_) return;
    phis += predecessors_[block].size() > 1;
    work_.push_back(block);
  }

  const llvm::DominatorTree dominators_;
  llvm::DenseMap<const llvm::BasicBlock*, unsigned> number_;
  std::vector<llvm::SmallVector<unsigned, 2>> predecessors_;
  std::vector<unsigned> stored_, live_, work_;  // by block: the last round in which it was
  unsigned round_ = 0;
};

// Masks and values of lanes that wait for a loop around others to begin anew live through all of these: hundreds of
// loops would each have a phi for each of them. Those that cost most phis for an access stay in memory.
void leaveCostly(std::vector<llvm::AllocaInst*>& slots, llvm::Function& function) {
  struct Cost {
    llvm::AllocaInst* slot;
    size_t phis, accesses;
  };
  std::vector<Cost> costs;
  size_t all = 0;
  PhiCounter counter(function);
  for (llvm::AllocaInst* slot : slots) {
    costs.push_back({slot, counter.phisFor(*slot), slot->getNumUses() + 1});
    all += costs.back().phis;
  }
  const size_t most = std::max<size_t>(kManyPhis, function.getInstructionCount() / kInstructionsAPhi);
  if (all <= most) return;
  llvm::stable_sort(costs, [](const Cost& a, const Cost& b) { return a.phis * b.accesses < b.phis * a.accesses; });
  slots.clear();
  size_t taken = 0;
  for (const Cost& cost : costs)
    if (taken + cost.phis <= most) {
      taken += cost.phis;
      slots.push_back(cost.slot);
    }
}

std::vector<llvm::AllocaInst*> slotsOf(llvm::Function& function) {
  std::vector<llvm::AllocaInst*> slots;
  for (llvm::Instruction& i : function.getEntryBlock())
    if (auto* slot = llvm::dyn_cast<llvm::AllocaInst>(&i))
      if (llvm::isAllocaPromotable(slot)) slots.push_back(slot);
  return slots;
}

// What says that a slot's content is of no interest has done its work: it keeps phis from reaching back.
void dropUndefinedStores(llvm::AllocaInst& slot) {
  for (llvm::User* user : llvm::make_early_inc_range(slot.users()))
    if (auto* store = llvm::dyn_cast<llvm::StoreInst>(user))
      if (llvm::isa<llvm::UndefValue>(store->getValueOperand())) store->eraseFromParent();
}

// Whether nothing else reads what a block leaves in the slot. What it reads first is of an earlier time: a register for
// that takes phis all the way back, and thousands of such slots in a loop of thousands of blocks would take minutes.
bool isOfOneBlock(const llvm::AllocaInst& slot) {
  const auto blockOf = [](const llvm::User* user) { return llvm::cast<llvm::Instruction>(user)->getParent(); };
  if (slot.use_empty()) return true;
  const llvm::BasicBlock* const only = blockOf(*slot.user_begin());
  return llvm::all_of(slot.users(), [&](const llvm::User* user) { return blockOf(user) == only; }) &&
         !readsFirst(slot, *only);
}

}  // namespace

void promoteFreeSlots(llvm::Function& function) {
  const std::vector<llvm::AllocaInst*> all = slotsOf(function);
  for (llvm::AllocaInst* slot : all) dropUndefinedStores(*slot);
  llvm::DominatorTree dominators(function);
  std::vector<llvm::AllocaInst*> free;
  for (llvm::AllocaInst* slot : all)
    if (isOfOneBlock(*slot) || storedBeforeAll(*slot, dominators)) free.push_back(slot);
  if (!free.empty()) llvm::PromoteMemToReg(free, dominators);
}

void promoteSlots(llvm::Function& function) {
  std::vector<llvm::AllocaInst*> slots = slotsOf(function);
  if (function.size() > kSeveralBlocks) leaveCostly(slots, function);
  if (function.size() > kLargeFunction) std::erase_if(slots, [](auto* slot) { return promoteNearby(*slot); });
  if (slots.empty()) return;
  llvm::DominatorTree dominators(function);
  llvm::PromoteMemToReg(slots, dominators);
}

}  // namespace vg::ptx::gen
