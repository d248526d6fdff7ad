// Virtual memory management: reserved addresses, mappings of physical allocations in them, and who may touch those.
//
// A mapping without access is in no page table: kernels fault on it and copies are refused. Access is kept for each
// device and the host, but the emulated devices share one page table, which knows only the widest.
// Nothing here belongs to a context. All functions are thread-safe; sizes and addresses are multiples of kGranularity
// or CUDA_ERROR_INVALID_VALUE.
#pragma once

#include <cuda.h>

#include "alloc/address_space.h"
#include "alloc/record.h"
#include "base/result.h"
#include "core/memory/memory.h"
#include "core/virtual/physical_allocation.h"

namespace vg::core {

class Device;

namespace memory {

Result<CUdeviceptr> reserveAddresses(size_t bytes, size_t alignment, CUdeviceptr wanted);
CUresult freeAddresses(CUdeviceptr start, size_t bytes);

CUresult mapAllocation(CUdeviceptr start, size_t bytes, size_t offset, CUmemGenericAllocationHandle handle);
CUresult unmapAllocations(CUdeviceptr start, size_t bytes);

// The allocation that is mapped at the address. CUDA_ERROR_INVALID_VALUE when there is none.
Result<AllocationRef> allocationAt(CUdeviceptr address);

// The reservation that contains an address; no bytes when there is none.
alloc::AddressSpace::Range reservationAt(CUdeviceptr address);

}  // namespace memory
}  // namespace vg::core
