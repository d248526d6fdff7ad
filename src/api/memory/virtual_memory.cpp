// Virtual memory management: addresses, physical memory behind handles, mappings, access, sharing by descriptor.
#include "core/virtual/virtual_memory.h"
#include "api/entry/call.h"
#include "base/raw_enum.h"
#include "core/virtual/physical_allocation.h"
#include "core/virtual/virtual_access.h"

namespace vg::handlers {
namespace {

namespace memory = core::memory;

CUresult checkFlags(unsigned long long flags) {
  return flags ? fail(CUDA_ERROR_INVALID_VALUE, "flags %#llx are reserved", flags) : CUDA_SUCCESS;
}

}  // namespace

CUresult cuMemAddressReserve(const Call&, CUdeviceptr* ptr, size_t size, size_t alignment, CUdeviceptr addr,
                             unsigned long long flags) {
  if (!ptr) return missing("ptr");
  VG_CHECK(checkFlags(flags));
  VG_TRY(*ptr, memory::reserveAddresses(size, alignment, addr));
  return CUDA_SUCCESS;
}

CUresult cuMemAddressFree(const Call&, CUdeviceptr ptr, size_t size) { return memory::freeAddresses(ptr, size); }

CUresult cuMemGetAllocationGranularity(const Call&, size_t* granularity, const CUmemAllocationProp* prop,
                                       CUmemAllocationGranularity_flags option) {
  if (!granularity || !prop) return missing("granularity or prop");
  VG_TRY(*granularity, memory::granularity(*prop, rawValue(option)));
  return CUDA_SUCCESS;
}

CUresult cuMemCreate(const Call&, CUmemGenericAllocationHandle* handle, size_t size, const CUmemAllocationProp* prop,
                     unsigned long long flags) {
  if (!handle || !prop) return missing("handle or prop");
  VG_CHECK(checkFlags(flags));
  VG_TRY(*handle, memory::createAllocation(size, *prop));
  return CUDA_SUCCESS;
}

CUresult cuMemRelease(const Call&, CUmemGenericAllocationHandle handle) { return memory::releaseAllocation(handle); }

CUresult cuMemRetainAllocationHandle(const Call&, CUmemGenericAllocationHandle* handle, void* addr) {
  if (!handle) return missing("handle");
  VG_TRY(memory::AllocationRef allocation, memory::allocationAt(reinterpret_cast<CUdeviceptr>(addr)));
  *handle = allocation.retainHandle();
  return CUDA_SUCCESS;
}

CUresult cuMemGetAllocationPropertiesFromHandle(const Call&, CUmemAllocationProp* prop,
                                                CUmemGenericAllocationHandle handle) {
  if (!prop) return missing("prop");
  VG_TRY(const memory::AllocationRef allocation, memory::useAllocation(handle));
  *prop = allocation->properties();
  // What the vendor's driver does not tell: the usage, and types of handles that there are not.
  constexpr unsigned kTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR | CU_MEM_HANDLE_TYPE_WIN32 |
                              CU_MEM_HANDLE_TYPE_WIN32_KMT | CU_MEM_HANDLE_TYPE_FABRIC;
  prop->allocFlags.usage = 0;
  prop->requestedHandleTypes =
      static_cast<CUmemAllocationHandleType>(static_cast<unsigned>(rawValue(prop->requestedHandleTypes)) & kTypes);
  return CUDA_SUCCESS;
}

CUresult cuMemMap(const Call&, CUdeviceptr ptr, size_t size, size_t offset, CUmemGenericAllocationHandle handle,
                  unsigned long long flags) {
  VG_CHECK(checkFlags(flags));
  return memory::mapAllocation(ptr, size, offset, handle);
}

CUresult cuMemUnmap(const Call&, CUdeviceptr ptr, size_t size) { return memory::unmapAllocations(ptr, size); }

CUresult cuMemSetAccess(const Call&, CUdeviceptr ptr, size_t size, const CUmemAccessDesc* desc, size_t count) {
  if (!desc || !count) return fail(CUDA_ERROR_INVALID_VALUE, "%zu access descriptors", count);
  return memory::setAccess(ptr, size, desc, count);
}

CUresult cuMemGetAccess(const Call&, unsigned long long* flags, const CUmemLocation* location, CUdeviceptr ptr) {
  if (!flags || !location) return missing("flags or location");
  Result<CUmemAccess_flags> found = memory::accessOf(*location, ptr);
  if (found.error() != CUDA_ERROR_INVALID_DEVICE) *flags = found ? static_cast<unsigned long long>(*found) : 0;
  return found.error();
}

CUresult cuMemExportToShareableHandle(const Call&, void* shareableHandle, CUmemGenericAllocationHandle handle,
                                      CUmemAllocationHandleType handleType, unsigned long long flags) {
  if (!shareableHandle) return missing("shareableHandle");
  VG_CHECK(checkFlags(flags));
  if (const int type = rawValue(handleType); type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
    return fail(CUDA_ERROR_INVALID_VALUE, "no allocation can be exported as handle type %d", type);
  VG_TRY(const int descriptor, memory::exportAllocation(handle));
  *static_cast<int*>(shareableHandle) = descriptor;
  return CUDA_SUCCESS;
}

// The descriptor is passed in the pointer's place.
CUresult cuMemImportFromShareableHandle(const Call&, CUmemGenericAllocationHandle* handle, void* osHandle,
                                        CUmemAllocationHandleType shHandleType) {
  if (!handle) return missing("handle");
  const int type = rawValue(shHandleType);
  if (type == CU_MEM_HANDLE_TYPE_WIN32 || type == CU_MEM_HANDLE_TYPE_WIN32_KMT || type == CU_MEM_HANDLE_TYPE_FABRIC)
    return unsupported("importing memory by handle type %d on this system", type);
  if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) return fail(CUDA_ERROR_INVALID_VALUE, "handle type %d", type);
  if (!osHandle) return missing("osHandle");
  const auto descriptor = static_cast<int>(reinterpret_cast<intptr_t>(osHandle));
  VG_TRY(*handle, memory::importAllocation(descriptor));
  return CUDA_SUCCESS;
}

}  // namespace vg::handlers
