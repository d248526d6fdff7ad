#include "ptx/llvm/passes/flag_slots.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/SetVector.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/PatternMatch.h>

#include <vector>

namespace vg::ptx::gen {
namespace {

using llvm::AllocaInst;
using llvm::Value;
namespace match = llvm::PatternMatch;

constexpr unsigned kLanes = 16;
constexpr int kDeep = 16;  // operations that a flag is made by

bool isZeroOrOne(const llvm::Constant& constant) {
  if (constant.isNullValue() || llvm::isa<llvm::UndefValue>(constant)) return true;  // nobody reads the latter
  const auto one = [](const llvm::Constant* element) {
    const auto* const number = llvm::dyn_cast_or_null<llvm::ConstantInt>(element);
    return number && number->getValue().ule(1);
  };
  if (!constant.getType()->isVectorTy()) return one(&constant);
  for (unsigned n = 0; n < kLanes; ++n)
    if (!one(constant.getAggregateElement(n))) return false;
  return true;
}

class Flags {
 public:
  explicit Flags(llvm::Function& function) {
    for (llvm::Instruction& i : function.getEntryBlock())
      if (auto* const slot = llvm::dyn_cast<AllocaInst>(&i); slot && mayBeFlags(*slot)) slots_.insert(slot);
    while (dropOthers()) made_.clear();
  }

  const llvm::SmallSetVector<AllocaInst*, 16>& slots() const { return slots_; }

 private:
  static bool mayBeFlags(const AllocaInst& slot) {
    const auto* const type = llvm::dyn_cast<llvm::FixedVectorType>(slot.getAllocatedType());
    if (!type || type->getNumElements() != kLanes || !type->getElementType()->isIntegerTy() ||
        type->getScalarSizeInBits() < 8)
      return false;
    return llvm::all_of(slot.users(), [&](const llvm::User* user) {
      if (const auto* const load = llvm::dyn_cast<llvm::LoadInst>(user))
        return !load->isVolatile() && load->getType() == type;
      const auto* const store = llvm::dyn_cast<llvm::StoreInst>(user);
      return store && !store->isVolatile() && store->getValueOperand()->getType() == type;
    });
  }

  // Those with a store of something else, and what is made of these.
  bool dropOthers() {
    return slots_.remove_if([&](AllocaInst* slot) {
      return llvm::any_of(slot->users(), [&](llvm::User* user) {
        auto* const store = llvm::dyn_cast<llvm::StoreInst>(user);
        return store && !isFlag(store->getValueOperand(), 0);
      });
    });
  }

  bool isFlag(Value* value, int depth) {
    if (const auto* const constant = llvm::dyn_cast<llvm::Constant>(value)) return isZeroOrOne(*constant);
    auto* const i = llvm::dyn_cast<llvm::Instruction>(value);
    if (!i || depth == kDeep) return false;
    if (const auto known = made_.find(i); known != made_.end()) return known->second;
    const bool flag = isFlagMade(*i, depth + 1);
    return made_[i] = flag;
  }

  bool isFlagMade(llvm::Instruction& i, int depth) {
    Value *left = nullptr, *right = nullptr;
    if (const auto* const load = llvm::dyn_cast<llvm::LoadInst>(&i))
      return slots_.contains(llvm::dyn_cast<AllocaInst>(const_cast<Value*>(load->getPointerOperand())));
    if (match::match(&i, match::m_ZExt(match::m_Value(left)))) return left->getType()->getScalarSizeInBits() == 1;
    if (match::match(&i,
                     match::m_Shuffle(match::m_InsertElt(match::m_Value(), match::m_Value(left), match::m_ZeroInt()),
                                      match::m_Value(), match::m_ZeroMask())))
      return isFlag(left, depth);
    if (match::match(&i, match::m_Select(match::m_Value(), match::m_Value(left), match::m_Value(right))) ||
        match::match(&i, match::m_Or(match::m_Value(left), match::m_Value(right))) ||
        match::match(&i, match::m_Xor(match::m_Value(left), match::m_Value(right))) ||
        match::match(&i, match::m_And(match::m_Value(left), match::m_Value(right))))
      return isFlag(left, depth) && isFlag(right, depth);
    return false;
  }

  llvm::SmallSetVector<AllocaInst*, 16> slots_;
  llvm::DenseMap<llvm::Instruction*, bool> made_;
};

void narrow(AllocaInst& slot) {
  llvm::Type* const wide = slot.getAllocatedType();
  auto* const mask = llvm::FixedVectorType::get(llvm::Type::getInt1Ty(slot.getContext()), kLanes);
  AllocaInst* const flags = llvm::IRBuilder<>(&slot).CreateAlloca(mask, nullptr, slot.getName());
  for (llvm::User* const user : llvm::make_early_inc_range(slot.users())) {
    auto* const access = llvm::cast<llvm::Instruction>(user);
    llvm::IRBuilder<> b(access);
    if (auto* const store = llvm::dyn_cast<llvm::StoreInst>(access))
      b.CreateStore(b.CreateTrunc(store->getValueOperand(), mask), flags);
    else
      access->replaceAllUsesWith(b.CreateZExt(b.CreateLoad(mask, flags), wide));
    access->eraseFromParent();
  }
  slot.eraseFromParent();
}

}  // namespace

void narrowFlags(llvm::Function& function) {
  const Flags flags(function);
  for (AllocaInst* const slot : flags.slots()) narrow(*slot);
}

}  // namespace vg::ptx::gen
