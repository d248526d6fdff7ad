// Masks of lanes: made, combined, tested, kept in slots.
#include "ptx/llvm/emit/masks.h"

#include <llvm/IR/MDBuilder.h>

#include "ptx/llvm/ir/ptx_facts.h"

namespace vg::ptx::gen {

using llvm::ArrayRef;

// --- Masks ---------------------------------------------------------------------------------------------------------

Chunks Masks::chunksOf(const Mask& mask) {
  if (!mask.full) return mask.chunks;
  return Chunks(k_, llvm::Constant::getAllOnesValue(b_.vectorOf(b_.getInt1Ty())));
}

Mask Masks::both(const Mask& a, const Mask& b) {
  if (a.full) return b;
  if (b.full) return a;
  Mask out;
  out.full = false;
  for (uint32_t c = 0; c < k_; ++c) out.chunks.push_back(b_.CreateAnd(a.chunks[c], b.chunks[c]));
  return out;
}

Mask Masks::without(const Mask& a, const Mask& b) {
  Mask out;
  out.full = false;
  const Chunks left = chunksOf(a), right = chunksOf(b);
  for (uint32_t c = 0; c < k_; ++c) out.chunks.push_back(b_.CreateAnd(left[c], b_.CreateNot(right[c])));
  return out;
}

Mask Masks::either(const Mask& a, const Mask& b) {
  if (a.full || b.full) return Mask{};
  Mask out;
  out.full = false;
  for (uint32_t c = 0; c < k_; ++c) out.chunks.push_back(b_.CreateOr(a.chunks[c], b.chunks[c]));
  return out;
}

Mask Masks::uniformMask(Value* bit) {
  Mask out;
  out.full = false;
  for (uint32_t c = 0; c < k_; ++c) out.chunks.push_back(b_.CreateVectorSplat(w_, bit));
  return out;
}

Mask Masks::whole(const PartedMask& mask) {
  if (!mask.bit) return mask.lanes;
  return mask.needsBoth ? both(mask.lanes, uniformMask(mask.bit)) : either(mask.lanes, uniformMask(mask.bit));
}

llvm::Value* Masks::withBit(const PartedMask& mask, Value* ofLanes) {
  if (!mask.bit) return ofLanes;
  return mask.needsBoth ? b_.CreateAnd(ofLanes, mask.bit) : b_.CreateOr(ofLanes, mask.bit);
}

Mask Masks::constantMask(uint32_t lanes) {
  Mask out;
  out.full = false;
  for (uint32_t c = 0; c < k_; ++c) {
    llvm::SmallVector<llvm::Constant*, 16> bits;
    for (uint32_t l = 0; l < w_; ++l) bits.push_back(b_.getInt1(lanes >> (c * w_ + l) & 1));
    out.chunks.push_back(llvm::ConstantVector::get(bits));
  }
  return out;
}

Mask Masks::lanesBelow(Value* count) {
  Mask out;
  out.full = false;
  for (uint32_t c = 0; c < k_; ++c) {
    Value* const lane = b_.iota(c, b_.getInt32Ty(), 1);
    out.chunks.push_back(b_.CreateICmpULT(lane, b_.CreateVectorSplat(w_, count)));
  }
  return out;
}

llvm::Value* Masks::anyLane(const Mask& mask) {
  if (mask.full) return b_.getTrue();
  Value* all = mask.chunks[0];
  for (Value* chunk : llvm::drop_begin(mask.chunks)) all = b_.CreateOr(all, chunk);
  Value* const bits = b_.CreateFreeze(b_.CreateBitCast(all, b_.integerType(w_)));
  return b_.CreateICmpNE(bits, llvm::ConstantInt::get(b_.integerType(w_), 0));
}

llvm::Value* Masks::anyLaneOfRow(const Mask& mask, uint32_t row) {
  if (mask.full) return b_.getTrue();
  if (rowLanes_ < w_) {
    Value* const bits = b_.CreateBitCast(mask.chunks[row * rowLanes_ / w_], b_.integerType(w_));
    const uint64_t ofRow = ((uint64_t{1} << rowLanes_) - 1) << (row * rowLanes_ % w_);
    Value* const set = b_.CreateFreeze(b_.CreateAnd(bits, llvm::ConstantInt::get(bits->getType(), ofRow)));
    return b_.CreateICmpNE(set, llvm::ConstantInt::get(bits->getType(), 0));
  }
  const uint32_t count = rowLanes_ / w_;
  return anyLane({false, Chunks(llvm::ArrayRef(mask.chunks).slice(row * count, count))});
}

llvm::Value* Masks::allLanes(const Mask& mask) {
  if (mask.full) return b_.getTrue();
  Value* all = mask.chunks[0];
  for (Value* chunk : llvm::drop_begin(mask.chunks)) all = b_.CreateAnd(all, chunk);
  Value* const bits = b_.CreateFreeze(b_.CreateBitCast(all, b_.integerType(w_)));
  return b_.CreateICmpEQ(bits, llvm::Constant::getAllOnesValue(b_.integerType(w_)));
}

llvm::Value* Masks::maskBits(const Mask& mask) {
  if (mask.full) return b_.getInt32(~0u);
  Value* bits = b_.getInt32(0);
  for (uint32_t c = 0; c < k_; ++c) {
    Value* const part = b_.CreateZExt(b_.CreateBitCast(mask.chunks[c], b_.integerType(w_)), b_.getInt32Ty());
    bits = b_.CreateOr(bits, b_.CreateShl(part, c * w_));
  }
  return b_.CreateFreeze(bits);
}

Mask Masks::maskFromBits(Value* bits) {
  Mask out;
  out.full = false;
  for (uint32_t c = 0; c < k_; ++c) {
    Value* const part = b_.CreateTrunc(b_.CreateLShr(bits, c * w_), b_.integerType(w_));
    if (options_.avx512) {
      out.chunks.push_back(b_.CreateBitCast(part, b_.vectorOf(b_.getInt1Ty())));
    } else {
      Value* const wide = b_.CreateVectorSplat(w_, b_.CreateZExt(part, b_.getInt32Ty()));
      llvm::SmallVector<llvm::Constant*, 16> select;
      for (uint32_t l = 0; l < w_; ++l) select.push_back(b_.getInt32(1u << l));
      out.chunks.push_back(b_.CreateICmpNE(b_.CreateAnd(wide, llvm::ConstantVector::get(select)),
                                           llvm::Constant::getNullValue(wide->getType())));
    }
  }
  return out;
}

llvm::Type* Masks::maskSlotType() {
  if (options_.avx512) return b_.vectorOf(b_.getInt1Ty());
  return b_.vectorOf(emission_.lean ? b_.getInt8Ty() : b_.getInt32Ty());
}

MaskSlot Masks::makeMaskSlot(const char* name) {
  MaskSlot slot;
  for (uint32_t c = 0; c < k_; ++c) slot.push_back(b_.entryAlloca(maskSlotType(), name));
  return slot;
}

void Masks::storeMask(ArrayRef<llvm::AllocaInst*> slot, const Mask& mask) {
  const Chunks chunks = chunksOf(mask);
  for (uint32_t c = 0; c < k_; ++c)
    b_.CreateStore(options_.avx512 ? chunks[c] : b_.CreateSExt(chunks[c], maskSlotType()), slot[c]);
}

Mask Masks::loadMask(ArrayRef<llvm::AllocaInst*> slot) {
  Mask mask;
  mask.full = false;
  for (uint32_t c = 0; c < k_; ++c) {
    Value* chunk = b_.CreateLoad(maskSlotType(), slot[c]);
    if (!options_.avx512) chunk = b_.CreateICmpSLT(chunk, llvm::Constant::getNullValue(chunk->getType()));
    mask.chunks.push_back(chunk);
  }
  return mask;
}

llvm::Value* Masks::firstLane(Value* bits) {
  Value* const first = b_.callIntrinsic(llvm::Intrinsic::cttz, {b_.getInt32Ty()}, {bits, b_.getFalse()});
  return b_.CreateAnd(first, b_.getInt32(kWarpSize - 1));
}

// Descending within groups: as ascending, with the bits of each group the other way round.
void Masks::forEachLane(const Mask& mask, const std::function<void(Value*)>& body, uint32_t descending) {
  Value* bits = maskBits(mask);
  LType* const word = b_.getInt32Ty();
  if (descending > 1) bits = b_.callIntrinsic(llvm::Intrinsic::bitreverse, {word}, {bits});
  if (descending == 16) bits = b_.callIntrinsic(llvm::Intrinsic::fshl, {word}, {bits, bits, b_.getInt32(16)});
  if (descending == 8) bits = b_.callIntrinsic(llvm::Intrinsic::bswap, {word}, {bits});
  BB* const before = b_.GetInsertBlock();
  BB* const loop = b_.newBlock("lanes");
  BB* const after = b_.newBlock("after");
  if (mask.full || mask.occupied)
    b_.CreateBr(loop);
  else
    b_.CreateCondBr(b_.CreateICmpNE(bits, b_.getInt32(0)), loop, after);
  b_.SetInsertPoint(loop);
  auto* left = b_.CreatePHI(b_.getInt32Ty(), 2);
  left->addIncoming(bits, before);
  Value* const at = b_.callIntrinsic(llvm::Intrinsic::cttz, {word}, {left, b_.getTrue()});
  const bool caching = std::exchange(b_.caching, false);
  body(descending > 1 ? b_.CreateXor(at, descending - 1) : at);
  b_.caching = caching;
  Value* const rest = b_.CreateAnd(left, b_.CreateSub(left, b_.getInt32(1)));
  left->addIncoming(rest, b_.GetInsertBlock());
  b_.CreateCondBr(b_.CreateICmpNE(rest, b_.getInt32(0)), loop, after);
  b_.SetInsertPoint(after);
}

}  // namespace vg::ptx::gen
