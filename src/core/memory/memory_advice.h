// Advice about managed memory: cuMemAdvise, cuMemPrefetchAsync, cuStreamAttachMemAsync, their batches and the queries
// of it. It is validated, remembered for the pages that it names (core/memory/advice_table.h) and answered. Where
// devices have memory of their own, whoever moves managed memory is told (backend/movable_memory.h). Thread-safe.
#pragma once

#include <cuda.h>

#include "base/result.h"
#include "core/streams/stream.h"

namespace vg::core::memory {

// The older functions name a device, or CU_DEVICE_CPU for the host: CUDA_ERROR_INVALID_DEVICE where it is neither and
// the advice asks for one.
CUresult advise(CUdeviceptr pointer, size_t bytes, CUmem_advise advice, CUmemLocation location);
CUresult adviseDevice(CUdeviceptr pointer, size_t bytes, CUmem_advise advice, CUdevice device);
CUresult prefetch(Stream& stream, CUdeviceptr pointer, size_t bytes, CUmemLocation destination);
CUresult prefetchToDevice(Stream& stream, CUdeviceptr pointer, size_t bytes, CUdevice device);

// Ranges of a batch. `places` has one entry for the ranges from firsts[i] up to the next; firsts[0] is 0 and they do
// not fall. All ranges or, with an error, none.
struct RangeBatch {
  const CUdeviceptr* pointers;
  const size_t* bytes;
  size_t count;
};
CUresult prefetchBatch(Stream& stream, const RangeBatch& ranges, const CUmemLocation* places, const size_t* firsts,
                       size_t placeCount);
// The content becomes undefined; here it stays what it was.
CUresult discardBatch(Stream& stream, const RangeBatch& ranges);

// cuMemGetLocationInfo: for each `summary` bytes of a range of managed or pageable memory where most of it lies, by
// looking at every `sampling` bytes (0: every page). Managed memory is where it was prefetched to last; what was not,
// and pageable memory, on the host's node that has the page, or nowhere yet.
CUresult locate(CUdeviceptr pointer, size_t bytes, size_t summary, size_t sampling, CUmemLocation* places);

// Checks the attribute and the size of its answer.
CUresult checkRangeQuery(int which, size_t dataSize);
// What holds for the whole range. Requires: checkRangeQuery.
CUresult rangeAttribute(void* data, size_t dataSize, int which, CUdeviceptr pointer, size_t bytes);

// `byNullStream`: the caller said NULL for the legacy stream, and then CU_MEM_ATTACH_SINGLE is
// CUDA_ERROR_INVALID_VALUE. CU_STREAM_LEGACY is as good as any stream to the driver.
CUresult attach(Stream& stream, bool byNullStream, CUdeviceptr pointer, size_t bytes, unsigned flags);

}  // namespace vg::core::memory
