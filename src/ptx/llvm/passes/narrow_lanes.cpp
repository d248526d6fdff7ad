#include "ptx/llvm/passes/narrow_lanes.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/PostOrderIterator.h>
#include <llvm/Analysis/VectorUtils.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>

#include <bit>
#include <vector>

namespace vg::ptx::gen {
namespace {

using llvm::dyn_cast;
using llvm::FixedVectorType;
using llvm::Instruction;
using llvm::isa;
using llvm::Value;
using Lanes = uint64_t;

constexpr unsigned kMostLanes = 64;
constexpr unsigned kLeastBits = 128;  // of a vector: shorter ones cost the same

unsigned lanesOf(const Value* v) {
  const auto* type = dyn_cast<FixedVectorType>(v->getType());
  return type && type->getNumElements() <= kMostLanes ? type->getNumElements() : 0;
}

Lanes allOf(unsigned lanes) { return ~Lanes{0} >> (kMostLanes - lanes); }

// Whether lane n of the result depends on lane n of the operands alone, and on nothing else.
bool isLanewise(const Instruction& i) {
  if (!lanesOf(&i)) return false;
  if (isa<llvm::BinaryOperator, llvm::UnaryOperator, llvm::CmpInst, llvm::SelectInst, llvm::PHINode, llvm::FreezeInst>(
          i))
    return true;
  if (isa<llvm::CastInst>(i)) return lanesOf(i.getOperand(0)) == lanesOf(&i);
  const auto* call = dyn_cast<llvm::IntrinsicInst>(&i);
  return call && llvm::isTriviallyVectorizable(call->getIntrinsicID());
}

class Narrower {
 public:
  explicit Narrower(llvm::Function& function) : function_(function) {}

  void run() {
    collectDemand();
    if (!worthwhile()) return;
    std::vector<Instruction*> all;
    for (llvm::BasicBlock* block : llvm::ReversePostOrderTraversal<llvm::Function*>(&function_))
      for (Instruction& i : *block) all.push_back(&i);
    for (Instruction* i : all) rewrite(*i);
    for (auto [from, to] : phis_) fill(*from, *to);
    for (auto [old, wide] : replacements_) old->replaceAllUsesWith(wide);
  }

 private:
  // --- Which lanes are read

  void collectDemand() {
    for (llvm::BasicBlock& block : function_)
      for (Instruction& i : block)
        if (!isLanewise(i) && !isa<llvm::ShuffleVectorInst, llvm::InsertElementInst>(i)) askOperands(i, 0);
    while (!work_.empty()) {
      Instruction* const i = work_.back();
      work_.pop_back();
      askOperands(*i, demand_[i]);
    }
  }

  void ask(Value* v, Lanes lanes) {
    auto* const i = dyn_cast<Instruction>(v);
    if (!i || !lanesOf(i)) return;
    Lanes& known = demand_[i];
    if ((known | lanes) == known) return;
    known |= lanes;
    work_.push_back(i);
  }

  void askOperands(Instruction& i, Lanes lanes) {
    if (auto* shuffle = dyn_cast<llvm::ShuffleVectorInst>(&i); shuffle && lanesOf(&i))
      return askShuffled(*shuffle, lanes);
    if (auto* extract = dyn_cast<llvm::ExtractElementInst>(&i)) {
      if (auto* index = dyn_cast<llvm::ConstantInt>(extract->getIndexOperand()); index && index->getZExtValue() < 64)
        return ask(extract->getVectorOperand(), Lanes{1} << index->getZExtValue());
    }
    if (auto* insert = dyn_cast<llvm::InsertElementInst>(&i)) {
      auto* index = dyn_cast<llvm::ConstantInt>(insert->getOperand(2));
      const bool known = index && index->getZExtValue() < 64;
      return ask(insert->getOperand(0), known ? lanes & ~(Lanes{1} << index->getZExtValue()) : lanes);
    }
    const bool lanewise = isLanewise(i);
    for (Value* operand : i.operands())
      if (const unsigned count = lanesOf(operand)) ask(operand, lanewise ? lanes : allOf(count));
  }

  void askShuffled(llvm::ShuffleVectorInst& shuffle, Lanes lanes) {
    const unsigned width = lanesOf(shuffle.getOperand(0));
    Lanes asked[2] = {0, 0};
    for (unsigned n = 0; n < lanesOf(&shuffle); ++n) {
      const int from = shuffle.getMaskValue(n);
      if (!(lanes >> n & 1) || from < 0) continue;
      if (!width) continue;  // wider than we look at
      asked[static_cast<unsigned>(from) / width] |= Lanes{1} << (static_cast<unsigned>(from) % width);
    }
    for (unsigned n = 0; n < 2; ++n) ask(shuffle.getOperand(n), asked[n]);
  }

  Lanes demandOf(const Instruction& i) const {
    const auto found = demand_.find(&i);
    return found == demand_.end() ? 0 : found->second;
  }

  // How many lanes an instruction is to compute.
  unsigned neededWidth(const Instruction& i) const {
    // Predicates are as wide as what they compare.
    const llvm::Type* const type = isa<llvm::CmpInst>(i) ? i.getOperand(0)->getType() : i.getType();
    const unsigned bits = std::max(8u, type->getScalarSizeInBits());
    const unsigned highest = static_cast<unsigned>(std::bit_width(demandOf(i)));
    return std::max(std::bit_ceil(std::max(highest, 1u)), kLeastBits / bits);
  }

  bool isNarrowable(const Instruction& i) const {
    return (isLanewise(i) || isa<llvm::ShuffleVectorInst>(i)) && lanesOf(&i) && neededWidth(i) < lanesOf(&i);
  }

  bool worthwhile() const {
    for (llvm::BasicBlock& block : function_)
      for (Instruction& i : block)
        if (isLanewise(i) && isNarrowable(i)) return true;
    return false;
  }

  // --- Narrow copies

  void rewrite(Instruction& i) {
    if (!isNarrowable(i)) return;
    if (!demandOf(i)) return replace(i, llvm::PoisonValue::get(i.getType()));
    const unsigned width = neededWidth(i);
    llvm::IRBuilder<> b(&i);
    Value* narrow;
    if (auto* shuffle = dyn_cast<llvm::ShuffleVectorInst>(&i)) {
      llvm::SmallVector<int, 16> mask(shuffle->getShuffleMask().take_front(width));
      for (unsigned n = 0; n < width; ++n)
        if (!(demandOf(i) >> n & 1)) mask[n] = llvm::PoisonMaskElem;
      narrow = b.CreateShuffleVector(i.getOperand(0), i.getOperand(1), mask);
    } else {
      narrow = copy(i, width, b);
    }
    narrow_[&i] = narrow;
    llvm::SmallVector<int, 16> widen;
    for (unsigned n = 0; n < lanesOf(&i); ++n) widen.push_back(n < width ? static_cast<int>(n) : llvm::PoisonMaskElem);
    if (isa<llvm::PHINode>(i)) b.SetInsertPoint(i.getParent(), i.getParent()->getFirstInsertionPt());
    replace(i, b.CreateShuffleVector(narrow, widen));
  }

  Value* copy(Instruction& i, unsigned width, llvm::IRBuilder<>& b) {
    llvm::Type* const type = FixedVectorType::get(i.getType()->getScalarType(), width);
    if (auto* phi = dyn_cast<llvm::PHINode>(&i)) {
      auto* const out = b.CreatePHI(type, phi->getNumIncomingValues());
      phis_.push_back({phi, out});
      return out;
    }
    llvm::SmallVector<Value*, 4> operands;
    for (Value* operand : i.operands()) operands.push_back(lanesOf(operand) ? low(operand, width, b) : operand);
    Instruction* out;
    if (auto* castInst = dyn_cast<llvm::CastInst>(&i)) {
      out = llvm::CastInst::Create(castInst->getOpcode(), operands[0], type);
    } else if (auto* call = dyn_cast<llvm::IntrinsicInst>(&i)) {
      operands.pop_back();  // the callee
      return callNarrow(*call, operands, type, b);
    } else {
      out = i.clone();
      out->mutateType(isa<llvm::CmpInst>(i) ? FixedVectorType::get(b.getInt1Ty(), width) : type);
      for (unsigned n = 0; n < operands.size(); ++n) out->setOperand(n, operands[n]);
    }
    return b.Insert(out);
  }

  // An elementwise intrinsic is overloaded on its result's type and perhaps on operands'.
  static Value* callNarrow(llvm::IntrinsicInst& call, llvm::ArrayRef<Value*> operands, llvm::Type* type,
                           llvm::IRBuilder<>& b) {
    llvm::SmallVector<llvm::Type*, 4> overloads;
    const llvm::Intrinsic::ID id = call.getIntrinsicID();
    if (llvm::isVectorIntrinsicWithOverloadTypeAtArg(id, -1)) overloads.push_back(type);
    for (unsigned n = 0; n < operands.size(); ++n)
      if (llvm::isVectorIntrinsicWithOverloadTypeAtArg(id, static_cast<int>(n)))
        overloads.push_back(operands[n]->getType());
    return b.CreateIntrinsic(id, overloads, operands);
  }

  // The first lanes of a value, for use at the builder's place.
  Value* low(Value* v, unsigned width, llvm::IRBuilder<>& b) {
    if (const auto found = narrow_.find(v); found != narrow_.end()) v = found->second;
    if (lanesOf(v) == width) return v;
    llvm::SmallVector<int, 16> mask;
    for (unsigned n = 0; n < width; ++n) mask.push_back(static_cast<int>(n));
    return b.CreateShuffleVector(v, mask);
  }

  void fill(llvm::PHINode& from, llvm::PHINode& to) {
    const unsigned width = lanesOf(&to);
    for (unsigned n = 0; n < from.getNumIncomingValues(); ++n) {
      llvm::IRBuilder<> b(from.getIncomingBlock(n)->getTerminator());
      to.addIncoming(low(from.getIncomingValue(n), width, b), from.getIncomingBlock(n));
    }
  }

  void replace(Instruction& old, Value* wide) { replacements_.push_back({&old, wide}); }

  llvm::Function& function_;
  llvm::DenseMap<const Instruction*, Lanes> demand_;
  std::vector<Instruction*> work_;
  llvm::DenseMap<Value*, Value*> narrow_;
  std::vector<std::pair<llvm::PHINode*, llvm::PHINode*>> phis_;
  std::vector<std::pair<Instruction*, Value*>> replacements_;
};

}  // namespace

void narrowLanes(llvm::Function& function) { Narrower(function).run(); }

}  // namespace vg::ptx::gen
