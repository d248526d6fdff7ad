#include "core/physical_allocation.h"

#include <mutex>
#include <string>

#include "base/raw_enum.h"
#include "base/slab.h"
#include "core/device.h"
#include "core/memory.h"
#include "core/memory_heaps.h"
#include "core/memory_pool.h"
#include "core/shared_label.h"
#include "host_register/placement.h"

namespace vg::core::memory {
namespace {

constinit Slab<Allocation> slab;
constinit std::mutex countMutex;  // guards the counts of all allocations, and ending them

CUresult checkLocation(const CUmemLocation& location) {
  switch (rawValue(location.type)) {
    case CU_MEM_LOCATION_TYPE_DEVICE: {
      VG_TRY(const Device& device, findDevice(location.id));
      if (device.attribute(CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED)) return CUDA_SUCCESS;
      return unsupported("virtual memory management, by this device profile");
    }
    case CU_MEM_LOCATION_TYPE_HOST:
    case CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT:
      return CUDA_SUCCESS;
    case CU_MEM_LOCATION_TYPE_HOST_NUMA:
      if (host_register::nodeExists(location.id)) return CUDA_SUCCESS;
      return fail(CUDA_ERROR_INVALID_VALUE, "the machine has no memory node %d", location.id);
    default:
      return fail(CUDA_ERROR_INVALID_VALUE, "location type %d", rawValue(location.type));
  }
}

CUresult checkHandleTypes(int types) {
  constexpr int kKnown = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR | CU_MEM_HANDLE_TYPE_WIN32 |
                         CU_MEM_HANDLE_TYPE_WIN32_KMT | CU_MEM_HANDLE_TYPE_FABRIC;
  if (types & ~kKnown) return fail(CUDA_ERROR_INVALID_VALUE, "handle types %#x", types);
  if (types & CU_MEM_HANDLE_TYPE_FABRIC)
    return fail(CUDA_ERROR_NOT_PERMITTED, "there is no fabric to share memory over");
  if (types & ~CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) return unsupported("handle types %#x on this system", types);
  return CUDA_SUCCESS;
}

CUresult checkProperties(const CUmemAllocationProp& properties) {
  if (const int type = rawValue(properties.type); type != CU_MEM_ALLOCATION_TYPE_PINNED)
    return fail(CUDA_ERROR_INVALID_VALUE, "allocation type %d", type);
  VG_CHECK(checkLocation(properties.location));
  return checkHandleTypes(rawValue(properties.requestedHandleTypes));
}

// Takes `bytes` of the capacity of the place; streams may hold what is missing.
Result<alloc::Heap&> charge(const CUmemLocation& location, size_t bytes) {
  const bool ofDevice = location.type == CU_MEM_LOCATION_TYPE_DEVICE;
  Result<alloc::Heap&> heap = ofDevice ? deviceHeap(deviceAt(location.id)) : pinnedHeap();
  VG_CHECK(heap);
  if (heap->charge(bytes)) return heap;
  collectReleased(true);
  if (heap->charge(bytes)) return heap;
  return fail(CUDA_ERROR_OUT_OF_MEMORY, "%zu bytes: %zu of %zu in use", bytes, heap->used(), heap->capacity());
}

}  // namespace

struct AllocationCounts {
  static Result<AllocationRef> use(CUmemGenericAllocationHandle handle) {
    std::lock_guard lock(countMutex);
    Allocation* allocation = slab.find(reinterpret_cast<const void*>(handle));
    if (!allocation || !allocation->handles_)
      return fail(CUDA_ERROR_INVALID_VALUE, "%#llx is no handle of an allocation", handle);
    ++allocation->uses_;
    return AllocationRef(allocation);
  }
  static CUresult release(CUmemGenericAllocationHandle handle) {
    std::lock_guard lock(countMutex);
    Allocation* allocation = slab.find(reinterpret_cast<const void*>(handle));
    if (!allocation || !allocation->handles_)
      return fail(CUDA_ERROR_INVALID_VALUE, "%#llx is no handle of an allocation", handle);
    --allocation->handles_;
    endIfUnused(*allocation);
    return CUDA_SUCCESS;
  }
  static AllocationRef use(Allocation& allocation) {
    std::lock_guard lock(countMutex);
    ++allocation.uses_;
    return AllocationRef(&allocation);
  }
  static void retain(Allocation& allocation) {
    std::lock_guard lock(countMutex);
    ++allocation.handles_;
  }
  static void unuse(Allocation& allocation) {
    std::lock_guard lock(countMutex);
    --allocation.uses_;
    endIfUnused(allocation);
  }
  static void endIfUnused(Allocation& allocation) {
    if (!allocation.handles_ && !allocation.uses_) slab.destroy(&allocation);
  }
};

AllocationRef::~AllocationRef() {
  if (allocation_) AllocationCounts::unuse(*allocation_);
}

AllocationRef AllocationRef::another() const { return AllocationCounts::use(*allocation_); }

CUmemGenericAllocationHandle AllocationRef::retainHandle() {
  AllocationCounts::retain(*allocation_);
  return allocation_->handle();
}

Result<AllocationRef> useAllocation(CUmemGenericAllocationHandle handle) { return AllocationCounts::use(handle); }
CUresult releaseAllocation(CUmemGenericAllocationHandle handle) { return AllocationCounts::release(handle); }

Result<size_t> granularity(const CUmemAllocationProp&, int option) {
  if (option != CU_MEM_ALLOC_GRANULARITY_MINIMUM && option != CU_MEM_ALLOC_GRANULARITY_RECOMMENDED)
    return fail(CUDA_ERROR_INVALID_VALUE, "granularity option %d", option);
  return kGranularity;
}

Result<CUmemGenericAllocationHandle> createAllocation(size_t bytes, const CUmemAllocationProp& asked) {
  if (!bytes || bytes % kGranularity)
    return fail(CUDA_ERROR_INVALID_VALUE, "%zu bytes are no multiple of %zu", bytes, kGranularity);
  VG_CHECK(checkProperties(asked));
  CUmemAllocationProp properties = asked;
  properties.win32HandleMetaData = nullptr;
  VG_TRY(alloc::Heap & heap, charge(properties.location, bytes));
  const bool shareable = properties.requestedHandleTypes != CU_MEM_HANDLE_TYPE_NONE;
  Result<alloc::PhysicalRef> memory =
      alloc::PhysicalMemory::create(bytes, shareable ? alloc::Sharing::Shareable : alloc::Sharing::Private,
                                    shareable ? labelFor(properties).c_str() : "");
  if (!memory) {
    heap.uncharge(bytes);
    return memory.error();
  }
  return slab.create(properties, std::move(memory).value(), &heap)->handle();
}

Result<int> exportAllocation(CUmemGenericAllocationHandle handle) {
  VG_TRY(const AllocationRef allocation, useAllocation(handle));
  if (!(allocation->properties().requestedHandleTypes & CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR))
    return fail(CUDA_ERROR_INVALID_VALUE, "the allocation was not made to be exported as a descriptor");
  return allocation->memory()->duplicate();
}

Result<CUmemGenericAllocationHandle> importAllocation(int descriptor) {
  VG_TRY(const CUmemAllocationProp properties, propertiesOf(alloc::PhysicalMemory::labelOf(descriptor)));
  VG_CHECK(checkProperties(properties));
  VG_TRY(alloc::PhysicalRef memory, alloc::PhysicalMemory::fromDescriptor(descriptor));
  if (memory->bytes() % kGranularity)
    return fail(CUDA_ERROR_INVALID_VALUE, "a descriptor of %zu bytes was not made here", memory->bytes());
  return slab.create(properties, std::move(memory), nullptr)->handle();
}

}  // namespace vg::core::memory
