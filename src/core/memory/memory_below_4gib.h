// Device memory below 4 GiB, for the functions of the 32-bit era: an address that fits their 32-bit numbers.
//
// Each allocation is a mapping of its own, known to lookups through the index of ranges that lie outside the windows.
// All functions are thread-safe.
#pragma once

#include <cuda.h>

#include "alloc/record.h"
#include "base/result.h"

namespace vg::core {

class Context;

namespace memory {

// As allocate(), with an address below 4 GiB: a multiple of 64 KiB, of 2 MiB from 2 MiB on. CUDA_ERROR_OUT_OF_MEMORY
// also when no such addresses are left. Requires: bytes > 0.
Result<CUdeviceptr> allocateLow(Context& context, size_t bytes);

// Whether a record of device memory is one of these, and its end: cuMemFree, when nothing uses it any more. False when
// somebody else has ended it.
bool isLow(const alloc::Record& record);
bool freeLow(CUdeviceptr address, uint64_t id);
void releaseLow(Context& context);

}  // namespace memory
}  // namespace vg::core
