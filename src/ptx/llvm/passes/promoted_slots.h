// The emitter's slots to registers.
#pragma once

#include <llvm/IR/Function.h>

namespace vg::ptx::gen {

// LLVM looks for the places of phis in all that a store dominates: in a large kernel, most of it, for each of thousands
// of slots. Those of large functions whose values live across few blocks are promoted by a walk over these alone.
void promoteSlots(llvm::Function& function);

// Only those that cost no phi: for code that is made soon, where registers that live across blocks go to memory anyway.
void promoteFreeSlots(llvm::Function& function);

}  // namespace vg::ptx::gen
