// cuMemMapArrayAsync: memory of the application behind sparse arrays and arrays of deferred mapping.
#pragma once

#include <cuda.h>

#include <cstddef>

#include "base/result.h"
#include "core/streams/stream.h"

namespace vg::core {

// Checks all entries, then maps and unmaps in stream order. CUDA_ERROR_INVALID_VALUE for the first entry that is wrong:
// then nothing is done. Memory stays alive as long as something of the array lies in it.
CUresult mapArrays(Stream& stream, const CUarrayMapInfo* entries, size_t count);

}  // namespace vg::core
