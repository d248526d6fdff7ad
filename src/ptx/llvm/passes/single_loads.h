// Loads of a few lanes from shared memory, word by word. What a few lanes read there after a barrier is what each warp
// has left them: a vector over several stores that are still under way waits until all of them are in the cache, and
// with it the rest of the block; single words are passed on at once.
#pragma once

#include <llvm/IR/Function.h>
#include <llvm/IR/Instructions.h>

namespace vg::ptx::gen {

// Marks a masked load as one of shared memory.
void markShared(llvm::CallInst& load);
// Splits marked loads whose lanes have turned out to be constant and few.
void loadSingly(llvm::Function& function);

}  // namespace vg::ptx::gen
