// Checked mode: what VERDIGRIS_CHECK asks for. The face of this folder.
//
// While a tool of kernels is on, kernels are compiled with checks (compiled.h), or run by the reference interpreter
// with an observer: accesses outside of memory (memory), unordered accesses to shared memory (race), barriers and warp
// operations that not everybody comes to (sync), reads of memory that nobody has written (init). Calls of the API are
// looked at by calls.h. Off, nothing of this folder runs but start().
#pragma once

#include <cuda.h>

#include <cstdint>
#include <string>

#include "alloc/memory_table.h"
#include "check/tools.h"
#include "ptx/interpreter/observer.h"

namespace vg::check {

// Reads the settings; with a tool on, watches allocations and copies from now on and reports at the end of the process.
// Call once, before anything is allocated.
void start(const alloc::MemoryTable& table);

// Hears of the first access of a grid that a device would have stopped it for, from the thread that means to make it:
// `block` says which warp, lane and line.
using FirstFault = void (*)(const ptx::BlockState& block, CUresult error);
// Who looks on while kernels run; null when no tool is on.
ptx::Observer* observer(FirstFault told);

// The error that a device would have stopped this grid with; CUDA_SUCCESS when there is none. Forgets the answer.
CUresult takeFaulted(uint64_t grid);
// The block has ended.
void tellEnded(const ptx::BlockState& block);
// The launch is about to end because all warps of the block wait for ever.
void tellStuck(const ptx::BlockState& block);

class BlockChecks;
// Of a block that runs.
BlockChecks& blockChecks(const ptx::BlockState& block);

// Memory that is divided into parts: the variables of a module, the heap of kernels.
void beginParts(CUdeviceptr address, size_t bytes);
// `lasting`: until endParts(); others may be removed by a kernel that runs.
void addPart(CUdeviceptr address, size_t bytes, std::string name, bool lasting = false);
void removePart(CUdeviceptr address);
void endParts(CUdeviceptr address, size_t bytes);
// Bytes to keep free between parts.
inline constexpr size_t kGapBetweenParts = 64;

}  // namespace vg::check
