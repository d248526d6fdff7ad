#include "ptx/llvm/flow/masked_code.h"

#include <llvm/IR/MDBuilder.h>

#include "ptx/llvm/ir/control_flow.h"
#include "ptx/llvm/ir/ptx_facts.h"
#include "ptx/text/opcodes.h"

namespace vg::ptx::gen {

namespace {
// In regions of more instructions than this LLVM sees no block's mask through to those it was made of: it asks of each
// pair in such trees whether one implies the other.
constexpr uint32_t kLargeRegion = 400;
// Rounds of a loop for one in which lanes leave it.
constexpr uint32_t kTogether = 16;
// Rounds of fewer instructions lose more to a branch that was not foreseen than blends take.
constexpr size_t kShortRound = 10;
}  // namespace

// --- Masked code ---------------------------------------------------------------------------------------------------

// The block with some lanes at least: its mask goes from its slot to mask_.
void MaskedCode::takeMask(const CopyKey& key) {
  auto& slot = edges_.maskSlot(key.version, key.block);
  masks_.here = masks_.loadMask(slot);
  if (program_.components[program_.blocks[key.block].component].weight > kLargeRegion)
    for (Value*& chunk : masks_.here.chunks) chunk = b_.CreateFreeze(chunk);
  masks_.storeMask(slot, masks_.constantMask(0));
}

// Whether lanes that come to a block one after another go on from there together: it begins with a barrier of the
// block, which counts whole warps. Lanes that meet in their warp alone may be those that lanes in loops wait for.
bool MaskedCode::gathers(BlockId block) const {
  const Block& b = program_.blocks[block];
  if (!b.takesTurns || b.instructions.empty()) return false;
  const Instruction& first = program_.instructions[b.instructions.front()];
  return isBlockBarrier(*first.ast) && !isPause(first) && lanesMeetAt(*first.ast, *first.function);
}

// The lanes of a region that takes turns which wait in its loops. Those before a round that begins with a barrier wait
// for the others, not these for them.
Mask MaskedCode::waiting(Version v, uint32_t component) {
  Mask lanes = masks_.constantMask(0);
  for (const Loop& loop : program_.loops)
    if (loop.polls && program_.blocks[loop.header].component == component && !gathers(loop.header))
      lanes = masks_.either(lanes, masks_.loadMask(edges_.maskSlot(v, loop.header)));
  return lanes;
}

void MaskedCode::enterMasked(const CopyKey& key, BB* tail) {
  if (gathers(key.block)) {
    BB* const nobodyWaits = b_.newBlock("gathered");
    b_.CreateCondBr(masks_.anyLane(waiting(key.version, program_.blocks[key.block].component)), tail, nobodyWaits);
    b_.SetInsertPoint(nobodyWaits);
  }
  if (plan_.rejoins(key)) {
    takeMask(key);
    BB* const some = b_.newBlock("some");
    b_.CreateCondBr(masks_.allLanes(masks_.here), edges_.copy({Full, false, key.block}), some);
    b_.SetInsertPoint(some);
    if (!plan_.needsLaneTest(key.block)) return;
    BB* const body = b_.newBlock("body");
    b_.CreateCondBr(masks_.anyLane(masks_.here), body, tail);
    b_.SetInsertPoint(body);
    masks_.here.occupied = true;
  } else if (plan_.needsLaneTest(key.block)) {
    BB* const body = occupied(key);
    b_.CreateCondBr(masks_.anyLane(masks_.loadMask(edges_.maskSlot(key.version, key.block))), body, tail);
    b_.SetInsertPoint(body);
    takeMask(key);
    masks_.here.occupied = true;
  } else {
    takeMask(key);
  }
}

// Where a masked block begins for whoever knows that it has lanes.
llvm::BasicBlock* MaskedCode::occupied(const CopyKey& key) {
  if (plan_.rejoins(key) || !plan_.needsLaneTest(key.block)) return edges_.copy(key);
  BB*& body = edges_.occupiedBody(key);
  if (!body) body = b_.newBlock("body");
  return body;
}

// The same for a loop that begins another round.
llvm::BasicBlock* MaskedCode::again(const CopyKey& header) {
  return gathers(header.block) ? edges_.copy(header) : occupied(header);
}

void MaskedCode::emitMaskedEnd(const CopyKey& key, BB* tail) {
  if (leavesByFew(key)) return emitLeaving(key, tail);
  const Block& block = program_.blocks[key.block];
  llvm::SmallVector<Mask, 4> edges;
  edges_.edgeMasks(key, edges);
  for (size_t n = 0; n < edges.size(); ++n) edges_.maskedEdge(key, block.successors[n], block.component, edges[n]);
  b_.CreateBr(tail);
}

// Whether a block is the end of a loop out of which its lanes take values, each at its time. With registers for masks
// blends cost next to nothing.
bool MaskedCode::leavesByFew(const CopyKey& key) const {
  const Block& block = program_.blocks[key.block];
  if (options_.avx512 || block.terminator != Block::Branch || block.loop == kNone || !masks_.here.occupied)
    return false;
  const Loop& loop = program_.loops[block.loop];
  size_t round = 0;
  for (BlockId b : loop.blocks) round += program_.blocks[b].instructions.size();
  if (round < kShortRound) return false;
  if (loop.polls || loop.blocks.back() != key.block || program_.blocks[loop.header].component != block.component)
    return false;
  const BlockId out = block.successors[block.successors[0] == loop.header ? 1 : 0];
  if (!llvm::is_contained(block.successors, loop.header) || program_.inLoop(out, block.loop)) return false;
  return out != endBlock(program_) && llvm::any_of(program_.blocks[out].phis, [&](ValueId phi) {
           const ValueId in = program_.values[phi].incoming[plan_.edgeIndex(key.block, out)];
           return program_.values[phi].shape.varying() && program_.values[in].kind != vg::ptx::gen::Value::Undefined;
         });
}

// In most rounds of a loop no lane leaves it: then nothing is blended, and masks stay as they are.
void MaskedCode::emitLeaving(const CopyKey& key, BB* tail) {
  const Block& block = program_.blocks[key.block];
  const BlockId header = program_.loops[block.loop].header;
  const size_t back = block.successors[0] == header ? 0 : 1;
  const PartedMask stays = predicates_.partedMaskOf(block.condition, block.conditionNegated != (back == 1));
  Value* const nobody = masks_.withBit(stays, b_.CreateNot(masks_.anyLane(masks_.without(masks_.here, stays.lanes))));
  BB* const together = b_.newBlock("together");
  BB* const apart = b_.newBlock("apart");
  b_.CreateCondBr(nobody, together, apart, llvm::MDBuilder(context_).createBranchWeights(kTogether, 1));
  b_.caching = false;
  b_.SetInsertPoint(together);
  edges_.maskedEdge(key, header, block.component, masks_.here);
  b_.CreateBr(again({key.version, true, header}));
  b_.SetInsertPoint(apart);
  const Mask staying = masks_.whole(stays);
  edges_.maskedEdge(key, header, block.component, masks_.both(masks_.here, staying));
  edges_.maskedEdge(key, block.successors[1 - back], block.component, masks_.without(masks_.here, staying));
  b_.CreateBr(tail);
}

// After a masked block: repeat loops that end here while a lane asks for it, then go to the next block in order.
void MaskedCode::emitTail(const CopyKey& key, BB* tail) {
  b_.SetInsertPoint(tail);
  const uint32_t id = program_.blocks[key.block].component;
  const Component& component = program_.components[id];
  const LoopId whole = plan_.laneLoop(key.block);  // which this copy is
  const BlockId last = whole == kNone ? key.block : program_.loops[whole].blocks.back();
  for (LoopId l = whole == kNone ? program_.blocks[key.block].loop : program_.loops[whole].parent; l != kNone;
       l = program_.loops[l].parent) {
    const Loop& loop = program_.loops[l];
    if (program_.blocks[loop.header].component != id || loop.blocks.back() != last) continue;
    if (component.takesTurns && loop.polls) continue;  // emitTurns
    BB* const round = b_.newBlock("again");
    BB* const onward = b_.newBlock("onward");
    b_.CreateCondBr(masks_.anyLane(masks_.loadMask(edges_.maskSlot(key.version, loop.header))), round, onward);
    b_.SetInsertPoint(round);
    if (loop.polls) runner_.emitYield(program_.blocks[key.block].line, loop.seldom);
    b_.CreateBr(again({key.version, true, loop.header}));
    b_.SetInsertPoint(onward);
  }
  for (size_t n = 0; n < component.blocks.size(); ++n)
    if (component.blocks[n] == last && n + 1 < component.blocks.size()) {
      b_.CreateBr(edges_.copy({key.version, true, component.blocks[n + 1]}));
      return;
    }
  emitComponentExit(key.version, id);
}

// Whether all that lanes wait for in a region is asked for in some rounds only.
bool MaskedCode::asksSeldom(uint32_t component) const {
  return llvm::none_of(program_.loops, [&](const Loop& loop) {
    return loop.polls && !loop.seldom && program_.blocks[loop.header].component == component;
  });
}

// Lanes that wait in a region go through it once more, after all others have come as far as they can: to its end, or to
// a barrier of the block.
void MaskedCode::emitTurns(Version v, uint32_t id) {
  const Component& component = program_.components[id];
  Mask left = waiting(v, id);
  for (const BlockId b : component.blocks)
    if (gathers(b)) left = masks_.either(left, masks_.loadMask(edges_.maskSlot(v, b)));
  BB *const again = b_.newBlock("again"), *const through = b_.newBlock("through");
  b_.CreateCondBr(masks_.anyLane(left), again, through);
  b_.SetInsertPoint(again);
  runner_.emitYield(program_.blocks[component.blocks.back()].line, asksSeldom(id));
  b_.CreateBr(edges_.copy({v, true, component.blocks.front()}));
  b_.SetInsertPoint(through);
}

void MaskedCode::emitComponentExit(Version v, uint32_t id) {
  const Component& component = program_.components[id];
  if (component.takesTurns) emitTurns(v, id);
  if (component.exit == kNone || component.exit == endBlock(program_)) {
    b_.CreateBr(frame_.warpEnd());
    return;
  }
  // Phis of the exit got their values along the edges.
  const auto enter = [&](Version version) {
    const uint32_t next = program_.blocks[component.exit].component;
    if (next != kNone && !plan_.duplicates(next, version)) {
      edges_.emptyMasks(version, next, component.exit);  // and nothing else: the phis of the exit are live
      masks_.storeMask(edges_.maskSlot(version, component.exit), version == Full ? Mask{} : masks_.live());
      b_.CreateBr(edges_.startOf(version, true, component.exit));
    } else {
      b_.CreateBr(edges_.copy({version, false, component.exit}));
    }
  };
  if (!component.hasLaneExits) return enter(v);
  const Mask live = masks_.live();
  BB* const some = b_.newBlock("some");
  if (v == Full) {
    BB* const full = b_.newBlock("full");
    BB* const fewer = b_.newBlock("fewer");
    b_.CreateCondBr(masks_.allLanes(live), full, fewer);
    b_.SetInsertPoint(full);
    enter(Full);
    b_.SetInsertPoint(fewer);
  }
  b_.CreateCondBr(masks_.anyLane(live), some, frame_.warpEnd());
  b_.SetInsertPoint(some);
  enter(Part);
}

}  // namespace vg::ptx::gen
