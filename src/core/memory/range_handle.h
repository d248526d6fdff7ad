// Handles of address ranges for other devices' drivers: dma-bufs of device memory.
#pragma once

#include <cuda.h>

#include "base/result.h"

namespace vg::core::memory {

// A descriptor, O_CLOEXEC, that the caller owns and that keeps the memory alive by itself. The range must lie in memory
// of one device: an allocation of cuMemAlloc, or mappings of cuMemMap that leave no hole. CUDA_ERROR_NOT_SUPPORTED by a
// device whose profile has no dma-bufs, and where the system cannot make one (PhysicalMemory::dmaBuf).
Result<int> dmaBufOf(CUdeviceptr start, size_t bytes, unsigned long long flags);

}  // namespace vg::core::memory
