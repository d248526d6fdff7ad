// Virtual memory management: reserved addresses, mappings of physical allocations in them, and who may touch those.
//
// A mapping without access is in no page table: kernels fault on it and copies are refused. Access is kept for each
// device and the host, but pages know only what the widest of them allows; copies check the stream's device.
// Nothing here belongs to a context. All functions are thread-safe; sizes and addresses are multiples of kGranularity
// or CUDA_ERROR_INVALID_VALUE.
#pragma once

#include <cuda.h>

#include "alloc/record.h"
#include "base/result.h"
#include "core/memory.h"
#include "core/physical_allocation.h"

namespace vg::core {

class Device;

namespace memory {

Result<CUdeviceptr> reserveAddresses(size_t bytes, size_t alignment, CUdeviceptr wanted);
CUresult freeAddresses(CUdeviceptr start, size_t bytes);

CUresult mapAllocation(CUdeviceptr start, size_t bytes, size_t offset, CUmemGenericAllocationHandle handle);
CUresult unmapAllocations(CUdeviceptr start, size_t bytes);

CUresult setAccess(CUdeviceptr start, size_t bytes, const CUmemAccessDesc* grants, size_t count);
Result<CUmemAccess_flags> accessOf(const CUmemLocation& location, CUdeviceptr address);

// The allocation that is mapped at the address. CUDA_ERROR_INVALID_VALUE when there is none.
Result<AllocationRef> allocationAt(CUdeviceptr address);

// What copies ask of a record of Kind::Mapped: whether the device (its ordinal) may do this. Takes no lock.
bool mappedFor(const alloc::Record& record, int device, Access access);
// Whether anybody may.
bool mappedForAny(const alloc::Record& record, Access access);

}  // namespace memory
}  // namespace vg::core
