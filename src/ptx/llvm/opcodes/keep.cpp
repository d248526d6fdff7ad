#include "ptx/llvm/opcodes/keep.h"

namespace vg::ptx::gen {

using kept::Head;

llvm::Value* KeptRegisters::place(uint32_t offset) {
  Value* const block = runner_.blockField(offsetof(BlockState, kept), b_.getPtrTy());
  Value* const warp = b_.CreateZExt(runner_.warp, b_.getInt64Ty());
  Value* const at = b_.CreateAdd(b_.CreateMul(warp, b_.getInt64(options_.kept->bytes)), b_.getInt64(offset));
  return b_.CreateInBoundsGEP(b_.getInt8Ty(), block, {at});
}

// Volatile: nobody here reads it, and it must be there whenever the kernel stops.
void KeptRegisters::storeChunks(uint32_t offset, Chunks chunks, uint32_t bits, const Mask& lanes) {
  for (uint32_t c = 0; c < k_; ++c) {
    Value* const at = place(offset + c * w_ * (bits / 8));
    Value* chunk = b_.asInteger(chunks[c], bits);
    if (!lanes.full) {
      Value* const before = b_.CreateAlignedLoad(chunk->getType(), at, llvm::Align(4));
      chunk = b_.CreateSelect(lanes.chunks[c], chunk, before);
    }
    b_.CreateAlignedStore(chunk, at, llvm::Align(4), /*isVolatile=*/true);
  }
}

void KeptRegisters::storeBits(uint32_t offset, Value* bits, const Mask& lanes) {
  Value* const at = place(offset);
  if (!lanes.full) {
    Value* const here = masks_.maskBits(lanes);
    Value* const before = b_.CreateAlignedLoad(b_.getInt32Ty(), at, llvm::Align(4));
    bits = b_.CreateOr(b_.CreateAnd(bits, here), b_.CreateAnd(before, b_.CreateNot(here)));
  }
  b_.CreateAlignedStore(bits, at, llvm::Align(4), /*isVolatile=*/true);
}

void KeptRegisters::emitNote(const Instruction& i, uint32_t line) {
  const Mask lanes = predicates_.guardedMask(i);
  storeChunks(offsetof(Head, lines), Chunks(k_, b_.CreateVectorSplat(w_, b_.getInt32(line))), 32, lanes);
  Value* here = masks_.maskBits(lanes);
  if (line == kept::kEnded) {  // those that stay
    Value* const before = b_.CreateAlignedLoad(b_.getInt32Ty(), place(offsetof(Head, lanes)), llvm::Align(4));
    here = b_.CreateAnd(before, b_.CreateNot(here));
  }
  b_.CreateAlignedStore(here, place(offsetof(Head, lanes)), llvm::Align(4), /*isVolatile=*/true);
}

void KeptRegisters::emit(const Instruction& i) {
  const Operand& operand = i.function->operands[i.ast->first];
  if (kept::notes(*i.ast, *i.function)) return emitNote(i, static_cast<uint32_t>(operand.bits));
  const std::vector<uint32_t>* const offsets = options_.kept->of(i.functionIndex);
  if (!offsets) return;
  const uint32_t offset = (*offsets)[operand.reg];
  const Type type = i.function->registers[operand.reg].type;
  const Chunks chunks = values_.vectorsOf(i.sources[0]);
  if (type == Type::Pred)
    storeBits(offset, masks_.maskBits({false, chunks}), masks_.here);
  else
    storeChunks(offset, chunks, std::max(bitsOf(type), 8u), masks_.here);
}

}  // namespace vg::ptx::gen
