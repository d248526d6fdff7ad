// Batches of decompressions: cuMemBatchDecompressAsync. The emulated device's engine is the host's libraries.
// Thread-safe.
#pragma once

#include <cuda.h>

#include "base/result.h"
#include "core/streams/stream.h"

namespace vg::core::memory {

// CUDA_ERROR_NOT_SUPPORTED when the context's device has no engine, which the vendor's driver says before it looks at
// anything else; without a context the first device is meant.
CUresult requireDecompression(const Context* context);

// Checks all operations, then queues them as one piece of work. `culprit` receives the operation that a failure is
// about, or SIZE_MAX. CUDA_ERROR_INVALID_VALUE for unknown
// algorithms, operations longer than the engine takes, and memory that is not the device's. Damaged input writes 0 to
// its *dstActBytes and a line to the log; the other operations go on.
CUresult decompressBatch(Stream& stream, const CUmemDecompressParams* operations, size_t count, size_t& culprit);

}  // namespace vg::core::memory
