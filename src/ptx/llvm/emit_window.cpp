// Gathers from shared memory and scatters to it, by 32-bit indices: half as many instructions as by 64-bit addresses,
// to compile and to run.
#include <llvm/IR/IntrinsicsX86.h>

#include "ptx/llvm/emitter.h"

namespace vg::ptx::gen {
namespace {

// Processors extend indices by their sign, and addresses in shared memory have none: all count from the middle of the
// 4 GiB that they reach, so that wild ones hit what lies behind the window.
constexpr uint32_t kMiddle = uint32_t{1} << 31;

}  // namespace

bool Emitter::indexesWindow(const Address& a, uint32_t bits, bool isVolatile) const {
  return options_.avx512 && w_ == 16 && !isVolatile && (bits == 32 || bits == 64) && a.space == Space::Shared &&
         bitsOf(program_.values[a.value].type) == 32;
}

llvm::Value* Emitter::windowMiddle() { return pointer(b_.CreateAdd(sharedBase(), b_.getInt64(kMiddle))); }

llvm::Value* Emitter::windowIndices(const Address& a, uint32_t chunk, int64_t offset) {
  Value* const lanes = asInteger(chunkOf(a.value, chunk), 32);
  return b_.CreateAdd(lanes, number(lanes, b_.getInt32Ty(), static_cast<uint32_t>(a.offset + offset) + kMiddle));
}

llvm::Value* Emitter::gatherWindow(Value* indices, uint32_t bits, Value* mask) {
  if (bits == 64 && llvm::cast<llvm::FixedVectorType>(indices->getType())->getNumElements() > 8)
    return concat(gatherWindow(slice(indices, 0, 8), bits, slice(mask, 0, 8)),
                  gatherWindow(slice(indices, 8, 8), bits, slice(mask, 8, 8)));
  const auto id =
      bits == 32 ? llvm::Intrinsic::x86_avx512_mask_gather_dpi_512 : llvm::Intrinsic::x86_avx512_mask_gather_dpq_512;
  Value* const zero = llvm::Constant::getNullValue(like(indices, integerType(bits)));
  return callIntrinsic(id, {}, {zero, windowMiddle(), indices, mask, b_.getInt32(1)});
}

void Emitter::scatterWindow(Value* indices, Value* data, uint32_t bits, Value* mask) {
  if (bits == 64 && llvm::cast<llvm::FixedVectorType>(indices->getType())->getNumElements() > 8) {
    scatterWindow(slice(indices, 0, 8), slice(data, 0, 8), bits, slice(mask, 0, 8));
    return scatterWindow(slice(indices, 8, 8), slice(data, 8, 8), bits, slice(mask, 8, 8));
  }
  const auto id =
      bits == 32 ? llvm::Intrinsic::x86_avx512_mask_scatter_dpi_512 : llvm::Intrinsic::x86_avx512_mask_scatter_dpq_512;
  callIntrinsic(id, {}, {windowMiddle(), mask, indices, data, b_.getInt32(1)});
}

}  // namespace vg::ptx::gen
