#include "ptx/llvm/passes/single_loads.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/IntrinsicInst.h>

#include <vector>

namespace vg::ptx::gen {
namespace {

constexpr const char* kMark = "vg.shared";
constexpr unsigned kMostWords = 8;

// The lanes of a constant mask, or none when it is not constant, empty or of many lanes.
std::vector<unsigned> fewLanes(const llvm::Value* mask) {
  std::vector<unsigned> lanes;
  const auto* constant = llvm::dyn_cast<llvm::Constant>(mask);
  const unsigned count = llvm::cast<llvm::FixedVectorType>(mask->getType())->getNumElements();
  for (unsigned n = 0; constant && n < count; ++n) {
    const llvm::Constant* const bit = constant->getAggregateElement(n);
    if (!bit || !llvm::isa<llvm::ConstantInt>(bit)) return {};
    if (bit->isOneValue()) lanes.push_back(n);
  }
  return lanes.size() <= kMostWords ? lanes : std::vector<unsigned>{};
}

void split(llvm::CallInst& load, const std::vector<unsigned>& lanes) {
  llvm::IRBuilder<> b(&load);
  llvm::Type* const element = load.getType()->getScalarType();
  const llvm::Align align = llvm::cast<llvm::ConstantInt>(load.getArgOperand(1))->getMaybeAlignValue().valueOrOne();
  llvm::Value* out = load.getArgOperand(3);
  for (unsigned lane : lanes) {
    llvm::Value* const at = b.CreateConstGEP1_32(element, load.getArgOperand(0), lane);
    // Volatile, or LLVM puts the words together again.
    out = b.CreateInsertElement(out, b.CreateAlignedLoad(element, at, align, /*isVolatile=*/true), lane);
  }
  load.replaceAllUsesWith(out);
  load.eraseFromParent();
}

}  // namespace

void markShared(llvm::CallInst& load) { load.setMetadata(kMark, llvm::MDNode::get(load.getContext(), {})); }

void loadSingly(llvm::Function& function) {
  std::vector<llvm::CallInst*> loads;
  for (llvm::BasicBlock& block : function)
    for (llvm::Instruction& i : block)
      if (auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&i))
        if (call->getIntrinsicID() == llvm::Intrinsic::masked_load && call->getMetadata(kMark)) loads.push_back(call);
  for (llvm::CallInst* load : loads)
    if (const std::vector<unsigned> lanes = fewLanes(load->getArgOperand(2)); !lanes.empty()) split(*load, lanes);
}

}  // namespace vg::ptx::gen
