// Doubles that come from floats, as literals without an f bring them in: twice such a value, or another power of two of
// it, is exact in a double. So a sum or difference with it is one fused operation, to the bit.
#pragma once

#include <llvm/IR/Function.h>

namespace vg::ptx::gen {

// For processors with fused operations.
void fuseExactProducts(llvm::Function& function);

}  // namespace vg::ptx::gen
