// What loads and stores share.
#pragma once

#include <llvm/IR/IRBuilder.h>

namespace vg::ptx::gen {

// The scratch arrays from here on hold the elements that lanes load or store.
inline constexpr uint32_t kFirstElement = 8;

// What the processor reads or writes in one access for `bytes` bytes: programs rely on it that a vector of up to 16
// bytes, aligned to its size, is seen as a whole (the tile states of look-back scans). Null: it takes several.
inline llvm::Type* wholeType(llvm::IRBuilderBase& b, uint32_t bytes) {
  if (bytes == 16) return llvm::FixedVectorType::get(b.getInt64Ty(), 2);
  return bytes < 16 && llvm::isPowerOf2_32(bytes) ? b.getIntNTy(bytes * 8) : nullptr;
}

}  // namespace vg::ptx::gen
