// Which reads may wait for what others write. A loop whose end depends on one must let others run: the warps of its
// block, and the blocks that a GPU would run beside it. Compiled code and the interpreter use these facts alike.
#pragma once

#include "ptx/text/ast.h"

namespace vg::ptx {

// A read that sees what others write in any case: volatile, relaxed, acquire, atomics, tests of barrier objects.
bool readsStrongly(const Instruction& i);
// A load that says nothing of others. It sees what they write all the same where a fence stands between two of them, as
// in `while (*flag != 1) __threadfence();`.
bool readsWeakly(const Instruction& i);
// A weak load that goes past a multiprocessor's own cache (.cg), to where other blocks' stores are seen.
bool readsPastFirstCache(const Instruction& i);
// A copy that runs beside its thread: what it brings may be what a loop ends by, once it is waited for.
bool copiesBeside(const Instruction& i);
// Orders memory between threads, or lets time pass for others; not what only orders proxies.
bool fencesThreads(const Instruction& i);
// A meeting of some threads of a block, or of blocks of a cluster, behind which a place that was read is read anew. Not
// a barrier of the whole block: no warp of it is missing there.
bool meetsInPart(const Instruction& i);

}  // namespace vg::ptx
