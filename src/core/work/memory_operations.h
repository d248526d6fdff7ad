// Waits for and writes to single words of memory in stream order: cuStreamWaitValue, cuStreamWriteValue and batches of
// them.
#pragma once

#include <cuda.h>

#include <memory>

#include "core/streams/stream.h"
#include "core/work/copy.h"
#include "core/work/work.h"

namespace vg::core {

struct CheckedOperations;  // to be run any number of times
struct EndMemoryOperations {
  void operator()(CheckedOperations* operations) const;
};
using OwnMemoryOperations = std::unique_ptr<CheckedOperations, EndMemoryOperations>;

// Checks operations of `context` that are to run later. Errors as of work::perform.
Result<OwnMemoryOperations> describeMemoryOperations(Context& context, const CUstreamBatchMemOpParams* operations,
                                                     unsigned count,
                                                     memory::Addresses addresses = memory::Addresses::Known);
// Performs them on the calling thread, which may wait long.
void perform(const CheckedOperations& operations);
// Whether there is memory now wherever they go.
bool reachable(const CheckedOperations& operations);

namespace work {

// MemoryOperations as a call gives them.
struct OperationsCall {
  const CUstreamBatchMemOpParams* operations;
  unsigned count;
};

// For Stream::give(): all operations are checked, then queued as one piece of work. An operation on memory that is no
// device, managed, pinned or registered memory, on a misaligned address or with unknown flags:
// CUDA_ERROR_INVALID_VALUE. A wait ends early when its context fails or ends.
Result<Work> keep(Stream& stream, const OperationsCall& call);
CUresult perform(Stream& stream, const OperationsCall& call, Form form);

}  // namespace work
}  // namespace vg::core
