#include "ptx/llvm/warps/round_loops.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/SetVector.h>
#include <llvm/IR/CFG.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/Transforms/Utils/Cloning.h>
#include <llvm/Transforms/Utils/ValueMapper.h>

#include <vector>

namespace vg::ptx::gen {
namespace {

using BB = llvm::BasicBlock;

// Where warps begin or go on in a round.
struct Point {
  llvm::ConstantInt* number;  // null: the start
  BB* block;
};

// Stretches that share blocks, and the blocks.
struct Group {
  std::vector<Point> points;
  WarpBlocks blocks;
};

std::vector<Group> groupsOf(const SuspendFrame& frame) {
  std::vector<Group> all;
  const auto add = [&](Point point) {
    Group group{{point}, blocksFrom(frame, point.block)};
    for (size_t n = all.size(); n-- > 0;) {
      if (llvm::none_of(group.blocks, [&](BB* block) { return all[n].blocks.contains(block); })) continue;
      group.points.insert(group.points.begin(), all[n].points.begin(), all[n].points.end());
      group.blocks.insert(all[n].blocks.begin(), all[n].blocks.end());
      all.erase(all.begin() + static_cast<ptrdiff_t>(n));
    }
    all.push_back(std::move(group));
  };
  add({nullptr, frame.dispatch->getDefaultDest()});
  for (const auto& way : frame.dispatch->cases()) add({way.getCaseValue(), way.getCaseSuccessor()});
  return all;
}

// Copies the loop for a group and moves the group's blocks into the copy, whose first block is returned.
BB* copyLoop(const SuspendFrame& frame, const Group& group) {
  llvm::ValueToValueMapTy copies;
  std::vector<BB*> blocks;
  for (BB* block : frame.loop) {
    blocks.push_back(llvm::CloneBasicBlock(block, copies, ".round", block->getParent()));
    copies[block] = blocks.back();
  }
  BB* const header = blocks.front();
  blocks.insert(blocks.end(), group.blocks.begin(), group.blocks.end());
  for (BB* block : blocks)
    for (llvm::Instruction& i : *block)
      llvm::RemapInstruction(&i, copies, llvm::RF_NoModuleLevelChanges | llvm::RF_IgnoreMissingLocals);
  return header;
}

// A dispatch among the points of one group.
void narrowDispatch(BB* header, llvm::Value* round, const Group& group) {
  llvm::Instruction* const old = header->getTerminator();
  llvm::IRBuilder<> b(old);
  if (group.points.size() == 1) {
    b.CreateBr(group.points[0].block);
  } else {
    auto* const choice = b.CreateSwitch(round, group.points[0].block);
    for (size_t n = 1; n < group.points.size(); ++n) choice->addCase(group.points[n].number, group.points[n].block);
  }
  old->eraseFromParent();
}

// Phis have an entry for each way in, and the dispatch has one for each point.
void countWays(BB* header, BB* from, size_t points) {
  for (llvm::PHINode& phi : header->phis()) {
    llvm::Value* const first = phi.getIncomingValueForBlock(from);
    for (size_t n = 1; n < points; ++n) phi.addIncoming(first, from);
  }
}

llvm::Instruction* wayInto(const SuspendFrame& frame, BB* header) {
  for (BB* from : llvm::predecessors(header))
    if (!llvm::is_contained(frame.loop, from)) return from->getTerminator();
  return nullptr;
}

}  // namespace

void separateRounds(const SuspendFrame& frame) {
  const std::vector<Group> groups = groupsOf(frame);
  if (groups.size() < 2) return;
  BB* const header = frame.dispatch->getParent();
  llvm::Value* const round = frame.dispatch->getCondition();
  llvm::Instruction* const entry = wayInto(frame, header);
  std::vector<BB*> headers{header};
  for (size_t n = 1; n < groups.size(); ++n) headers.push_back(copyLoop(frame, groups[n]));
  llvm::IRBuilder<> b(entry);
  llvm::SwitchInst* const choice = b.CreateSwitch(round, header);
  for (size_t n = 0; n < groups.size(); ++n) {
    narrowDispatch(headers[n], round, groups[n]);
    countWays(headers[n], entry->getParent(), groups[n].points.size());
    for (const Point& point : groups[n].points)
      if (point.number) {
        choice->addCase(point.number, headers[n]);
      } else {
        choice->setDefaultDest(headers[n]);
      }
  }
  entry->eraseFromParent();
}

}  // namespace vg::ptx::gen
