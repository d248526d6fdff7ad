// Waits for and writes to single words of memory in stream order: cuStreamWaitValue, cuStreamWriteValue and batches of
// them.
#pragma once

#include <cuda.h>

#include "core/stream.h"

namespace vg::core {

// Checks all operations, then queues them as one piece of work. An operation on memory that is no device, managed,
// pinned or registered memory, on a misaligned address or with unknown flags: CUDA_ERROR_INVALID_VALUE. A wait ends
// early when its context fails or ends.
CUresult queueMemoryOperations(Stream& stream, const CUstreamBatchMemOpParams* operations, unsigned count);

}  // namespace vg::core
