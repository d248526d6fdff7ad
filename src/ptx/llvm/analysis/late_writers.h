// Loops that read what the other warps' loop before them writes, with no barrier between:
//   for (i = tid; i < n; i += threads) a[i] = ...;
//   for (k = tid; k < n; k += width) sum += a[k];
// A GPU runs both loops for all warps of a block at about the same speed, and the first has ended in all of them before
// the second has come far; code that runs one warp far ahead reads what nobody has written yet. So does a loop behind
// stores to shared memory that are in no loop:
//   a[tid] = ...;
//   if (tid == 0)
//     for (k = 0; k < threads; k++) out[k] = a[k];     // or a bulk copy
#pragma once

#include "ptx/llvm/ir/warp_ir.h"

namespace vg::ptx::gen {

// Adds pauses between such loops, where all warps come by, in kernels that have barriers. Requires analyseShapes.
// Left alone: loops inside one that has no barrier, and memory whose pointers have no origin in common. Behind stores
// that are in no loop also: what a barrier of the warp follows, and places of each thread's own.
void waitForLateWriters(Program& program);

}  // namespace vg::ptx::gen
