// Linear device memory and managed memory.
#include <algorithm>

#include "api/entry/call.h"
#include "api/memory/era.h"
#include "base/raw_enum.h"
#include "core/contexts/current_context.h"
#include "core/memory/memory.h"
#include "core/memory/memory_advice.h"
#include "core/modules/variable_ranges.h"

namespace vg::handlers {
CUresult cuMemAlloc_v2(const Call& call, CUdeviceptr* dptr, size_t bytesize) {
  if (!dptr) return missing("dptr");
  *dptr = 0;  // what a caller finds after a failure
  VG_TRY(*dptr, core::memory::allocate(*call.context, bytesize));
  return CUDA_SUCCESS;
}

CUresult cuMemAllocPitch_v2(const Call& call, CUdeviceptr* dptr, size_t* pPitch, size_t WidthInBytes, size_t Height,
                            unsigned int ElementSizeBytes) {
  if (!dptr || !pPitch) return missing("dptr or pPitch");
  *dptr = 0;
  *pPitch = 0;
  VG_TRY(const core::memory::PitchedSize size, core::memory::pitchedSize(WidthInBytes, Height, ElementSizeBytes));
  *pPitch = size.pitch;
  VG_TRY(*dptr, core::memory::allocatePitched(*call.context, size));
  return CUDA_SUCCESS;
}

CUresult cuMemAllocManaged(const Call& call, CUdeviceptr* dptr, size_t bytesize, unsigned int flags) {
  if (!dptr) return missing("dptr");
  *dptr = 0;
  VG_TRY(*dptr, core::memory::allocateManaged(*call.context, bytesize, flags));
  return CUDA_SUCCESS;
}

// Needs no context, but reports the one that there is.
CUresult cuMemFree_v2(const Call&, CUdeviceptr dptr) {
  if (core::threadState.current) VG_CHECK(core::currentContext());
  return core::memory::release(dptr);
}

CUresult cuMemGetInfo_v2(const Call& call, size_t* free, size_t* total) {
  const core::memory::Usage usage = core::memory::usage(*call.context);
  if (free) *free = usage.free;
  if (total) *total = usage.total;
  return CUDA_SUCCESS;
}

// The form of the 32-bit era: what does not fit its numbers is said as the largest one.
CUresult cuMemGetInfo(const Call& call, unsigned int* free, unsigned int* total) {
  if (free) *free = 0;
  if (total) *total = 0;
  VG_CHECK(checkEra(call));
  const core::memory::Usage usage = core::memory::usage(*call.context);
  if (free) *free = static_cast<unsigned>(std::min<size_t>(usage.free, UINT32_MAX));
  if (total) *total = static_cast<unsigned>(std::min<size_t>(usage.total, UINT32_MAX));
  return CUDA_SUCCESS;
}

CUresult cuMemGetAddressRange_v2(const Call&, CUdeviceptr* pbase, size_t* psize, CUdeviceptr dptr) {
  if (pbase) *pbase = 0;
  if (psize) *psize = 0;
  const alloc::Record* record = core::memory::lookup(dptr);
  if (!record || !core::memory::accessible(*record) || core::memory::dormant(record))
    return fail(CUDA_ERROR_NOT_FOUND, "%#llx is in no allocation", dptr);
  const auto variable = core::variables::at(dptr);
  if (pbase) *pbase = variable ? variable->address : record->base.load(std::memory_order_relaxed);
  if (psize) *psize = variable ? variable->size : record->bytes();
  return CUDA_SUCCESS;
}

CUresult cuMemAdvise_v2(const Call&, CUdeviceptr devPtr, size_t count, CUmem_advise advice, CUmemLocation location) {
  return core::memory::advise(devPtr, count, advice, location);
}

CUresult cuMemAdvise(const Call&, CUdeviceptr devPtr, size_t count, CUmem_advise advice, CUdevice device) {
  return core::memory::adviseDevice(devPtr, count, advice, device);
}

CUresult cuMemPrefetchAsync_v2(const Call& call, CUdeviceptr devPtr, size_t count, CUmemLocation location,
                               unsigned int flags, CUstream hStream) {
  if (flags) return fail(CUDA_ERROR_INVALID_VALUE, "flags %#x are reserved", flags);
  VG_TRY(core::Stream & stream, call.resolve(hStream));
  return core::memory::prefetch(stream, devPtr, count, location);
}

CUresult cuMemPrefetchAsync(const Call& call, CUdeviceptr devPtr, size_t count, CUdevice dstDevice, CUstream hStream) {
  VG_TRY(core::Stream & stream, call.resolve(hStream));
  return core::memory::prefetchToDevice(stream, devPtr, count, dstDevice);
}

namespace {

// The stream of a batch about managed memory: no reserved flags, and not the legacy stream.
Result<core::Stream&> streamOfBatch(const Call& call, unsigned long long flags, CUstream hStream) {
  if (flags) return fail(CUDA_ERROR_INVALID_VALUE, "flags %#llx are reserved", flags);
  VG_TRY(core::Stream & stream, call.resolve(hStream));
  if (stream.kind() == core::Stream::Kind::Legacy)
    return fail(CUDA_ERROR_INVALID_VALUE, "batches do not run in the legacy stream");
  return stream;
}

}  // namespace

CUresult cuMemPrefetchBatchAsync(const Call& call, CUdeviceptr* dptrs, size_t* sizes, size_t count,
                                 CUmemLocation* prefetchLocs, size_t* prefetchLocIdxs, size_t numPrefetchLocs,
                                 unsigned long long flags, CUstream hStream) {
  VG_TRY(core::Stream & stream, streamOfBatch(call, flags, hStream));
  return core::memory::prefetchBatch(stream, {dptrs, sizes, count}, prefetchLocs, prefetchLocIdxs, numPrefetchLocs);
}

CUresult cuMemDiscardBatchAsync(const Call& call, CUdeviceptr* dptrs, size_t* sizes, size_t count,
                                unsigned long long flags, CUstream hStream) {
  VG_TRY(core::Stream & stream, streamOfBatch(call, flags, hStream));
  return core::memory::discardBatch(stream, {dptrs, sizes, count});
}

// What is discarded stays what it was, so that only the prefetch is left.
CUresult cuMemDiscardAndPrefetchBatchAsync(const Call& call, CUdeviceptr* dptrs, size_t* sizes, size_t count,
                                           CUmemLocation* prefetchLocs, size_t* prefetchLocIdxs, size_t numPrefetchLocs,
                                           unsigned long long flags, CUstream hStream) {
  return cuMemPrefetchBatchAsync(call, dptrs, sizes, count, prefetchLocs, prefetchLocIdxs, numPrefetchLocs, flags,
                                 hStream);
}

CUresult cuMemGetLocationInfo(const Call&, CUdeviceptr ptr, size_t size, size_t summaryGranularity,
                              size_t samplingGranularity, CUmemLocation* location_out) {
  if (!location_out) return missing("location_out");
  return core::memory::locate(ptr, size, summaryGranularity, samplingGranularity, location_out);
}

CUresult cuMemRangeGetAttribute(const Call&, void* data, size_t dataSize, CUmem_range_attribute attribute,
                                CUdeviceptr devPtr, size_t count) {
  if (!data) return missing("data");
  VG_CHECK(core::memory::checkRangeQuery(rawValue(attribute), dataSize));
  return core::memory::rangeAttribute(data, dataSize, rawValue(attribute), devPtr, count);
}

// Nothing is written unless everything can be.
CUresult cuMemRangeGetAttributes(const Call&, void** data, size_t* dataSizes, CUmem_range_attribute* attributes,
                                 size_t numAttributes, CUdeviceptr devPtr, size_t count) {
  if (!data || !dataSizes || !attributes || !numAttributes) return missing("data, dataSizes or attributes");
  for (size_t i = 0; i < numAttributes; ++i) {
    if (!data[i]) return missing("an entry of data");
    VG_CHECK(core::memory::checkRangeQuery(rawValue(attributes[i]), dataSizes[i]));
  }
  for (size_t i = 0; i < numAttributes; ++i)
    VG_CHECK(core::memory::rangeAttribute(data[i], dataSizes[i], rawValue(attributes[i]), devPtr, count));
  return CUDA_SUCCESS;
}

CUresult cuStreamAttachMemAsync(const Call& call, CUstream hStream, CUdeviceptr dptr, size_t length,
                                unsigned int flags) {
  VG_TRY(core::Stream & stream, call.resolve(hStream));
  return core::memory::attach(stream, !hStream && call.stream == DefaultStream::Legacy, dptr, length, flags);
}

}  // namespace vg::handlers
