#include "ptx/llvm/flow/convergent_code.h"

#include "ptx/llvm/ir/control_flow.h"

namespace vg::ptx::gen {

using llvm::ArrayRef;

// Where a warp goes by one way of a branch on which all its lanes agree.
llvm::BasicBlock* ConvergentCode::branchBlock(Version v, BlockId from, bool taken) {
  const Block& block = program_.blocks[from];
  const BlockId to = block.successors[taken ? 0 : 1];
  return to == endBlock(program_) ? frame_.behindWarp(block, from, taken) : edges_.goBlock(v, from, to);
}

void ConvergentCode::emitConvergentEnd(const CopyKey& key) {
  const Block& block = program_.blocks[key.block];
  switch (block.terminator) {
    case Block::Exit:
      b_.CreateBr(frame_.warpEnd());
      return;
    case Block::Jump:
      edges_.go(key.version, key.block, block.successors[0]);
      return;
    case Block::Branch:
      if (block.divergent) return emitConvergentBranch(key);
      {
        Value* condition = values_.scalarOf(block.condition);
        if (block.conditionNegated) condition = b_.CreateNot(condition);
        BB* const yes = branchBlock(key.version, key.block, true);
        BB* const no = branchBlock(key.version, key.block, false);
        b_.CreateCondBr(b_.CreateFreeze(condition), yes, no);
      }
      return;
    case Block::Switch: {
      if (block.divergent) return emitConvergentBranch(key);
      Value* const index = b_.CreateFreeze(b_.asInteger(values_.scalarOf(block.condition), 32));
      BB* const last = edges_.goBlock(key.version, key.block, block.successors.back());
      auto* choice = b_.CreateSwitch(index, last, static_cast<unsigned>(block.successors.size()));
      for (size_t n = 0; n + 1 < block.successors.size(); ++n)
        choice->addCase(b_.getInt32(static_cast<uint32_t>(n)),
                        edges_.goBlock(key.version, key.block, block.successors[n]));
      return;
    }
  }
}

void ConvergentCode::emitConvergentBranch(const CopyKey& key) {
  if (plan_.isLaneExit(key.block)) return emitLaneExit(key);
  const Block& block = program_.blocks[key.block];
  const BlockId exit = program_.immediatePostDominator[key.block];
  uint32_t component = kNone;
  for (BlockId s : block.successors)
    if (s != exit && s != endBlock(program_)) component = program_.blocks[s].component;
  if (key.version == Full && component != kNone && plan_.duplicates(component, Full) &&
      block.terminator == Block::Branch) {
    BB* const yes = branchBlock(Full, key.block, true);
    BB* const no = branchBlock(Full, key.block, false);
    auto [all, none] = predicates_.quickTests(block.condition, block.conditionNegated);
    Mask taken;
    if (all) {
      BB* const second = b_.newBlock("none");
      BB* const third = b_.newBlock("mixed");
      b_.CreateCondBr(b_.CreateFreeze(all), yes, second);
      b_.SetInsertPoint(second);
      b_.CreateCondBr(b_.CreateFreeze(none), no, third);
      b_.SetInsertPoint(third);
      b_.caching = false;
      taken = predicates_.mixedMask(block.condition, block.conditionNegated);
    } else {
      const PartedMask parted = predicates_.partedMaskOf(block.condition, block.conditionNegated);
      taken = parted.lanes;  // where they differ, the bit does not decide
      BB* const second = b_.newBlock("none");
      BB* const third = b_.newBlock("mixed");
      b_.CreateCondBr(masks_.withBit(parted, masks_.allLanes(taken)), yes, second);
      b_.SetInsertPoint(second);
      b_.CreateCondBr(masks_.withBit(parted, masks_.anyLane(taken)), third, no);
      b_.SetInsertPoint(third);
    }
    Mask edges[2] = {taken, masks_.without(Mask{}, taken)};
    emitMixed(key, masks_.here, edges);
    return;
  }
  llvm::SmallVector<Mask, 4> edges;
  edges_.edgeMasks(key, edges);
  emitMixed(key, masks_.here, edges);
}

// Where linear order goes on behind a block whose lanes part; kNone: none of its ways stays in the component. Lanes
// that begin a loop anew wait for those that are not through with it, whose values the loop would overwrite.
BlockId ConvergentCode::firstBehind(BlockId from, uint32_t component) const {
  BlockId onward = kNone, again = kNone;
  for (BlockId s : program_.blocks[from].successors) {
    if (s == endBlock(program_) || component == kNone || program_.blocks[s].component != component) continue;
    if (s > from)
      onward = std::min(onward, s);
    else
      again = again == kNone ? s : std::max(again, s);
  }
  if (again == kNone) return onward;
  if (onward == kNone) return again;
  for (LoopId l = program_.blocks[from].loop; l != kNone; l = program_.loops[l].parent)
    if (program_.loops[l].header == again) return program_.inLoop(onward, l) ? onward : again;
  return again;
}

// Lanes part: every way gets its mask, then the component runs in linear order.
void ConvergentCode::emitMixed(const CopyKey& key, const Mask&, ArrayRef<Mask> edges) {
  const Block& block = program_.blocks[key.block];
  const BlockId exit = program_.immediatePostDominator[key.block];
  const BlockId end = endBlock(program_);
  // A block of a component branches within it, also to the join of its branch; one before it branches into it.
  uint32_t component = block.component;
  for (BlockId s : block.successors)
    if (component == kNone && s != exit && s != end) component = program_.blocks[s].component;
  const BlockId first = firstBehind(key.block, component);
  if (first == kNone) {  // every way leads to the same place
    for (size_t n = 0; n < edges.size(); ++n) edges_.storePhis(key.block, exit, &edges[n], n > 0);
    b_.CreateBr(edges_.startOf(key.version, false, exit));
    return;
  }
  edges_.startComponent(key.version, component, first);
  for (size_t n = 0; n < edges.size(); ++n) edges_.maskedEdge(key, block.successors[n], component, edges[n]);
  b_.CreateBr(edges_.startOf(key.version, true, first));
}

void ConvergentCode::emitLaneExit(const CopyKey& key) {
  const Block& block = program_.blocks[key.block];
  const BlockId end = endBlock(program_);
  const bool firstExits = block.successors[0] == end;
  const BlockId stay = block.successors[firstExits ? 1 : 0];
  // The predicate that a lane stays.
  const bool negated = block.conditionNegated != firstExits;
  if (key.version == Full) {
    auto [all, none] = predicates_.quickTests(block.condition, negated);
    BB* const on = edges_.goBlock(Full, key.block, stay);
    BB* const second = b_.newBlock("leave");
    BB* const third = b_.newBlock("some");
    Mask stays;
    if (all) {
      b_.CreateCondBr(b_.CreateFreeze(all), on, second);
      b_.SetInsertPoint(second);
      b_.CreateCondBr(b_.CreateFreeze(none), frame_.behindWarp(block, key.block, firstExits), third);
      b_.SetInsertPoint(third);
      b_.caching = false;
      stays = predicates_.mixedMask(block.condition, negated);
      // The quick tests may miss a wrap inside the warp.
      BB* const fourth = b_.newBlock("some");
      b_.CreateCondBr(masks_.anyLane(stays), fourth, frame_.warpEnd());
      b_.SetInsertPoint(fourth);
    } else {
      stays = predicates_.maskOf(block.condition, negated);
      b_.CreateCondBr(masks_.allLanes(stays), on, second);
      b_.SetInsertPoint(second);
      b_.CreateCondBr(masks_.anyLane(stays), third, frame_.warpEnd());
      b_.SetInsertPoint(third);
    }
    masks_.setLive(stays);
    edges_.go(Part, key.block, stay);
    return;
  }
  const Mask stays = masks_.both(masks_.here, predicates_.maskOf(block.condition, negated));
  masks_.setLive(stays);
  BB* const on = b_.newBlock("stay");
  b_.CreateCondBr(masks_.anyLane(stays), on, frame_.warpEnd());
  b_.SetInsertPoint(on);
  edges_.go(Part, key.block, stay);
}

}  // namespace vg::ptx::gen
