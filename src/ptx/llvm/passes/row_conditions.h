// Conditions that hold for all lanes of a row or for none, such as tests of threadIdx.y, are combined as scalars and
// spread over the lanes once. InstCombine combines them as masks of which one lane counts; on AVX-512 each then goes to
// a mask register, and the lane that counts comes to the others by way of a whole vector.
#pragma once

#include <llvm/IR/Function.h>

namespace vg::ptx::gen {

void combineRowConditions(llvm::Function& function);

}  // namespace vg::ptx::gen
