// Memory of another library or process, imported by descriptor: cuImportExternalMemory and the buffers mapped from it.
//
// Objects and buffers belong to the context that imported them and end with it. A buffer is freed with cuMemFree and
// outlives the object it was mapped from. All functions are thread-safe.
#pragma once

#include <cuda.h>

#include "alloc/record.h"
#include "base/result.h"

namespace vg::core {

class Context;

namespace memory {

// Takes the descriptor over when it succeeds. Accepts memory files (memfd) whose owner cannot make them smaller; other
// descriptors: CUDA_ERROR_UNKNOWN, other types: CUDA_ERROR_INVALID_VALUE, both as the vendor's driver answers.
Result<CUexternalMemory> importExternal(Context& context, const CUDA_EXTERNAL_MEMORY_HANDLE_DESC& description);
CUresult destroyExternal(CUexternalMemory handle);
Result<CUdeviceptr> mapExternalBuffer(CUexternalMemory handle, const CUDA_EXTERNAL_MEMORY_BUFFER_DESC& description);

// Whether a record of Kind::Imported is such a buffer, and its end: cuMemFree, when nothing uses it any more. False
// when somebody else has ended it.
bool isExternalBuffer(const alloc::Record& record);
bool freeExternalBuffer(CUdeviceptr address, uint64_t id);
void releaseExternal(Context& context);

}  // namespace memory
}  // namespace vg::core
