#include "ptx/llvm/passes/split_tests.h"

#include <llvm/ADT/MapVector.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/PatternMatch.h>

#include <vector>

namespace vg::ptx::gen {
namespace {

using namespace llvm::PatternMatch;
using llvm::BasicBlock;
using llvm::BranchInst;
using llvm::Instruction;
using llvm::Value;

constexpr size_t kMostTests = 8;

// A condition that must hold, or with `negated` must not.
struct Test {
  Value* condition;
  bool negated;
};
using Tests = llvm::SmallVector<Test, 8>;

// Splits one branch. A branch on "this or that" is one on "neither" with its ways exchanged.
class Splitter {
 public:
  explicit Splitter(BranchInst& branch) : branch_(branch), block_(branch.getParent()) {}

  void run() {
    Value* const condition = branch_.getCondition();
    negated_ = isAnyOf(condition);
    collect(condition, negated_);
    if (tests_.size() < 2 || tests_.size() > kMostTests) return;
    Tests apart = mergeEarlier();
    if (apart.size() > 1 || apart.size() < tests_.size()) rebuild(apart);
  }

 private:
  static Value* bare(Value* v) {
    while (auto* freeze = llvm::dyn_cast<llvm::FreezeInst>(v)) v = freeze->getOperand(0);
    return v;
  }

  static bool isAnyOf(Value* v) {
    v = bare(v);
    Value* inner = nullptr;
    if (match(v, m_Not(m_Value(inner)))) return isAllOf(inner);
    return match(v, m_Or(m_Value(), m_Value()));
  }
  static bool isAllOf(Value* v) {
    v = bare(v);
    Value* inner = nullptr;
    if (match(v, m_Not(m_Value(inner)))) return isAnyOf(inner);
    return match(v, m_And(m_Value(), m_Value()));
  }

  // What must hold for `v` to hold (or not, when negated), as far as it is made here and for this alone.
  void collect(Value* v, bool negated) {
    v = bare(v);
    Value *a = nullptr, *b = nullptr;
    if (match(v, m_Not(m_Value(a)))) return collect(a, !negated);
    auto* const i = llvm::dyn_cast<Instruction>(v);
    const bool divides = negated ? match(v, m_Or(m_Value(a), m_Value(b))) : match(v, m_And(m_Value(a), m_Value(b)));
    if (i && divides && i->getParent() == block_) {
      collect(a, negated);
      collect(b, negated);
      return;
    }
    tests_.push_back({v, negated});
  }

  Value* holding(llvm::IRBuilder<>& b, const Test& test) {
    return test.negated ? b.CreateNot(test.condition) : test.condition;
  }

  // Tests of the same earlier block become one there.
  Tests mergeEarlier() {
    llvm::MapVector<BasicBlock*, Tests> earlier;
    Tests out;
    for (const Test& test : tests_) {
      auto* const i = llvm::dyn_cast<Instruction>(test.condition);
      i && i->getParent() != block_ ? earlier[i->getParent()].push_back(test) : out.push_back(test);
    }
    for (auto& [block, tests] : earlier) {
      if (tests.size() > 1) {
        llvm::IRBuilder<> b(block->getTerminator());
        Value* all = holding(b, tests[0]);
        for (const Test& test : llvm::drop_begin(tests)) all = b.CreateAnd(all, holding(b, test));
        tests = {Test{all, false}};
      }
      out.insert(out.begin(), tests[0]);
    }
    return out;
  }

  void rebuild(const Tests& tests) {
    BasicBlock* const whenAll = branch_.getSuccessor(negated_ ? 1 : 0);
    BasicBlock* const otherwise = branch_.getSuccessor(negated_ ? 0 : 1);
    BasicBlock* at = block_;
    llvm::IRBuilder<> b(&branch_);
    for (size_t n = 0; n < tests.size(); ++n) {
      const bool last = n + 1 == tests.size();
      BasicBlock* const next =
          last ? whenAll : BasicBlock::Create(b.getContext(), "test", block_->getParent(), at->getNextNode());
      BranchInst* const made = tests[n].negated ? b.CreateCondBr(tests[n].condition, otherwise, next)
                                                : b.CreateCondBr(tests[n].condition, next, otherwise);
      copyWeights(*made, tests[n].negated);
      if (at != block_)
        for (llvm::PHINode& phi : otherwise->phis()) phi.addIncoming(phi.getIncomingValueForBlock(block_), at);
      if (last) {
        whenAll->replacePhiUsesWith(block_, at);
      } else {
        at = next;
        b.SetInsertPoint(at);
      }
    }
    branch_.eraseFromParent();
  }

  void copyWeights(BranchInst& to, bool exchanged) const {
    if (llvm::MDNode* const weights = branch_.getMetadata(llvm::LLVMContext::MD_prof)) {
      to.setMetadata(llvm::LLVMContext::MD_prof, weights);
      if (exchanged != negated_) to.swapProfMetadata();
    }
  }

  BranchInst& branch_;
  BasicBlock* const block_;
  bool negated_ = false;
  Tests tests_;
};

}  // namespace

void splitTests(llvm::Function& function) {
  std::vector<BranchInst*> branches;
  for (BasicBlock& block : function)
    if (auto* branch = llvm::dyn_cast<BranchInst>(block.getTerminator()))
      if (branch->isConditional() && branch->getSuccessor(0) != branch->getSuccessor(1)) branches.push_back(branch);
  for (BranchInst* branch : branches) Splitter(*branch).run();
}

}  // namespace vg::ptx::gen
