#include "ptx/llvm/passes/row_conditions.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/PatternMatch.h>

#include <vector>

namespace vg::ptx::gen {
namespace {

using llvm::Instruction;
using llvm::Value;
namespace match = llvm::PatternMatch;

constexpr int kDeep = 32;  // conditions of a chain

// Lane 0 of masks as scalars, each made once, beside the mask that it is taken from.
class FirstLanes {
 public:
  // Null where lane 0 is not made of scalars.
  Value* of(Value* mask, int depth = 0) {
    Value* scalar = nullptr;
    if (match::match(mask, match::m_InsertElt(match::m_Undef(), match::m_Value(scalar), match::m_ZeroInt())))
      return scalar;
    auto* const operation = llvm::dyn_cast<llvm::BinaryOperator>(mask);
    if (!operation || !operation->isBitwiseLogicOp() || depth == kDeep) return nullptr;
    if (const auto known = made_.find(operation); known != made_.end()) return known->second;
    Value* const left = of(operation->getOperand(0), depth + 1);
    Value* const right = left ? of(operation->getOperand(1), depth + 1) : nullptr;
    Value* const result =
        right ? llvm::IRBuilder<>(operation).CreateBinOp(operation->getOpcode(), left, right) : nullptr;
    made_[operation] = result;
    return result;
  }

 private:
  llvm::DenseMap<Instruction*, Value*> made_;
};

bool isSpread(const Instruction& instruction) {
  const auto* const shuffle = llvm::dyn_cast<llvm::ShuffleVectorInst>(&instruction);
  return shuffle && shuffle->isZeroEltSplat() && shuffle->getMaskValue(0) == 0 &&
         shuffle->getType()->getScalarType()->isIntegerTy(1) && llvm::isa<llvm::BinaryOperator>(shuffle->getOperand(0));
}

}  // namespace

void combineRowConditions(llvm::Function& function) {
  std::vector<llvm::ShuffleVectorInst*> spread;
  for (Instruction& instruction : llvm::instructions(function))
    if (isSpread(instruction)) spread.push_back(llvm::cast<llvm::ShuffleVectorInst>(&instruction));
  FirstLanes lanes;
  for (llvm::ShuffleVectorInst* shuffle : spread) {
    Value* const condition = lanes.of(shuffle->getOperand(0));
    if (!condition) continue;
    Value* const mask = llvm::IRBuilder<>(shuffle).CreateVectorSplat(shuffle->getType()->getElementCount(), condition);
    shuffle->replaceAllUsesWith(mask);
    shuffle->eraseFromParent();
  }
}

}  // namespace vg::ptx::gen
