#include "ptx/llvm/passes/wide_masks.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/PatternMatch.h>
#include <llvm/IR/ValueHandle.h>

#include <vector>

namespace vg::ptx::gen {
namespace {

using llvm::BasicBlock;
using llvm::Constant;
using llvm::dyn_cast;
using llvm::FixedVectorType;
using llvm::Instruction;
using llvm::isa;
using llvm::PHINode;
using llvm::Type;
using llvm::Value;

bool isMask(const Value* v) {
  const auto* const type = dyn_cast<FixedVectorType>(v->getType());
  return type && type->getElementType()->isIntegerTy(1);
}

// Instructions that make masks of masks, or of single bits: each gets a wide twin.
bool combines(const Instruction& i) {
  if (!isMask(&i)) return false;
  if (isa<llvm::PHINode, llvm::FreezeInst, llvm::SelectInst, llvm::ShuffleVectorInst, llvm::InsertElementInst>(i))
    return true;
  return isa<llvm::BinaryOperator>(i) && i.isBitwiseLogicOp();
}

class Widener {
 public:
  explicit Widener(llvm::Function& function) : function_(function) {}

  void run() {
    for (BasicBlock& block : function_)
      for (Instruction& i : llvm::make_early_inc_range(block)) {
        if (isMask(&i)) masks_.push_back(&i);
        foldSigns(i);
      }
    for (Instruction* mask : masks_)
      if (combines(*mask)) wide(mask);
    fillPhis();
    for (Instruction* mask : masks_) redirectUses(*mask);
    eraseOld();
  }

 private:
  Type* wideType(const Value* mask) const {
    const unsigned lanes = llvm::cast<FixedVectorType>(mask->getType())->getNumElements();
    return FixedVectorType::get(Type::getInt32Ty(function_.getContext()), lanes);
  }

  // --- Wide twins

  Value* wide(Value* mask) {
    if (auto* constant = dyn_cast<Constant>(mask)) return wideConstant(*constant);
    if (const auto found = wide_.find(mask); found != wide_.end()) return found->second;
    auto* const i = dyn_cast<Instruction>(mask);
    Value* const made = i && combines(*i) ? twin(*i) : leaf(*mask);
    wide_[mask] = made;
    return made;
  }

  Value* wideConstant(Constant& mask) const {
    llvm::SmallVector<Constant*, 16> lanes;
    auto* const type = llvm::cast<FixedVectorType>(wideType(&mask));
    Type* const word = type->getElementType();
    for (unsigned n = 0; n < type->getNumElements(); ++n) {
      Constant* const bit = mask.getAggregateElement(n);
      const bool undefined = !bit || isa<llvm::UndefValue>(bit);
      lanes.push_back(undefined ? llvm::PoisonValue::get(word)
                                : llvm::ConstantInt::getSigned(word, bit->isOneValue() ? -1 : 0));
    }
    return llvm::ConstantVector::get(lanes);
  }

  // A wide mask is what its signs are.
  static void foldSigns(Instruction& i) {
    llvm::SmallPtrSet<const Value*, 16> assumed;
    if (!spreadsSigns(i) || !isWide(i.getOperand(0), assumed)) return;
    i.replaceAllUsesWith(i.getOperand(0));
    i.eraseFromParent();
  }

  static bool spreadsSigns(const Instruction& i) {
    using namespace llvm::PatternMatch;
    return i.getType()->isVectorTy() && i.getType()->isIntOrIntVectorTy(32) &&
           match(&i, m_AShr(m_Value(), m_SpecificInt(31)));
  }

  // Comparisons, and whatever else gives bits.
  Value* leaf(Value& mask) {
    using namespace llvm::PatternMatch;
    Value* word = nullptr;
    llvm::ICmpInst::Predicate predicate;
    if (match(&mask, m_ICmp(predicate, m_Value(word), m_Zero())) && predicate == llvm::ICmpInst::ICMP_SLT &&
        word->getType() == wideType(&mask)) {
      llvm::SmallPtrSet<const Value*, 16> assumed;
      if (isWide(word, assumed)) return word;
    }
    llvm::IRBuilder<> b(function_.getContext());
    placeAfter(b, mask);
    return b.CreateSExt(&mask, wideType(&mask));
  }

  // Whether each word is all ones or none, as far as it is made in this function.
  static bool isWide(const Value* word, llvm::SmallPtrSet<const Value*, 16>& assumed) {
    if (!assumed.insert(word).second) return true;
    if (assumed.size() > kMostLooked) return false;
    if (const auto* constant = dyn_cast<Constant>(word)) return isWideConstant(*constant);
    const auto* const i = dyn_cast<Instruction>(word);
    if (!i) return false;
    if (isa<llvm::SExtInst>(i)) return i->getOperand(0)->getType()->getScalarType()->isIntegerTy(1);
    if (spreadsSigns(*i)) return true;
    if (const auto* select = dyn_cast<llvm::SelectInst>(i))
      return isWide(select->getTrueValue(), assumed) && isWide(select->getFalseValue(), assumed);
    if (!isa<PHINode, llvm::FreezeInst>(i) && !i->isBitwiseLogicOp()) return false;
    return llvm::all_of(i->operands(), [&](const llvm::Use& use) { return isWide(use.get(), assumed); });
  }

  static bool isWideConstant(const Constant& constant) {
    const auto* const type = dyn_cast<FixedVectorType>(constant.getType());
    for (unsigned n = 0; type && n < type->getNumElements(); ++n) {
      const Constant* const lane = constant.getAggregateElement(n);
      if (!lane || !(lane->isNullValue() || lane->isAllOnesValue() || isa<llvm::UndefValue>(lane))) return false;
    }
    return type;
  }

  Value* twin(Instruction& i) {
    llvm::IRBuilder<> b(&i);
    if (auto* phi = dyn_cast<PHINode>(&i)) {
      phis_.push_back(phi);
      return b.CreatePHI(wideType(phi), phi->getNumIncomingValues());
    }
    if (auto* shuffle = dyn_cast<llvm::ShuffleVectorInst>(&i))
      return b.CreateShuffleVector(wide(i.getOperand(0)), wide(i.getOperand(1)), shuffle->getShuffleMask());
    if (isa<llvm::InsertElementInst>(i))
      return b.CreateInsertElement(wide(i.getOperand(0)), b.CreateSExt(i.getOperand(1), b.getInt32Ty()),
                                   i.getOperand(2));
    if (auto* select = dyn_cast<llvm::SelectInst>(&i))
      return b.CreateSelect(select->getCondition(), wide(select->getTrueValue()), wide(select->getFalseValue()));
    if (isa<llvm::FreezeInst>(i)) return b.CreateFreeze(wide(i.getOperand(0)));
    if (Value* const chosen = chosenByBit(i, b)) return chosen;
    return b.CreateBinOp(llvm::cast<llvm::BinaryOperator>(i).getOpcode(), wide(i.getOperand(0)), wide(i.getOperand(1)));
  }

  // A mask joined with a bit that was just made: to branch is cheaper than to carry the bit to all lanes.
  Value* chosenByBit(Instruction& i, llvm::IRBuilder<>& b) {
    using namespace llvm::PatternMatch;
    const bool isAnd = i.getOpcode() == Instruction::And;
    if (!isAnd && i.getOpcode() != Instruction::Or) return nullptr;
    for (unsigned n = 0; n < 2; ++n) {
      Value* bit = nullptr;
      if (!match(i.getOperand(n), m_Shuffle(m_InsertElt(m_Value(), m_Value(bit), m_Zero()), m_Value(), m_ZeroMask())))
        continue;
      const auto* const made = dyn_cast<Instruction>(bit);
      if (!made || made->getParent() != i.getParent()) continue;
      Value* const other = wide(i.getOperand(1 - n));
      return isAnd ? b.CreateSelect(bit, other, Constant::getNullValue(other->getType()))
                   : b.CreateSelect(bit, Constant::getAllOnesValue(other->getType()), other);
    }
    return nullptr;
  }

  void fillPhis() {
    for (size_t n = 0; n < phis_.size(); ++n) {
      PHINode& old = *phis_[n];
      auto& made = *llvm::cast<PHINode>(static_cast<Value*>(wide_[&old]));
      for (unsigned way = 0; way < old.getNumIncomingValues(); ++way)
        made.addIncoming(wide(old.getIncomingValue(way)), old.getIncomingBlock(way));
    }
  }

  static void placeAfter(llvm::IRBuilder<>& b, Value& v) {
    auto& i = llvm::cast<Instruction>(v);
    b.SetInsertPoint(i.getParent(), *i.getInsertionPointAfterDef());
  }

  // --- Uses

  // Comparisons keep their uses in their own block, where LLVM sees both.
  void redirectUses(Instruction& mask) {
    const bool old = combines(mask);
    for (llvm::Use& use : llvm::make_early_inc_range(mask.uses())) {
      auto* const user = llvm::cast<Instruction>(use.getUser());
      if (combines(*user)) continue;  // has a twin
      if (isa<llvm::SExtInst>(user)) {
        if (Value* const words = wide(&mask); words != user) extend(*user, words);
      } else if (old || user->getParent() != mask.getParent()) {
        use.set(bitsFor(mask, *user));
      }
    }
    if (old) old_.push_back(&mask);
  }

  void extend(Instruction& user, Value* words) {
    llvm::IRBuilder<> b(&user);
    user.replaceAllUsesWith(b.CreateSExtOrTrunc(words, user.getType()));
    old_.push_back(&user);
  }

  // The bits of a mask in the block that uses them, made there once.
  Value* bitsFor(Instruction& mask, Instruction& user) {
    Instruction*& bits = bits_[{&mask, user.getParent()}];
    if (bits && bits->comesBefore(&user)) return bits;
    Value* const words = wide(&mask);
    llvm::IRBuilder<> b(&user);
    Value* const made = b.CreateICmpSLT(words, Constant::getNullValue(words->getType()));
    bits = dyn_cast<Instruction>(made);  // a constant's are constant
    return made;
  }

  void eraseOld() {
    for (Instruction* i : old_) i->replaceAllUsesWith(llvm::PoisonValue::get(i->getType()));
    for (Instruction* i : old_) i->eraseFromParent();
  }

  static constexpr size_t kMostLooked = 1024;

  llvm::Function& function_;
  std::vector<Instruction*> masks_, old_;
  std::vector<PHINode*> phis_;
  llvm::DenseMap<Value*, llvm::WeakTrackingVH> wide_;  // follow what other masks replace
  llvm::DenseMap<std::pair<Instruction*, BasicBlock*>, Instruction*> bits_;
};

}  // namespace

void widenMasks(llvm::Function& function) { Widener(function).run(); }

}  // namespace vg::ptx::gen
