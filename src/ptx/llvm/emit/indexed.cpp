// Gathers and scatters by a base and 32-bit distances from it: half as many instructions as by 64-bit addresses, to
// compile and to run. What has such a base are addresses in shared memory, and lanes that are a constant step apart.
#include <llvm/IR/IntrinsicsX86.h>

#include <cstdlib>

#include "ptx/llvm/emit/emitter.h"

namespace vg::ptx::gen {
namespace {

// Processors extend indices by their sign, and addresses in shared memory have none: all count from the middle of the
// 4 GiB that they reach, so that wild ones hit what lies behind the window.
constexpr uint32_t kMiddle = uint32_t{1} << 31;

// Between lanes whose 32-bit addresses, if they lie in shared memory, are as far from each other in 64 bits.
constexpr int64_t kFarthestStep = 1 << 20;

}  // namespace

bool Emitter::hasSteps(const Address& a) const {
  return a.shape.straight() && !a.holds && std::abs(a.shape.stride) <= kFarthestStep;
}

bool Emitter::hasIndices(const Address& a, bool isVolatile) const {
  if (!options_.avx512 || w_ != 16 || isVolatile) return false;
  const bool inWindow = a.space == Space::Shared && bitsOf(program_.values[a.value].type) == 32;
  return inWindow || (hasSteps(a) && lanesInPiece(a) == w_);
}

Emitter::Indices Emitter::indicesOf(const Address& a, uint32_t chunk, int64_t offset, uint32_t bits) {
  if (hasSteps(a) && lanesInPiece(a) == w_) return stepsOf(a, chunk, offset, bits);
  Value* const lanes = asInteger(chunkOf(a.value, chunk), 32);
  return {pointer(b_.CreateAdd(sharedBase(), b_.getInt64(kMiddle))),
          b_.CreateAdd(lanes, number(lanes, b_.getInt32Ty(), static_cast<uint32_t>(a.offset + offset) + kMiddle))};
}

// Elements smaller than a word are found from an aligned base.
Emitter::Indices Emitter::stepsOf(const Address& a, uint32_t chunk, int64_t offset, uint32_t bits) {
  Value* const steps = iota(0, b_.getInt32Ty(), a.shape.stride);
  Value* const first = placeInRow(a, chunk * w_, a.shape.stride, offset);
  if (bits >= 32) return {first, steps};
  Value* const address = b_.CreatePtrToInt(first, b_.getInt64Ty());
  Value* const rest = b_.CreateTrunc(b_.CreateAnd(address, 3), b_.getInt32Ty());
  return {pointer(b_.CreateAnd(address, ~uint64_t{3})), b_.CreateAdd(steps, b_.CreateVectorSplat(w_, rest))};
}

llvm::Value* Emitter::gatherIndexed(const Indices& at, uint32_t bits, Value* mask) {
  if (bits < 32) {
    Value* const words = b_.CreateAnd(at.bytes, number(at.bytes, b_.getInt32Ty(), ~uint32_t{3}));
    return partOfWord(gatherIndexed({at.base, words}, 32, mask), at.bytes, bits);
  }
  if (bits == 64 && llvm::cast<llvm::FixedVectorType>(at.bytes->getType())->getNumElements() > 8)
    return concat(gatherIndexed({at.base, slice(at.bytes, 0, 8)}, bits, slice(mask, 0, 8)),
                  gatherIndexed({at.base, slice(at.bytes, 8, 8)}, bits, slice(mask, 8, 8)));
  const auto id =
      bits == 32 ? llvm::Intrinsic::x86_avx512_mask_gather_dpi_512 : llvm::Intrinsic::x86_avx512_mask_gather_dpq_512;
  Value* const zero = llvm::Constant::getNullValue(like(at.bytes, integerType(bits)));
  return callIntrinsic(id, {}, {zero, at.base, at.bytes, mask, b_.getInt32(1)});
}

void Emitter::scatterIndexed(const Indices& at, Value* data, uint32_t bits, Value* mask) {
  if (bits == 64 && llvm::cast<llvm::FixedVectorType>(at.bytes->getType())->getNumElements() > 8) {
    scatterIndexed({at.base, slice(at.bytes, 8, 8)}, slice(data, 8, 8), bits, slice(mask, 8, 8));
    return scatterIndexed({at.base, slice(at.bytes, 0, 8)}, slice(data, 0, 8), bits, slice(mask, 0, 8));
  }
  Value* bytes = at.bytes;
  const auto* const steps = llvm::dyn_cast<llvm::Constant>(bytes);
  if (!steps || steps->isNullValue())  // places may be the same: the lowest lane's value stays
    bytes = reversed(bytes), data = reversed(data), mask = reversed(mask);
  const auto id =
      bits == 32 ? llvm::Intrinsic::x86_avx512_mask_scatter_dpi_512 : llvm::Intrinsic::x86_avx512_mask_scatter_dpq_512;
  callIntrinsic(id, {}, {at.base, mask, bytes, data, b_.getInt32(1)});
}

}  // namespace vg::ptx::gen
