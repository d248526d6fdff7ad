// Device memory between processes: cuIpcGetMemHandle and its relatives.
//
// Exporting makes an allocation shared memory (alloc/heap.h) and offers it under a handle (ipc/exporter.h) until it is
// freed. An import is a mapping of those bytes, with a record of its own; it stays valid whatever becomes of the
// exporter. One import a handle: opening it again counts. All functions are thread-safe.
#pragma once

#include <cuda.h>

#include "base/result.h"

namespace vg::core {

class Context;

namespace ipc_memory {

// The handle of the allocation that contains the address, the same one each time. CUDA_ERROR_INVALID_VALUE for memory
// that is not of cuMemAlloc's making.
Result<CUipcMemHandle> handleOf(CUdeviceptr address);

// What the vendor's driver answers: CUDA_ERROR_INVALID_CONTEXT in the exporting process, CUDA_ERROR_INVALID_VALUE for
// what is no handle, CUDA_ERROR_INVALID_HANDLE when the exporter is gone or another context of the same device has
// memory of the exporter's device open, CUDA_ERROR_NOT_PERMITTED when the memory was freed. `again`: what to do about a
// handle that this context has open.
enum class Again { Count, Refuse };  // Refuse: CUDA_ERROR_ALREADY_MAPPED
Result<CUdeviceptr> open(Context& context, const CUipcMemHandle& handle, Again again = Again::Count);

// The last close waits for the work of the importing context. CUDA_ERROR_INVALID_VALUE for what open() did not return.
CUresult close(CUdeviceptr address);

// Ends all imports of a context, after its streams are drained.
void closeAll(Context& context);

}  // namespace ipc_memory
}  // namespace vg::core
