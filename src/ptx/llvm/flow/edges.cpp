#include "ptx/llvm/flow/edges.h"

#include "ptx/llvm/ir/control_flow.h"

namespace vg::ptx::gen {

void Edges::makeCopies() {
  for (const auto& [key, planned] : plan_.planned()) copies_[key] = b_.newBlock(key.masked ? "masked" : "block");
  phiSlots_.resize(program_.values.size());
}

void Edges::definePhis(BlockId b) {
  for (ValueId phi : program_.blocks[b].phis) values_.define(phi, phiForm(phi));
}

Slot& Edges::phiSlot(ValueId phi) {
  Slot& slot = phiSlots_[phi];
  if (slot.empty()) slot = values_.makeSlot(program_.values[phi], "phi");
  return slot;
}

// --- Phis ------------------------------------------------------------------------------------------------------------

// Stores what the phis of `to` get along an edge. With a mask, lanes outside of it keep what other edges gave them.
void Edges::storePhis(BlockId from, BlockId to, const Mask* blend, bool alwaysBlend) {
  const size_t edge = plan_.edgeIndex(from, to);
  const Block& target = program_.blocks[to];
  for (ValueId id : target.phis) {
    const auto& phi = program_.values[id];
    storePhi(id, values_.toShape(phi.incoming[edge], phi), alwaysBlend ? blend : nullptr);
  }
}

void Edges::storePhi(ValueId id, Form form, const Mask* blend) {
  const auto& phi = program_.values[id];
  Slot& slot = phiSlot(id);
  if (blend) {
    const Form old = values_.loadSlot(slot, phi);
    if (phi.shape.varying()) {
      const Chunks mask = masks_.chunksOf(*blend);
      for (uint32_t c = 0; c < k_; ++c) form.chunks[c] = b_.CreateSelect(mask[c], form.chunks[c], old.chunks[c]);
    } else {
      Value* const any = masks_.anyLane(*blend);
      if (form.scalar) form.scalar = b_.CreateSelect(any, form.scalar, old.scalar);
      for (size_t r = 0; r < form.rows.size(); ++r) form.rows[r] = b_.CreateSelect(any, form.rows[r], old.rows[r]);
    }
  }
  values_.storeSlot(slot, phi, form);
}

// Whether lanes may already hold values that another edge of the same kind gave to the phis of `to`.
static bool severalWaysIn(const Program& program, BlockId from, BlockId to) {
  const Block& target = program.blocks[to];
  const bool back = from >= to;
  size_t same = 0;
  for (BlockId p : target.predecessors) same += (p >= to) == back;
  if (same > 1) return true;
  // Lanes leave a loop over several iterations.
  const LoopId loop = program.blocks[from].loop;
  return loop != kNone && !program.inLoop(to, loop);
}

// Whether lanes are held in a region, who then wait for those only that have not left it.
bool Edges::tracksInside(uint32_t component) const { return program_.components[component].holdsLanes; }

// `running` is the component in whose linear order we are, or which the edge enters.
void Edges::maskedEdge(const CopyKey& key, BlockId to, uint32_t running, const Mask& mask) {
  const bool severalTimes = program_.components[running].takesTurns || severalWaysIn(program_, key.block, to);
  arrive(key.version, to, running, mask, [&] { storePhis(key.block, to, &mask, severalTimes || !key.masked); });
}

void Edges::arrive(Version v, BlockId to, uint32_t running, const Mask& mask, llvm::function_ref<void()> bring) {
  if (tracksInside(running) && (to == endBlock(program_) || program_.blocks[to].component != running))
    masks_.setInside(running, masks_.without(masks_.inside(running), mask));
  if (to == endBlock(program_)) {
    if (program_.components[running].exit != to) masks_.setLive(masks_.without(masks_.live(), mask));
    return;
  }
  bring();
  if (program_.blocks[to].component == running) {
    auto& slot = maskSlot(v, to);
    masks_.storeMask(slot, masks_.either(masks_.loadMask(slot), mask));
  }
}

// --- Convergent code ---------------------------------------------------------------------------------------------

void Edges::startComponent(Version v, uint32_t component, BlockId first) {
  const Component& c = program_.components[component];
  const auto forget = [&](BlockId b) {
    for (ValueId phi : program_.blocks[b].phis) {
      Slot& slot = phiSlot(phi);
      const auto poison = [&](llvm::AllocaInst* a) {
        if (a) b_.CreateStore(llvm::UndefValue::get(a->getAllocatedType()), a);
      };
      poison(slot.scalar);
      poison(slot.holds);
      for (auto* a : slot.rows) poison(a);
      for (auto* a : slot.chunks) poison(a);
    }
  };
  emptyMasks(v, component, first);
  for (BlockId b : c.blocks) forget(b);
  if (c.exit != kNone && c.exit != endBlock(program_)) forget(c.exit);
}

void Edges::go(Version v, BlockId from, BlockId to) {
  // Back edges of loops that wait for memory let others run.
  for (LoopId l = program_.blocks[from].loop; l != kNone; l = program_.loops[l].parent)
    if (program_.loops[l].header == to && program_.loops[l].polls)
      runner_.emitYield(program_.blocks[from].line, program_.loops[l].seldom);
  if (to == endBlock(program_)) {
    b_.CreateBr(frame_.warpEnd());
    return;
  }
  const uint32_t component = program_.blocks[to].component;
  if (plan_.isMaskedOnly(to, v)) {
    startComponent(v, component, to);
    storePhis(from, to, nullptr, false);
    Mask all = v == Full ? Mask{} : masks_.live();
    masks_.storeMask(maskSlot(v, to), all);
    b_.CreateBr(startOf(v, true, to));
    return;
  }
  storePhis(from, to, nullptr, false);
  b_.CreateBr(copies_.at({v, false, to}));
}

llvm::BasicBlock* Edges::goBlock(Version v, BlockId from, BlockId to) {
  BB* const edge = b_.newBlock("edge");
  llvm::IRBuilderBase::InsertPointGuard guard(b_);
  b_.SetInsertPoint(edge);
  const bool caching = std::exchange(b_.caching, false);
  go(v, from, to);
  b_.caching = caching;
  return edge;
}

void Edges::edgeMasks(const CopyKey& key, llvm::SmallVectorImpl<Mask>& out) {
  const Block& block = program_.blocks[key.block];
  switch (block.terminator) {
    case Block::Exit:
      return;
    case Block::Jump:
      out.push_back(masks_.here);
      return;
    case Block::Branch: {
      const Mask taken = predicates_.maskOf(block.condition, block.conditionNegated);
      out.push_back(masks_.both(masks_.here, taken));
      out.push_back(masks_.without(masks_.here, taken));
      return;
    }
    case Block::Switch: {
      Mask rest = masks_.here;
      for (size_t n = 0; n < block.successors.size(); ++n) {
        if (n + 1 == block.successors.size()) {
          out.push_back(rest);
          break;
        }
        Mask match;
        match.full = false;
        for (uint32_t c = 0; c < k_; ++c) {
          Value* const index = b_.asInteger(values_.chunkOf(block.condition, c), 32);
          match.chunks.push_back(b_.CreateICmpEQ(index, b_.number(index, b_.getInt32Ty(), n)));
        }
        out.push_back(masks_.both(rest, match));
        rest = masks_.without(rest, match);
      }
      return;
    }
  }
}

MaskSlot& Edges::maskSlot(Version v, BlockId b) {
  auto& slot = maskSlots_[{plan_.maskedVersion(v, program_.blocks[b].component), b}];
  if (slot.empty()) slot = masks_.makeMaskSlot("mask");
  return slot;
}

// The masks of a region that linear order enters at `first`.
void Edges::emptyMasks(Version v, uint32_t component, BlockId first) {
  if (tracksInside(component)) masks_.setInside(component, v == Full ? Mask{} : masks_.live());
  for (BlockId b : program_.components[component].blocks)
    if (plan_.emptying(b) == kNone || plan_.emptying(b) <= first)
      masks_.storeMask(maskSlot(v, b), masks_.constantMask(0));
}

void Edges::emptyMasksAt(const CopyKey& key) {
  for (BlockId b : program_.components[program_.blocks[key.block].component].blocks)
    if (plan_.emptying(b) == key.block) masks_.storeMask(maskSlot(key.version, b), masks_.constantMask(0));
}

llvm::BasicBlock* Edges::startOf(Version v, bool masked, BlockId b) {
  if (b == endBlock(program_)) return frame_.warpEnd();
  return copies_.at({masked ? plan_.maskedVersion(v, program_.blocks[b].component) : v, masked, b});
}

}  // namespace vg::ptx::gen
