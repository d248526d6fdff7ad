// Keeps the warps of a block abreast where programs lean on it. Compiled code runs one warp far ahead of the others;
// on a GPU a value that all warps read behind a barrier has been read long before the first of them is at its next
// store there, barrier or not: `m = scratch[0]; ...; scratch[0] = sum;`.
#pragma once

#include "ptx/llvm/ir/warp_ir.h"

namespace vg::ptx::gen {

// Adds pauses (isPause): places where a warp stops until the others have come as far as they can. One stands before a
// store to shared memory where warps have yet to read what it may overwrite, written before the last barrier. Nothing
// depends on pauses but what races; kernels without such a store stay as they are. Requires analyseShapes.
//
// Left alone: what is in one thread's or one warp's own hands, buffers that take turns, stores that follow their loads
// so closely that no GPU would order them either, and loops without a barrier of their own.
void keepWarpsAbreast(Program& program);

}  // namespace vg::ptx::gen
