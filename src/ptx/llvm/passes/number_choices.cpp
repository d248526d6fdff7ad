#include "ptx/llvm/passes/number_choices.h"

#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/IntrinsicInst.h>

#include <vector>

namespace vg::ptx::gen {
namespace {

// Arithmetic makes no signalling NaNs, nor does a conversion.
bool isQuiet(const llvm::Value* value) {
  if (llvm::isa<llvm::Constant>(value)) return true;
  if (llvm::isa<llvm::BinaryOperator, llvm::FPExtInst, llvm::FPTruncInst, llvm::SIToFPInst, llvm::UIToFPInst>(value))
    return true;
  const auto* const call = llvm::dyn_cast<llvm::IntrinsicInst>(value);
  return call && (call->getIntrinsicID() == llvm::Intrinsic::fma || call->getIntrinsicID() == llvm::Intrinsic::sqrt);
}

bool mayLoseASignal(llvm::SelectInst& choice) {
  if (!choice.getType()->isFPOrFPVectorTy()) return false;
  llvm::Value *one = nullptr, *other = nullptr;
  const llvm::SelectPatternResult found = llvm::matchSelectPattern(&choice, one, other);
  const bool ofNumbers = found.Flavor == llvm::SPF_FMINNUM || found.Flavor == llvm::SPF_FMAXNUM;
  return ofNumbers && !(isQuiet(one) && isQuiet(other));
}

}  // namespace

// LLVM looks at comparisons, not through what turns their results round.
void keepChoices(llvm::Function& function) {
  std::vector<llvm::SelectInst*> choices;
  for (llvm::BasicBlock& block : function)
    for (llvm::Instruction& i : block)
      if (auto* const choice = llvm::dyn_cast<llvm::SelectInst>(&i); choice && mayLoseASignal(*choice))
        choices.push_back(choice);
  for (llvm::SelectInst* const choice : choices) {
    llvm::IRBuilder<> b(choice);
    choice->setCondition(b.CreateNot(choice->getCondition()));
    choice->swapValues();
  }
}

}  // namespace vg::ptx::gen
