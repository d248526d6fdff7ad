// Decompression by the device.
#include "core/memory/memory_decompress.h"

#include "api/entry/call.h"

namespace vg::handlers {

CUresult cuMemBatchDecompressAsync(const Call& call, CUmemDecompressParams* paramsArray, size_t count,
                                   unsigned int flags, size_t* errorIndex, CUstream stream) {
  VG_CHECK(core::memory::requireDecompression(core::threadState.current));
  if (errorIndex) *errorIndex = SIZE_MAX;
  VG_TRY(core::Stream & queue, call.resolve(stream));
  if (flags) return fail(CUDA_ERROR_INVALID_VALUE, "flags %#x are reserved", flags);
  if (!paramsArray || !count)
    return fail(CUDA_ERROR_INVALID_VALUE, "%zu decompressions at %p", count, static_cast<void*>(paramsArray));
  size_t culprit = SIZE_MAX;
  const CUresult result = core::memory::decompressBatch(queue, paramsArray, count, culprit);
  if (result != CUDA_SUCCESS && errorIndex) *errorIndex = culprit;
  return result;
}

}  // namespace vg::handlers
