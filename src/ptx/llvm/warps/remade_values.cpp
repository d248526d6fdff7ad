#include "ptx/llvm/warps/remade_values.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/Analysis/InstructionSimplify.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/IntrinsicInst.h>

#include <algorithm>
#include <vector>

namespace vg::ptx::gen {
namespace {

using BB = llvm::BasicBlock;

// A store and a load of the frame wait for memory, and each round has them, whether the value is used there or not.
constexpr unsigned kMostOfWarp = 8;
constexpr unsigned kMostOfAll = 48;  // for the time that compiling takes

bool mayBeDoneAgain(const llvm::Instruction& i) {
  if (llvm::isa<llvm::PHINode, llvm::AllocaInst, llvm::FreezeInst>(i)) return false;
  if (llvm::isa<llvm::CallBase>(i) && !llvm::isa<llvm::IntrinsicInst>(i)) return false;
  return !i.mayReadOrWriteMemory() && llvm::isSafeToSpeculativelyExecute(&i);
}

// The first half of a splat, what becomes part of the next operation, and what LLVM finds superfluous.
bool isFree(llvm::Instruction& i) {
  return llvm::isa<llvm::InsertElementInst>(i) || (llvm::isa<llvm::CastInst>(i) && i.getType()->isIntegerTy(64)) ||
         llvm::simplifyInstruction(&i, llvm::SimplifyQuery(i.getDataLayout()));
}

}  // namespace

RemadeValues::RemadeValues(llvm::ArrayRef<BB*> own, const SuspendFrame& frame) : own_(own.begin(), own.end()) {
  loop_.insert(frame.loop.begin(), frame.loop.end());
  loop_.insert(frame.warpPoint->getParent());
}

RemadeValues::Cost RemadeValues::sumOfOperands(const llvm::Instruction& operation) {
  Cost sum{true};
  for (llvm::Value* operand : operation.operands()) {
    const Cost cost = costOf(operand);
    if (!cost.possible) return {};
    sum.differs |= cost.differs;
    sum.each += cost.each, sum.all += cost.all;
  }
  return sum;
}

RemadeValues::Cost RemadeValues::costOf(llvm::Value* value) {
  auto* const operation = llvm::dyn_cast<llvm::Instruction>(value);
  if (!operation) return {llvm::isa<llvm::Constant, llvm::Argument>(value)};
  if (!own_.contains(operation->getParent())) return {true, loop_.contains(operation->getParent())};
  if (const auto known = costs_.find(value); known != costs_.end()) return known->second;
  Cost cost;
  if (mayBeDoneAgain(*operation)) cost = sumOfOperands(*operation);
  if (cost.differs && !isFree(*operation)) ++cost.each;
  ++cost.all;
  if (cost.each > kMostOfWarp || cost.all > kMostOfAll) cost = {};
  return costs_[value] = cost;
}

llvm::Value* RemadeValues::copyIn(BB* block, llvm::Value* value) {
  auto* const operation = llvm::dyn_cast<llvm::Instruction>(value);
  if (!operation || !own_.contains(operation->getParent())) return value;
  if (llvm::Value* const known = copies_.lookup({block, value})) return known;
  llvm::Instruction*& place = places_[block];
  if (!place) place = &*block->getFirstInsertionPt();
  llvm::Instruction* const before = place;
  llvm::Instruction* const copy = operation->clone();
  for (llvm::Use& operand : copy->operands()) operand.set(copyIn(block, operand));
  copy->insertBefore(before);
  copies_[{block, value}] = copy;
  return copy;
}

bool RemadeValues::remake(llvm::Instruction& value) {
  if (!costOf(&value).possible) return false;
  std::vector<llvm::Use*> elsewhere;
  const auto placeOf = [](const llvm::Use& use) {
    auto* const user = llvm::cast<llvm::Instruction>(use.getUser());
    auto* const phi = llvm::dyn_cast<llvm::PHINode>(user);
    return phi ? phi->getIncomingBlock(use) : user->getParent();
  };
  for (llvm::Use& use : value.uses())
    if (placeOf(use) != value.getParent()) elsewhere.push_back(&use);
  for (llvm::Use* const use : elsewhere) use->set(copyIn(placeOf(*use), &value));
  return true;
}

}  // namespace vg::ptx::gen
