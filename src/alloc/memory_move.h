// Moving memory of the process into an object that other processes can map, while threads use it.
//
// Granule by granule: the pages become read-only, their content is copied, the object is mapped in their place. A store
// that comes in between faults; the handler of SIGSEGV hands the fault to awaitMove(), which sleeps until the granule
// has moved and lets the store run again. Loads never notice: both copies are equal as long as the first is read-only,
// and the system changes the mapping in one step.
#pragma once

#include "alloc/shared_memory.h"
#include "base/result.h"

namespace vg::alloc {

// Moves what is left of [start, start + bytes), from shared.moved on; says in shared.moved how far it came. One move at
// a time in the process. CUDA_ERROR_OUT_OF_MEMORY when the system refuses. Requires: committed memory of the process,
// whole pages; shared.memory is of the host and has as many bytes.
CUresult moveTo(SharedMemory& shared, std::byte* start, size_t bytes);

// For a handler of SIGSEGV, about a fault of access (SEGV_ACCERR) in the calling thread: true when the instruction is
// to run again, once the address has moved. Async-signal-safe.
bool awaitMove(const void* address);

}  // namespace vg::alloc
