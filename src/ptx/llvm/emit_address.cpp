// Addresses of loads, stores and atomics, in the shape of the register that holds them.
#include "ptx/llvm/emitter.h"

namespace vg::ptx::gen {

// The address in 64 bits. A register of 32 bits plus its displacement wraps around at 32: the register may hold a
// negative number.
llvm::Value* Emitter::displaced(Value* address, int64_t offset) {
  const bool narrow = address->getType()->getScalarSizeInBits() <= 32;
  Value* const base = asInteger(address, narrow ? 32 : 64);
  const auto amount = narrow ? static_cast<uint32_t>(offset) : static_cast<uint64_t>(offset);
  return asInteger(b_.CreateAdd(base, llvm::ConstantInt::get(base->getType(), amount)), 64);
}

// The same of the first lane of a row, to which the lanes' distances are added in 64 bits. That lane may be switched
// off and lie before the window: then its address is negative, and those of the others are still right.
llvm::Value* Emitter::rowStart(Value* first, int64_t offset) {
  if (first->getType()->getScalarSizeInBits() > 32) return displaced(first, offset);
  return b_.CreateAdd(b_.CreateSExt(asInteger(first, 32), b_.getInt64Ty()), b_.getInt64(static_cast<uint64_t>(offset)));
}

Emitter::Address Emitter::addressOf(const Instruction& i, size_t source, Space space) {
  Address a;
  a.space = space == Space::SharedCluster ? Space::Shared : space;
  a.value = i.sources[source];
  a.offset = i.offsets[source];
  const Form form = formOf(a.value);
  a.shape = program_.values[a.value].shape;
  a.holds = form.holds;
  if (form.scalar) {
    a.scalar = a.shape.affine() ? rowStart(form.scalar, a.offset) : displaced(form.scalar, a.offset);
    if (a.space == Space::Shared) a.scalar = b_.CreateAdd(sharedBase(), a.scalar);
  }
  return a;
}

llvm::Value* Emitter::addressChunk(const Address& a, uint32_t c) {
  Value* const v = displaced(chunkOf(a.value, c), a.offset);
  return a.space == Space::Shared ? b_.CreateAdd(v, b_.CreateVectorSplat(w_, sharedBase())) : v;
}

llvm::Value* Emitter::addressLane(const Address& a, Value* lane) {
  Value* const v = displaced(laneOf(a.value, lane), a.offset);
  return a.space == Space::Shared ? b_.CreateAdd(sharedBase(), v) : v;
}

// Whether the lanes of a warp access consecutive elements; a.value varies.
llvm::Value* Emitter::consecutive(const Address& a, uint32_t stride, const Mask& mask) {
  const Chunks values = vectorsOf(a.value);
  LType* const element = values[0]->getType()->getScalarType();
  Value* const first = b_.CreateExtractElement(values[0], uint64_t{0});
  Mask equal;
  equal.full = false;
  for (uint32_t c = 0; c < k_; ++c) {
    Value* const expected = b_.CreateAdd(b_.CreateVectorSplat(w_, first), iota(c, element, stride));
    Value* same = b_.CreateICmpEQ(values[c], expected);
    if (!mask.full) same = b_.CreateOr(same, b_.CreateNot(mask.chunks[c]));
    equal.chunks.push_back(same);
  }
  return allLanes(equal);
}

}  // namespace vg::ptx::gen
