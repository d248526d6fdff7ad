// Lanes that are held until all that a mask names have come (analysis/lane_turns.h).
#include "ptx/llvm/opcodes/held_lanes.h"

#include "ptx/llvm/ir/ptx_facts.h"

namespace vg::ptx::gen {

// No lane of any warp is held where the function is entered.
llvm::AllocaInst* HeldLanes::awaited() {
  if (awaited_) return awaited_;
  LType* const lanes = llvm::ArrayType::get(b_.getInt32Ty(), kWarpSize);
  awaited_ = b_.entryAlloca(lanes, "awaited", llvm::Align(64));
  llvm::IRBuilder<> at(runner_.launchPoint);
  at.CreateStore(llvm::Constant::getNullValue(lanes), awaited_);
  return awaited_;
}

llvm::AllocaInst* HeldLanes::given() {
  if (!given_) given_ = b_.entryAlloca(llvm::ArrayType::get(b_.getInt64Ty(), kWarpSize), "given", llvm::Align(64));
  return given_;
}

void HeldLanes::emitArrival(const Instruction& i) {
  const Chunks coming = masks_.chunksOf(predicates_.guardedMask(i));
  const auto keep = [&](llvm::AllocaInst* array, const Chunks& news) {
    Chunks lanes = b_.reload(array, news[0]->getType()->getScalarType());
    for (uint32_t c = 0; c < k_; ++c) lanes[c] = b_.CreateSelect(coming[c], news[c], lanes[c]);
    b_.storeLanes(array, lanes);
  };
  if (i.sources.size() > 1) {
    Chunks bits;
    for (uint32_t c = 0; c < k_; ++c) {
      Value* const value = values_.chunkOf(i.sources[0], c);
      bits.push_back(b_.asInteger(i.negated[0] ? b_.CreateNot(value) : value, 64));
    }
    keep(given(), bits);
  }
  keep(awaited(), values_.integersOf(i.sources.back(), 32));
}

Chunks HeldLanes::brought(const Instruction& i, uint32_t bits) {
  if (!isJoint(*i.ast)) return values_.integersOf(i.sources[0], bits);
  Chunks lanes = b_.reload(given(), b_.getInt64Ty());
  for (Value*& chunk : lanes) chunk = b_.asInteger(chunk, bits);
  return lanes;
}

// All that are named and may still come have come, as lanes are only let go on together.
Mask HeldLanes::takingPart(const Instruction& i) { return isJoint(*i.ast) ? inside(i) : predicates_.guardedMask(i); }

Mask HeldLanes::inside(const Instruction& i) { return masks_.inside(program_.blocks[i.block].component); }

// Whoever finds that all have come whom a lane waits for lets all of them go on. Lanes that have left the region will
// not come any more.
void HeldLanes::emitHeld(const Instruction& i) {
  LType* const word = b_.getInt32Ty();
  Value* const alive = masks_.maskBits(inside(i));
  masks_.forEachLane(masks_.here, [&](Value* lane) {
    Value* const members = b_.CreateLoad(word, b_.laneAddress(awaited(), lane, word));
    Chunks lanes = b_.reload(awaited(), word);
    Mask same;
    same.full = false;
    for (uint32_t c = 0; c < k_; ++c) same.chunks.push_back(b_.CreateICmpEQ(lanes[c], b_.splatLike(lanes[c], members)));
    Value* const come = b_.CreateAnd(masks_.maskBits(same), members);
    Value* const missing = b_.CreateAnd(b_.CreateAnd(members, alive), b_.CreateNot(come));
    Value* const free = b_.CreateSelect(b_.CreateICmpEQ(missing, b_.getInt32(0)), come, b_.getInt32(0));
    const Chunks go = masks_.chunksOf(masks_.maskFromBits(free));
    for (uint32_t c = 0; c < k_; ++c)
      lanes[c] = b_.CreateSelect(go[c], llvm::Constant::getNullValue(lanes[c]->getType()), lanes[c]);
    b_.storeLanes(awaited(), lanes);
  });
  Form form;
  form.shape = {Shape::Varying, 0, false};
  for (Value* const lanes : b_.reload(awaited(), word))
    form.chunks.push_back(b_.CreateICmpEQ(lanes, llvm::Constant::getNullValue(lanes->getType())));
  values_.finish(i, 0, std::move(form));
}

}  // namespace vg::ptx::gen
