// Masks of lanes as words of all ones or none, for processors without registers for masks. LLVM keeps what is made of
// several comparisons, or of comparisons of other blocks, in vectors of 16-bit elements, and packs and unpacks around
// each use.
#pragma once

#include <llvm/IR/Function.h>

namespace vg::ptx::gen {

// To run last: what merges equal instructions of different blocks afterwards would undo it.
void widenMasks(llvm::Function& function);

}  // namespace vg::ptx::gen
