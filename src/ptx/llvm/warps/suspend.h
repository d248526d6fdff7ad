// Splits a function where warps wait for each other: there a warp keeps what it still needs in its frame and returns
// to the loop over warps; that loop's dispatch brings it back.
#pragma once

#include <llvm/ADT/SetVector.h>

#include "ptx/llvm/warps/suspend_frame.h"

namespace vg::ptx::gen {

// What warps run from a block on to where they wait or end, in an order that does not depend on addresses.
using WarpBlocks = llvm::SmallSetVector<llvm::BasicBlock*, 16>;
WarpBlocks blocksFrom(const SuspendFrame& frame, llvm::BasicBlock* first);

// Of a marker: warps that stop there go on before any that wait at others, where they need not all be `alike`.
void markPause(llvm::CallInst& marker);

// Turns each marker call into a return to the loop, with everything live kept in the frame, and erases it. Requires:
// values that live from one copy of a block to another are in allocas or dominate their uses; a warp's state lies in
// no other memory of the function. Returns KernelTraits::frameBytes.
uint32_t splitAtSuspends(const SuspendFrame& frame, llvm::ArrayRef<llvm::CallInst*> markers);

}  // namespace vg::ptx::gen
