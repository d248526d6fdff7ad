#include "ptx/llvm/numbers/canonical_nans.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/IR/PatternMatch.h>

#include <algorithm>
#include <vector>

namespace vg::ptx::gen {
namespace {

using llvm::Value;
namespace match = llvm::PatternMatch;

constexpr uint32_t kNaN = 0x7fffffff;
constexpr int kMagnitudesLarger = 0b0101;  // the larger of both, with its own sign; of no importance beside a NaN

// What the processor's arithmetic gives: never a signalling NaN, of which VRANGEPS would keep the bits.
bool isArithmetic(const Value* value) {
  const auto* const i = llvm::dyn_cast<llvm::Instruction>(value);
  if (!i) return false;
  switch (i->getOpcode()) {
    case llvm::Instruction::FAdd:
    case llvm::Instruction::FSub:
    case llvm::Instruction::FMul:
    case llvm::Instruction::FDiv:
    case llvm::Instruction::FPTrunc:
      return true;
    default:
      break;
  }
  const auto* const call = llvm::dyn_cast<llvm::CallInst>(i);
  return call && (call->getIntrinsicID() == llvm::Intrinsic::fma || call->getIntrinsicID() == llvm::Intrinsic::sqrt);
}

// Whether it is the NaN of a GPU in all lanes of which it is anything.
bool isTheNaN(const Value* value) {
  const auto* const constant = llvm::dyn_cast<llvm::Constant>(value);
  if (!constant || !constant->getType()->getScalarType()->isFloatTy()) return false;
  const auto is = [](const llvm::Constant* element) {
    const auto* const number = llvm::dyn_cast_or_null<llvm::ConstantFP>(element);
    return number && number->getValueAPF().bitcastToAPInt() == kNaN;
  };
  const auto* const vector = llvm::dyn_cast<llvm::FixedVectorType>(constant->getType());
  for (unsigned n = 0; vector && n < vector->getNumElements(); ++n) {
    const llvm::Constant* const element = constant->getAggregateElement(n);
    if (!is(element) && !llvm::isa_and_nonnull<llvm::UndefValue>(element)) return false;
  }
  return vector || is(constant);
}

// Of a blend of a value with the NaN where it is one: the value.
Value* blended(llvm::Instruction& i) {
  Value *value = nullptr, *compared = nullptr, *with = nullptr, *nan = nullptr;
  llvm::CmpInst::Predicate predicate;
  if (!match::match(&i, match::m_Select(match::m_FCmp(predicate, match::m_Value(compared), match::m_Value(with)),
                                        match::m_Value(nan), match::m_Value(value))))
    return nullptr;
  if (predicate != llvm::CmpInst::FCMP_UNO || compared != value || !isTheNaN(nan)) return nullptr;
  const llvm::APFloat* number = nullptr;
  const bool withItself = with == value || (match::match(with, match::m_APFloat(number)) && !number->isNaN());
  return withItself ? value : nullptr;
}

llvm::CallInst* range(llvm::IRBuilder<>& b, Value* value) {
  Value* const nan =
      b.CreateBitCast(llvm::ConstantInt::get(value->getType()->getWithNewType(b.getInt32Ty()), kNaN), value->getType());
  const unsigned lanes = llvm::cast<llvm::FixedVectorType>(value->getType())->getNumElements();
  const auto id =
      lanes == 16 ? llvm::Intrinsic::x86_avx512_mask_range_ps_512 : llvm::Intrinsic::x86_avx512_mask_range_ps_256;
  llvm::SmallVector<Value*, 6> operands{nan, value, b.getInt32(kMagnitudesLarger), value,
                                        llvm::ConstantInt::getAllOnesValue(b.getIntNTy(lanes))};
  if (lanes == 16) operands.push_back(b.getInt32(4));  // rounding as it is set
  return b.CreateIntrinsic(id, {}, operands);
}

// Fewer lanes gain nothing: their compare and their blend are as quick.
bool isWide(const llvm::Type* type) {
  const auto* const vector = llvm::dyn_cast<llvm::FixedVectorType>(type);
  return vector && (vector->getNumElements() == 8 || vector->getNumElements() == 16);
}

// Blends of one block with nothing between the last of their values and the first of their uses.
struct Together {
  llvm::SmallVector<llvm::Instruction*, 8> blends;
  llvm::SmallVector<Value*, 8> values;
  llvm::Instruction* firstUse = nullptr;
};

// In the block; its end if there is none.
llvm::Instruction* firstUseOf(llvm::Instruction& blend) {
  llvm::Instruction* first = blend.getParent()->getTerminator();
  for (llvm::User* const user : blend.users()) {
    auto* const i = llvm::cast<llvm::Instruction>(user);
    if (i->getParent() == blend.getParent() && !llvm::isa<llvm::PHINode>(i) && i->comesBefore(first)) first = i;
  }
  return first;
}

bool isThereBefore(const Value* value, const llvm::Instruction* place) {
  const auto* const i = llvm::dyn_cast<llvm::Instruction>(value);
  return !i || i->getParent() != place->getParent() || i->comesBefore(place);
}

bool join(Together& group, llvm::Instruction& blend, Value* value) {
  llvm::Instruction* use = firstUseOf(blend);
  if (!group.blends.empty()) {
    if (group.blends[0]->getType() != blend.getType()) return false;
    if (group.firstUse->comesBefore(use)) use = group.firstUse;
    if (!isThereBefore(value, use)) return false;
    for (const Value* const other : group.values)
      if (!isThereBefore(other, use)) return false;
  }
  group.blends.push_back(&blend);
  group.values.push_back(value);
  group.firstUse = use;
  return true;
}

std::vector<Together> groupsOf(llvm::BasicBlock& block) {
  std::vector<Together> groups(1);
  for (llvm::Instruction& i : block) {
    Value* const value = blended(i);
    const auto* const type = llvm::dyn_cast<llvm::FixedVectorType>(i.getType());
    if (!value || !type || type->getNumElements() < 4) continue;
    if (!join(groups.back(), i, value)) join(groups.emplace_back(), i, value);
  }
  return groups;
}

Value* anyNaN(llvm::IRBuilder<>& b, llvm::ArrayRef<Value*> values) {
  Value* any = nullptr;
  for (size_t n = 0; n < values.size(); n += 2) {
    Value* const two = b.CreateFCmpUNO(values[n], values[std::min(n + 1, values.size() - 1)]);
    any = any ? b.CreateOr(any, two) : two;
  }
  return b.CreateOrReduce(any);
}

void askTogether(const Together& group) {
  llvm::BasicBlock* const before = group.firstUse->getParent();
  llvm::BasicBlock* const behind = before->splitBasicBlock(group.firstUse, "numbers");
  llvm::BasicBlock* const rare = llvm::BasicBlock::Create(before->getContext(), "nans", before->getParent(), behind);
  before->getTerminator()->eraseFromParent();
  llvm::IRBuilder<> ask(before), blend(rare), merge(behind, behind->begin());
  ask.CreateCondBr(anyNaN(ask, group.values), rare, behind,
                   llvm::MDBuilder(before->getContext()).createUnlikelyBranchWeights());
  for (size_t n = 0; n < group.blends.size(); ++n) {
    llvm::Instruction* const old = group.blends[n];
    auto* const test = llvm::cast<llvm::Instruction>(llvm::cast<llvm::SelectInst>(old)->getCondition());
    llvm::PHINode* const either = merge.CreatePHI(old->getType(), 2);
    old->replaceAllUsesWith(either);
    either->addIncoming(group.values[n], before);
    llvm::Instruction* const again = blend.Insert(test->clone());
    auto* const blended = llvm::cast<llvm::SelectInst>(blend.Insert(old->clone()));
    blended->setCondition(again);
    either->addIncoming(blended, rare);
  }
  blend.CreateBr(behind);
}

void eraseIfUnused(llvm::Instruction& blend) {
  auto* const test = llvm::cast<llvm::Instruction>(llvm::cast<llvm::SelectInst>(blend).getCondition());
  if (!blend.use_empty()) return;
  blend.eraseFromParent();
  if (test->use_empty()) test->eraseFromParent();
}

}  // namespace

void askForNaNsTogether(llvm::Function& function) {
  std::vector<llvm::BasicBlock*> blocks;
  for (llvm::BasicBlock& block : function) blocks.push_back(&block);
  for (llvm::BasicBlock* const block : blocks) {
    const std::vector<Together> groups = groupsOf(*block);
    for (auto group = groups.rbegin(); group != groups.rend(); ++group)
      if (group->blends.size() > 1) askTogether(*group);
    for (const Together& group : groups)
      for (llvm::Instruction* const blend : group.blends) eraseIfUnused(*blend);
  }
}

void rangeNaNs(llvm::Function& function) {
  std::vector<std::pair<llvm::Instruction*, Value*>> blends;
  for (llvm::Instruction& i : llvm::instructions(function))
    if (Value* const value = blended(i); value && isWide(i.getType()) && isArithmetic(value))
      blends.emplace_back(&i, value);
  for (const auto& [blend, value] : blends) {
    llvm::IRBuilder<> b(blend);
    blend->replaceAllUsesWith(range(b, value));
    eraseIfUnused(*blend);
  }
}

}  // namespace vg::ptx::gen
