// Advice about managed memory: cuMemAdvise, cuMemPrefetchAsync, cuStreamAttachMemAsync and the queries of it. The
// memory of emulated devices is the host's, so advice moves nothing; it is validated, remembered for whole allocations
// and answered. Thread-safe.
#pragma once

#include <cuda.h>

#include "base/result.h"
#include "core/stream.h"

namespace vg::core::memory {

CUresult advise(CUdeviceptr pointer, size_t bytes, CUmem_advise advice, CUmemLocation location);
CUresult prefetch(Stream& stream, CUdeviceptr pointer, size_t bytes, CUmemLocation destination);
CUresult rangeAttribute(void* data, size_t dataSize, int which, CUdeviceptr pointer, size_t bytes);
// `byNullStream`: the caller named the null stream.
CUresult attach(Stream& stream, bool byNullStream, CUdeviceptr pointer, size_t bytes, unsigned flags);

// The older functions name a device, or CU_DEVICE_CPU for the host.
CUmemLocation locationOf(CUdevice device);

}  // namespace vg::core::memory
