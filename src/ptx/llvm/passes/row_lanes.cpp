#include "ptx/llvm/passes/row_lanes.h"

#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/CFG.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/Transforms/Utils/Cloning.h>
#include <llvm/Transforms/Utils/SSAUpdater.h>
#include <llvm/Transforms/Utils/ValueMapper.h>

#include <optional>
#include <vector>

namespace vg::ptx::gen {
namespace {

using llvm::BasicBlock;
using llvm::BranchInst;
using llvm::Instruction;
using llvm::Value;

constexpr const char* kMark = "vg.row";
constexpr size_t kMostCopied = 400;  // instructions of one chain
constexpr int kDeep = 8;             // of a test's making

// A test with its two ways and the block where they meet.
struct Diamond {
  BasicBlock* test = nullptr;
  BasicBlock* join = nullptr;
  BasicBlock *rowEnd = nullptr, *eachEnd = nullptr;  // where the join is entered from

  BranchInst& branch() const { return *llvm::cast<BranchInst>(test->getTerminator()); }
  Value* condition() const {
    Value* v = branch().getCondition();
    while (auto* freeze = llvm::dyn_cast<llvm::FreezeInst>(v)) v = freeze->getOperand(0);
    return v;
  }
};

std::optional<Diamond> diamondAt(BasicBlock& block, const llvm::DominatorTree& dominators) {
  auto* const branch = llvm::dyn_cast<BranchInst>(block.getTerminator());
  if (!branch || !branch->isConditional() || !branch->getMetadata(kMark)) return {};
  const llvm::BasicBlockEdge row(&block, branch->getSuccessor(0)), each(&block, branch->getSuccessor(1));
  for (const llvm::DomTreeNode* child : dominators.getNode(&block)->children()) {
    BasicBlock* const join = child->getBlock();
    llvm::SmallVector<BasicBlock*, 4> from(llvm::predecessors(join));
    if (from.size() != 2) continue;
    if (!dominators.dominates(row, from[0])) std::swap(from[0], from[1]);
    if (dominators.dominates(row, from[0]) && dominators.dominates(each, from[1]))
      return Diamond{&block, join, from[0], from[1]};
  }
  return {};
}

using Chain = std::vector<Diamond>;

// Diamonds that follow each other, and the tests of all made where the first one is.
class ChainBuilder {
 public:
  ChainBuilder(llvm::Function& function, const llvm::DominatorTree& dominators) : dominators_(dominators) {
    for (BasicBlock& block : function)
      if (dominators.isReachableFromEntry(&block))
        if (const auto diamond = diamondAt(block, dominators)) diamonds_[&block] = *diamond;
  }

  std::vector<Chain> run(llvm::Function& function) {
    llvm::DenseMap<BasicBlock*, bool> follows;
    for (const auto& [test, diamond] : diamonds_) follows[diamond.join] = true;
    std::vector<Chain> chains;
    for (BasicBlock& block : function) {
      if (!diamonds_.count(&block) || follows.lookup(&block)) continue;
      for (BasicBlock* at = &block; diamonds_.count(at);) {
        Chain chain{diamonds_[at]};
        size_t copied = 0;
        for (at = chain.back().join; diamonds_.count(at); at = chain.back().join) {
          copied += at->size();
          if (copied > kMostCopied || !hoist(diamonds_[at].condition(), chain[0].branch())) break;
          chain.push_back(diamonds_[at]);
        }
        if (chain.size() > 1) chains.push_back(std::move(chain));
      }
    }
    return chains;
  }

 private:
  // Moves what a test is made of before the place, if that can be done.
  bool hoist(Value* condition, BranchInst& place) {
    std::vector<Instruction*> moved;
    if (!collect(condition, place, moved, 0)) return false;
    for (Instruction* i : moved) i->moveBefore(&place);
    return true;
  }

  bool collect(Value* value, BranchInst& place, std::vector<Instruction*>& out, int depth) {
    auto* const i = llvm::dyn_cast<Instruction>(value);
    if (!i || dominators_.dominates(i, &place) || llvm::is_contained(out, i)) return true;
    if (depth > kDeep || llvm::isa<llvm::PHINode>(i) || i->mayReadOrWriteMemory() ||
        !llvm::isSafeToSpeculativelyExecute(i))
      return false;
    for (unsigned n = 0; n < i->getNumOperands(); ++n)
      if (!collect(i->getOperand(n), place, out, depth + 1)) return false;
    out.push_back(i);
    return true;
  }

  const llvm::DominatorTree& dominators_;
  llvm::DenseMap<BasicBlock*, Diamond> diamonds_;
};

class LaneSplitter {
 public:
  explicit LaneSplitter(const Chain& chain) : chain_(chain) {}

  void run() {
    testTogether();
    for (size_t n = 1; n < chain_.size(); ++n) part(chain_[n - 1], chain_[n]);
    for (const auto& [value, twin] : twins_) join(*value, *twin);
  }

 private:
  void testTogether() {
    BranchInst& first = chain_[0].branch();
    llvm::IRBuilder<> b(&first);
    std::vector<Value*> tests{chain_[0].condition()};
    Value* all = tests[0];
    for (const Diamond& diamond : chain_) {
      if (llvm::is_contained(tests, diamond.condition())) continue;
      tests.push_back(diamond.condition());
      all = b.CreateAnd(all, diamond.condition());
    }
    first.setCondition(b.CreateFreeze(all));
  }

  // From the join of one diamond, which is the test of the next: itself for rows, and a twin for lanes.
  void part(const Diamond& before, const Diamond& next) {
    BasicBlock* const block = next.test;
    llvm::ValueToValueMapTy map;
    BasicBlock* const twin = llvm::CloneBasicBlock(block, map, ".lanes", block->getParent());
    for (Instruction& i : *twin)
      llvm::RemapInstruction(&i, map, llvm::RF_NoModuleLevelChanges | llvm::RF_IgnoreMissingLocals);
    BasicBlock* const rows = block->getTerminator()->getSuccessor(0);
    BasicBlock* const lanes = block->getTerminator()->getSuccessor(1);
    before.eachEnd->getTerminator()->replaceSuccessorWith(block, twin);
    lanes->replacePhiUsesWith(block, twin);
    keep(*block, before.rowEnd, rows);
    keep(*twin, before.eachEnd, lanes);
    for (Instruction& i : *block)
      if (auto found = map.find(&i); found != map.end())
        if (auto* const other = llvm::dyn_cast_or_null<Instruction>(found->second)) twins_.emplace_back(&i, other);
  }

  // Leaves one way into a block and one out of it.
  static void keep(BasicBlock& block, BasicBlock* from, BasicBlock* to) {
    for (llvm::PHINode& phi : block.phis())
      for (unsigned n = phi.getNumIncomingValues(); n-- > 0;)
        if (phi.getIncomingBlock(n) != from) phi.removeIncomingValue(n, /*DeletePHIIfEmpty=*/false);
    Instruction* const end = block.getTerminator();
    llvm::IRBuilder<> b(end);
    b.CreateBr(to);
    end->eraseFromParent();
  }

  // Whoever uses the value behind the block where it was made gets it from the lane he comes from.
  static void join(Instruction& value, Instruction& twin) {
    llvm::SmallVector<llvm::Use*, 8> elsewhere;
    for (llvm::Use& use : value.uses()) {
      auto* const user = llvm::cast<Instruction>(use.getUser());
      auto* const phi = llvm::dyn_cast<llvm::PHINode>(user);
      if ((phi ? phi->getIncomingBlock(use) : user->getParent()) != value.getParent()) elsewhere.push_back(&use);
    }
    if (elsewhere.empty()) return;
    llvm::SSAUpdater updater;
    updater.Initialize(value.getType(), value.getName());
    updater.AddAvailableValue(value.getParent(), &value);
    updater.AddAvailableValue(twin.getParent(), &twin);
    for (llvm::Use* use : elsewhere) updater.RewriteUse(*use);
  }

  const Chain& chain_;
  std::vector<std::pair<Instruction*, Instruction*>> twins_;
};

}  // namespace

void markRow(BranchInst& branch) { branch.setMetadata(kMark, llvm::MDNode::get(branch.getContext(), {})); }

void splitRowLanes(llvm::Function& function) {
  const llvm::DominatorTree dominators(function);
  const std::vector<Chain> chains = ChainBuilder(function, dominators).run(function);
  for (const Chain& chain : chains) LaneSplitter(chain).run();
}

}  // namespace vg::ptx::gen
