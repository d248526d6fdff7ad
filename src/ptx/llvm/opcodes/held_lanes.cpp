// Lanes that are held until all that a mask names have come (analysis/lane_turns.h).
#include "ptx/llvm/ir/ptx_facts.h"
#include "ptx/llvm/opcodes/barrier.h"

namespace vg::ptx::gen {

// No lane of any warp is held where the function is entered.
llvm::AllocaInst* Barriers::awaited() {
  if (awaited_) return awaited_;
  LType* const lanes = llvm::ArrayType::get(b_.getInt32Ty(), kWarpSize);
  awaited_ = b_.entryAlloca(lanes, "awaited", llvm::Align(64));
  llvm::IRBuilder<> at(runner_.launchPoint);
  at.CreateStore(llvm::Constant::getNullValue(lanes), awaited_);
  return awaited_;
}

void Barriers::emitArrival(const Instruction& i) {
  const Mask coming = predicates_.guardedMask(i);
  const Chunks mask = masks_.chunksOf(coming);
  Chunks lanes = b_.reload(awaited(), b_.getInt32Ty());
  for (uint32_t c = 0; c < k_; ++c)
    lanes[c] = b_.CreateSelect(mask[c], b_.asInteger(values_.chunkOf(i.sources[0], c), 32), lanes[c]);
  b_.storeLanes(awaited(), lanes);
}

// Whoever finds that all have come whom a lane waits for lets all of them go on. Lanes that have left the region will
// not come any more.
void Barriers::emitHeld(const Instruction& i) {
  LType* const word = b_.getInt32Ty();
  Value* const inside = masks_.maskBits(masks_.inside(program_.blocks[i.block].component));
  masks_.forEachLane(masks_.here, [&](Value* lane) {
    Value* const members = b_.CreateLoad(word, b_.laneAddress(awaited(), lane, word));
    Chunks lanes = b_.reload(awaited(), word);
    Mask same;
    same.full = false;
    for (uint32_t c = 0; c < k_; ++c) same.chunks.push_back(b_.CreateICmpEQ(lanes[c], b_.splatLike(lanes[c], members)));
    Value* const come = b_.CreateAnd(masks_.maskBits(same), members);
    Value* const missing = b_.CreateAnd(b_.CreateAnd(members, inside), b_.CreateNot(come));
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
