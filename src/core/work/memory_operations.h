// Waits for and writes to single words of memory in stream order: cuStreamWaitValue, cuStreamWriteValue and batches of
// them.
#pragma once

#include <cuda.h>

#include <memory>

#include "core/streams/stream.h"
#include "core/work/copy.h"

namespace vg::core {

struct MemoryOperations;  // checked ones, to be run any number of times
struct EndMemoryOperations {
  void operator()(MemoryOperations* operations) const;
};
using OwnMemoryOperations = std::unique_ptr<MemoryOperations, EndMemoryOperations>;

// Checks operations of `context` that are to run later. Errors as of queueMemoryOperations.
Result<OwnMemoryOperations> describeMemoryOperations(Context& context, const CUstreamBatchMemOpParams* operations,
                                                     unsigned count,
                                                     memory::Addresses addresses = memory::Addresses::Known);
// Performs them on the calling thread, which may wait long.
void perform(const MemoryOperations& operations);
bool waits(const MemoryOperations& operations);

// Checks all operations, then queues them as one piece of work. An operation on memory that is no device, managed,
// pinned or registered memory, on a misaligned address or with unknown flags: CUDA_ERROR_INVALID_VALUE. A wait ends
// early when its context fails or ends.
CUresult queueMemoryOperations(Stream& stream, const CUstreamBatchMemOpParams* operations, unsigned count);

}  // namespace vg::core
