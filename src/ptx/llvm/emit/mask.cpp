// Masks of lanes: made, combined, tested, kept in slots.
#include <llvm/IR/MDBuilder.h>

#include "ptx/llvm/emit/emitter.h"
#include "ptx/llvm/ir/ptx_facts.h"

namespace vg::ptx::gen {

using llvm::ArrayRef;
using PtxValue = vg::ptx::gen::Value;

// --- Masks ---------------------------------------------------------------------------------------------------------

Chunks Emitter::chunksOf(const Mask& mask) {
  if (!mask.full) return mask.chunks;
  return Chunks(k_, llvm::Constant::getAllOnesValue(vectorOf(b_.getInt1Ty())));
}

Mask Emitter::both(const Mask& a, const Mask& b) {
  if (a.full) return b;
  if (b.full) return a;
  Mask out;
  out.full = false;
  for (uint32_t c = 0; c < k_; ++c) out.chunks.push_back(b_.CreateAnd(a.chunks[c], b.chunks[c]));
  return out;
}

Mask Emitter::without(const Mask& a, const Mask& b) {
  Mask out;
  out.full = false;
  const Chunks left = chunksOf(a), right = chunksOf(b);
  for (uint32_t c = 0; c < k_; ++c) out.chunks.push_back(b_.CreateAnd(left[c], b_.CreateNot(right[c])));
  return out;
}

Mask Emitter::either(const Mask& a, const Mask& b) {
  if (a.full || b.full) return Mask{};
  Mask out;
  out.full = false;
  for (uint32_t c = 0; c < k_; ++c) out.chunks.push_back(b_.CreateOr(a.chunks[c], b.chunks[c]));
  return out;
}

Mask Emitter::maskOf(ValueId predicate, bool negated) {
  Mask out;
  out.full = false;
  for (uint32_t c = 0; c < k_; ++c) {
    Value* bit = chunkOf(predicate, c);
    out.chunks.push_back(negated ? b_.CreateNot(bit) : bit);
  }
  return out;
}

Mask Emitter::uniformMask(Value* bit) {
  Mask out;
  out.full = false;
  for (uint32_t c = 0; c < k_; ++c) out.chunks.push_back(b_.CreateVectorSplat(w_, bit));
  return out;
}

PartedMask Emitter::partedMaskOf(ValueId predicate, bool negated) {
  const PtxValue& v = program_.values[predicate];
  if (v.kind == PtxValue::Result) {
    const Instruction& i = program_.instructions[v.instruction];
    const bool combines = (i.ast->op == Op::And || i.ast->op == Op::Or) && i.ast->type() == Type::Pred;
    const bool parts = !options_.avx512 && combines && i.guard == kNone;  // registers for masks take a bit in one step
    for (size_t n = 0; parts && n < 2; ++n) {
      const ValueId same = i.sources[n], own = i.sources[1 - n];
      if (!readable(same) || !readable(own)) break;
      if (!program_.values[same].shape.uniform() || program_.values[own].shape.uniform()) continue;
      Value* const bit = b_.CreateFreeze(scalarOf(same));
      return {maskOf(own, i.negated[1 - n] != negated), i.negated[n] != negated ? b_.CreateNot(bit) : bit,
              (i.ast->op == Op::And) != negated};
    }
  }
  return {maskOf(predicate, negated)};
}

Mask Emitter::whole(const PartedMask& mask) {
  if (!mask.bit) return mask.lanes;
  return mask.needsBoth ? both(mask.lanes, uniformMask(mask.bit)) : either(mask.lanes, uniformMask(mask.bit));
}

llvm::Value* Emitter::withBit(const PartedMask& mask, Value* ofLanes) {
  if (!mask.bit) return ofLanes;
  return mask.needsBoth ? b_.CreateAnd(ofLanes, mask.bit) : b_.CreateOr(ofLanes, mask.bit);
}

Mask Emitter::constantMask(uint32_t lanes) {
  Mask out;
  out.full = false;
  for (uint32_t c = 0; c < k_; ++c) {
    llvm::SmallVector<llvm::Constant*, 16> bits;
    for (uint32_t l = 0; l < w_; ++l) bits.push_back(b_.getInt1(lanes >> (c * w_ + l) & 1));
    out.chunks.push_back(llvm::ConstantVector::get(bits));
  }
  return out;
}

Mask Emitter::guardedMask(const Instruction& i) {
  if (i.guard == kNone) return mask_;
  return both(mask_, maskOf(i.guard, i.guardNegated));
}

llvm::Value* Emitter::anyLane(const Mask& mask) {
  if (mask.full) return b_.getTrue();
  Value* all = mask.chunks[0];
  for (Value* chunk : llvm::drop_begin(mask.chunks)) all = b_.CreateOr(all, chunk);
  Value* const bits = b_.CreateFreeze(b_.CreateBitCast(all, integerType(w_)));
  return b_.CreateICmpNE(bits, llvm::ConstantInt::get(integerType(w_), 0));
}

llvm::Value* Emitter::anyLaneOfRow(const Mask& mask, uint32_t row) {
  if (mask.full) return b_.getTrue();
  if (rowLanes_ < w_) {
    Value* const bits = b_.CreateBitCast(mask.chunks[row * rowLanes_ / w_], integerType(w_));
    const uint64_t ofRow = ((uint64_t{1} << rowLanes_) - 1) << (row * rowLanes_ % w_);
    Value* const set = b_.CreateFreeze(b_.CreateAnd(bits, llvm::ConstantInt::get(bits->getType(), ofRow)));
    return b_.CreateICmpNE(set, llvm::ConstantInt::get(bits->getType(), 0));
  }
  const uint32_t count = rowLanes_ / w_;
  return anyLane({false, Chunks(llvm::ArrayRef(mask.chunks).slice(row * count, count))});
}

llvm::Value* Emitter::allLanes(const Mask& mask) {
  if (mask.full) return b_.getTrue();
  Value* all = mask.chunks[0];
  for (Value* chunk : llvm::drop_begin(mask.chunks)) all = b_.CreateAnd(all, chunk);
  Value* const bits = b_.CreateFreeze(b_.CreateBitCast(all, integerType(w_)));
  return b_.CreateICmpEQ(bits, llvm::Constant::getAllOnesValue(integerType(w_)));
}

llvm::Value* Emitter::maskBits(const Mask& mask) {
  if (mask.full) return b_.getInt32(~0u);
  Value* bits = b_.getInt32(0);
  for (uint32_t c = 0; c < k_; ++c) {
    Value* const part = b_.CreateZExt(b_.CreateBitCast(mask.chunks[c], integerType(w_)), b_.getInt32Ty());
    bits = b_.CreateOr(bits, b_.CreateShl(part, c * w_));
  }
  return b_.CreateFreeze(bits);
}

Mask Emitter::maskFromBits(Value* bits) {
  Mask out;
  out.full = false;
  for (uint32_t c = 0; c < k_; ++c) {
    Value* const part = b_.CreateTrunc(b_.CreateLShr(bits, c * w_), integerType(w_));
    if (options_.avx512) {
      out.chunks.push_back(b_.CreateBitCast(part, vectorOf(b_.getInt1Ty())));
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

llvm::Type* Emitter::maskSlotType() {
  if (options_.avx512) return vectorOf(b_.getInt1Ty());
  return vectorOf(lean ? b_.getInt8Ty() : b_.getInt32Ty());
}

llvm::SmallVector<llvm::AllocaInst*, 8> Emitter::makeMaskSlot(const char* name) {
  llvm::SmallVector<llvm::AllocaInst*, 8> slot;
  for (uint32_t c = 0; c < k_; ++c) slot.push_back(entryAlloca(maskSlotType(), name));
  return slot;
}

llvm::SmallVector<llvm::AllocaInst*, 8>& Emitter::maskSlot(Version v, BlockId b) {
  auto& slot = maskSlots_[{maskedVersion(v, program_.blocks[b].component), b}];
  if (slot.empty()) slot = makeMaskSlot("mask");
  return slot;
}

void Emitter::storeMask(ArrayRef<llvm::AllocaInst*> slot, const Mask& mask) {
  const Chunks chunks = chunksOf(mask);
  for (uint32_t c = 0; c < k_; ++c)
    b_.CreateStore(options_.avx512 ? chunks[c] : b_.CreateSExt(chunks[c], maskSlotType()), slot[c]);
}

Mask Emitter::loadMask(ArrayRef<llvm::AllocaInst*> slot) {
  Mask mask;
  mask.full = false;
  for (uint32_t c = 0; c < k_; ++c) {
    Value* chunk = b_.CreateLoad(maskSlotType(), slot[c]);
    if (!options_.avx512) chunk = b_.CreateICmpSLT(chunk, llvm::Constant::getNullValue(chunk->getType()));
    mask.chunks.push_back(chunk);
  }
  return mask;
}

}  // namespace vg::ptx::gen
