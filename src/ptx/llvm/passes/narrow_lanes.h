// Computes vectors only as wide as somebody reads them. Sums and shuffles of a warp that end in lane 0, as reductions
// do, need half as many lanes after each step; LLVM's own passes see that only where a value has a single use.
#pragma once

#include <llvm/IR/Function.h>

namespace vg::ptx::gen {

// Leaves dead instructions behind for the passes that follow.
void narrowLanes(llvm::Function& function);

}  // namespace vg::ptx::gen
