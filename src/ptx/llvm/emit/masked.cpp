// Divergent regions in linear order, one mask a block.
#include <llvm/IR/MDBuilder.h>

#include "ptx/llvm/emit/emitter.h"
#include "ptx/llvm/ir/control_flow.h"
#include "ptx/llvm/ir/ptx_facts.h"

namespace vg::ptx::gen {

namespace {
// Blocks up to this many instructions run with an empty mask rather than test it.
constexpr size_t kUntestedLimit = 12;
// In regions of more instructions than this LLVM sees no block's mask through to those it was made of: it asks of each
// pair in such trees whether one implies the other.
constexpr uint32_t kLargeRegion = 400;
// Rounds of a loop for one in which lanes leave it.
constexpr uint32_t kTogether = 16;
// Rounds of fewer instructions lose more to a branch that was not foreseen than blends take.
constexpr size_t kShortRound = 10;
}  // namespace

// --- Masked code ---------------------------------------------------------------------------------------------------

// Whether running a block with an empty mask could do harm or cost more than the test.
bool Emitter::needsLaneTest(BlockId b) const {
  const Block& block = program_.blocks[b];
  if (block.instructions.size() > kUntestedLimit) return true;
  if (block.terminator == Block::Switch) return true;
  for (const Loop& loop : program_.loops)
    if (loop.header == b) return true;
  for (uint32_t n : block.instructions) {
    const Instruction& i = program_.instructions[n];
    if (needsExactMask(*i.ast)) return true;
    const bool memory = i.ast->op == Op::Ld || i.ast->op == Op::St || i.ast->op == Op::Ldu;
    if (memory && i.sources[0] != kNone && !program_.values[i.sources[0]].shape.varying()) {
      const Shape s = program_.values[i.sources[0]].shape;
      if (s.uniform() || !options_.avx512) return true;
    }
    if (memory && !options_.avx512) return true;
  }
  return false;
}

// Where in linear order the mask of a block of a region is emptied, long before which nothing has to keep it; kNone:
// where the region begins. It is empty whenever linear order comes by again, because that passes the block itself, but
// for blocks behind a loop: their lanes leave it one iteration after the other.
BlockId Emitter::emptyingOf(BlockId b) const {
  const uint32_t id = program_.blocks[b].component;
  if (duplicates(id, Full)) return kNone;                // lanes may part anywhere
  if (program_.components[id].takesTurns) return kNone;  // and wait anywhere
  BlockId at = b;
  for (BlockId from : program_.blocks[b].predecessors) {
    if (program_.blocks[from].component != id) return kNone;
    at = std::min(at, from);
  }
  if (at == b) return kNone;
  const auto& order = program_.components[id].blocks;
  const auto leaves = [&](const Loop& loop) {
    return loop.header <= at && at <= loop.blocks.back() && loop.blocks.back() < b;
  };
  for (auto loop = llvm::find_if(program_.loops, leaves); loop != program_.loops.end();
       loop = llvm::find_if(program_.loops, leaves)) {
    const auto before = std::lower_bound(order.begin(), order.end(), loop->header);
    if (before == order.begin()) return kNone;
    at = *std::prev(before);
  }
  return at;
}

// The masks of a region that linear order enters at `first`.
void Emitter::emptyMasks(Version v, uint32_t component, BlockId first) {
  for (BlockId b : program_.components[component].blocks)
    if (emptying_[b] == kNone || emptying_[b] <= first) storeMask(maskSlot(v, b), constantMask(0));
}

void Emitter::emptyMasksAt(const CopyKey& key) {
  for (BlockId b : program_.components[program_.blocks[key.block].component].blocks)
    if (emptying_[b] == key.block) storeMask(maskSlot(key.version, b), constantMask(0));
}

// The block with some lanes at least: its mask goes from its slot to mask_.
void Emitter::takeMask(const CopyKey& key) {
  auto& slot = maskSlot(key.version, key.block);
  mask_ = loadMask(slot);
  if (program_.components[program_.blocks[key.block].component].weight > kLargeRegion)
    for (Value*& chunk : mask_.chunks) chunk = b_.CreateFreeze(chunk);
  storeMask(slot, constantMask(0));
}

void Emitter::enterMasked(const CopyKey& key, BB* tail) {
  if (rejoins(key)) {
    takeMask(key);
    BB* const some = newBlock("some");
    b_.CreateCondBr(allLanes(mask_), copies_.at({Full, false, key.block}), some);
    b_.SetInsertPoint(some);
    if (!needsLaneTest(key.block)) return;
    BB* const body = newBlock("body");
    b_.CreateCondBr(anyLane(mask_), body, tail);
    b_.SetInsertPoint(body);
    mask_.occupied = true;
  } else if (needsLaneTest(key.block)) {
    BB* const body = occupied(key);
    b_.CreateCondBr(anyLane(loadMask(maskSlot(key.version, key.block))), body, tail);
    b_.SetInsertPoint(body);
    takeMask(key);
    mask_.occupied = true;
  } else {
    takeMask(key);
  }
}

// Whether all lanes may be together again, to go on with convergent code.
bool Emitter::rejoins(const CopyKey& key) const {
  return key.version == Full && joinsInside(key.block) && duplicates(program_.blocks[key.block].component, Full);
}

// Where a masked block begins for whoever knows that it has lanes.
llvm::BasicBlock* Emitter::occupied(const CopyKey& key) {
  if (rejoins(key) || !needsLaneTest(key.block)) return copies_.at(key);
  BB*& body = occupied_[key];
  if (!body) body = newBlock("body");
  return body;
}

void Emitter::emitMaskedEnd(const CopyKey& key, BB* tail) {
  if (leavesByFew(key)) return emitLeaving(key, tail);
  const Block& block = program_.blocks[key.block];
  llvm::SmallVector<Mask, 4> edges;
  edgeMasks(key, edges);
  for (size_t n = 0; n < edges.size(); ++n) maskedEdge(key, block.successors[n], block.component, edges[n]);
  b_.CreateBr(tail);
}

// Whether a block is the end of a loop out of which its lanes take values, each at its time. With registers for masks
// blends cost next to nothing.
bool Emitter::leavesByFew(const CopyKey& key) const {
  const Block& block = program_.blocks[key.block];
  if (options_.avx512 || block.terminator != Block::Branch || block.loop == kNone || !mask_.occupied) return false;
  const Loop& loop = program_.loops[block.loop];
  size_t round = 0;
  for (BlockId b : loop.blocks) round += program_.blocks[b].instructions.size();
  if (round < kShortRound) return false;
  if (loop.polls || loop.blocks.back() != key.block || program_.blocks[loop.header].component != block.component)
    return false;
  const BlockId out = block.successors[block.successors[0] == loop.header ? 1 : 0];
  if (!llvm::is_contained(block.successors, loop.header) || program_.inLoop(out, block.loop)) return false;
  return out != endBlock(program_) && llvm::any_of(program_.blocks[out].phis, [&](ValueId phi) {
           const ValueId in = program_.values[phi].incoming[edgeIndex(key.block, out)];
           return program_.values[phi].shape.varying() && program_.values[in].kind != vg::ptx::gen::Value::Undefined;
         });
}

// In most rounds of a loop no lane leaves it: then nothing is blended, and masks stay as they are.
void Emitter::emitLeaving(const CopyKey& key, BB* tail) {
  const Block& block = program_.blocks[key.block];
  const BlockId header = program_.loops[block.loop].header;
  const size_t again = block.successors[0] == header ? 0 : 1;
  const PartedMask stays = partedMaskOf(block.condition, block.conditionNegated != (again == 1));
  Value* const nobody = withBit(stays, b_.CreateNot(anyLane(without(mask_, stays.lanes))));
  BB* const together = newBlock("together");
  BB* const apart = newBlock("apart");
  b_.CreateCondBr(nobody, together, apart, llvm::MDBuilder(context_).createBranchWeights(kTogether, 1));
  caching_ = false;
  b_.SetInsertPoint(together);
  maskedEdge(key, header, block.component, mask_);
  b_.CreateBr(occupied({key.version, true, header}));
  b_.SetInsertPoint(apart);
  const Mask staying = whole(stays);
  maskedEdge(key, header, block.component, both(mask_, staying));
  maskedEdge(key, block.successors[1 - again], block.component, without(mask_, staying));
  b_.CreateBr(tail);
}

// After a masked block: repeat loops that end here while a lane asks for it, then go to the next block in order.
void Emitter::emitTail(const CopyKey& key, BB* tail) {
  b_.SetInsertPoint(tail);
  const uint32_t id = program_.blocks[key.block].component;
  const Component& component = program_.components[id];
  for (LoopId l = program_.blocks[key.block].loop; l != kNone; l = program_.loops[l].parent) {
    const Loop& loop = program_.loops[l];
    if (program_.blocks[loop.header].component != id || loop.blocks.back() != key.block) continue;
    if (component.takesTurns && loop.polls) continue;  // emitTurns
    BB* const again = newBlock("again");
    BB* const onward = newBlock("onward");
    b_.CreateCondBr(anyLane(loadMask(maskSlot(key.version, loop.header))), again, onward);
    b_.SetInsertPoint(again);
    if (loop.polls) emitYield(program_.blocks[key.block].line);
    b_.CreateBr(occupied({key.version, true, loop.header}));
    b_.SetInsertPoint(onward);
  }
  for (size_t n = 0; n < component.blocks.size(); ++n)
    if (component.blocks[n] == key.block && n + 1 < component.blocks.size()) {
      b_.CreateBr(copies_.at({key.version, true, component.blocks[n + 1]}));
      return;
    }
  emitComponentExit(key.version, id);
}

// Lanes that wait in a region go through it once more, after all others have come as far as they can.
void Emitter::emitTurns(Version v, uint32_t id) {
  const Component& component = program_.components[id];
  Mask waiting = constantMask(0);
  for (const Loop& loop : program_.loops)
    if (loop.polls && program_.blocks[loop.header].component == id)
      waiting = either(waiting, loadMask(maskSlot(v, loop.header)));
  BB *const again = newBlock("again"), *const through = newBlock("through");
  b_.CreateCondBr(anyLane(waiting), again, through);
  b_.SetInsertPoint(again);
  emitYield(program_.blocks[component.blocks.back()].line);
  b_.CreateBr(copies_.at({v, true, component.blocks.front()}));
  b_.SetInsertPoint(through);
}

void Emitter::emitComponentExit(Version v, uint32_t id) {
  const Component& component = program_.components[id];
  if (component.takesTurns) emitTurns(v, id);
  if (component.exit == kNone || component.exit == endBlock(program_)) {
    b_.CreateBr(warpLatch_);
    return;
  }
  // Phis of the exit got their values along the edges.
  const auto enter = [&](Version version) {
    const uint32_t next = program_.blocks[component.exit].component;
    if (next != kNone && !duplicates(next, version)) {
      emptyMasks(version, next, component.exit);  // and nothing else: the phis of the exit are live
      storeMask(maskSlot(version, component.exit), version == Full ? Mask{} : loadMask(liveSlot_));
      b_.CreateBr(startOf(version, true, component.exit));
    } else {
      b_.CreateBr(copies_.at({version, false, component.exit}));
    }
  };
  if (!component.hasLaneExits) return enter(v);
  const Mask live = loadMask(liveSlot_);
  BB* const some = newBlock("some");
  if (v == Full) {
    BB* const full = newBlock("full");
    BB* const fewer = newBlock("fewer");
    b_.CreateCondBr(allLanes(live), full, fewer);
    b_.SetInsertPoint(full);
    enter(Full);
    b_.SetInsertPoint(fewer);
  }
  b_.CreateCondBr(anyLane(live), some, warpLatch_);
  b_.SetInsertPoint(some);
  enter(Part);
}

}  // namespace vg::ptx::gen
