#include "core/virtual/physical_allocation.h"

#include <string>

#include "base/memory/slab.h"
#include "base/raw_enum.h"
#include "base/sync/mutex.h"
#include "core/memory/memory.h"
#include "core/memory/memory_activity.h"
#include "core/memory/memory_heaps.h"
#include "core/memory/pinned_memory.h"
#include "core/pools/memory_pool.h"
#include "core/process/device.h"
#include "core/virtual/share_label.h"
#include "host_register/placement.h"

namespace vg::core::memory {
namespace {

constinit Slab<Allocation> slab;
constinit Mutex countMutex;  // guards the counts of all allocations, and ending them

CUresult checkLocation(const CUmemLocation& location) {
  switch (rawValue(location.type)) {
    case CU_MEM_LOCATION_TYPE_DEVICE: {
      VG_TRY(const Device& device, findDevice(location.id));
      if (device.attribute(CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED)) return CUDA_SUCCESS;
      return unsupported("virtual memory management, by this device profile");
    }
    case CU_MEM_LOCATION_TYPE_HOST:
      return CUDA_SUCCESS;
    case CU_MEM_LOCATION_TYPE_HOST_NUMA:
      if (host_register::nodeExists(location.id)) return CUDA_SUCCESS;
      return fail(CUDA_ERROR_INVALID_VALUE, "the machine has no memory node %d", location.id);
    default:
      return fail(CUDA_ERROR_INVALID_VALUE, "location type %d", rawValue(location.type));
  }
}

// Bits that nobody knows are passed over, as the vendor's driver does.
CUresult checkHandleTypes(int types, int location) {
  if (types & (CU_MEM_HANDLE_TYPE_WIN32 | CU_MEM_HANDLE_TYPE_WIN32_KMT))
    return fail(CUDA_ERROR_INVALID_VALUE, "handle types %#x on this system", types);
  if (types & CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR && location == CU_MEM_LOCATION_TYPE_HOST)
    return fail(CUDA_ERROR_INVALID_VALUE, "host memory without a memory node cannot be exported");
  return CUDA_SUCCESS;
}

// In the vendor's driver's order: a device that is not there is said before all else, a missing fabric behind all else.
CUresult checkProperties(const CUmemAllocationProp& properties) {
  const bool ofDevice = rawValue(properties.location.type) == CU_MEM_LOCATION_TYPE_DEVICE;
  if (ofDevice) VG_CHECK(checkLocation(properties.location));
  if (const int type = rawValue(properties.type); type != CU_MEM_ALLOCATION_TYPE_PINNED)
    return fail(CUDA_ERROR_INVALID_VALUE, "allocation type %d", type);
  if (!ofDevice) VG_CHECK(checkLocation(properties.location));
  VG_CHECK(checkHandleTypes(rawValue(properties.requestedHandleTypes), rawValue(properties.location.type)));
  const auto& flags = properties.allocFlags;
  const bool reserved = flags.reserved[0] || flags.reserved[1] || flags.reserved[2] || flags.reserved[3];
  if (properties.win32HandleMetaData || flags.compressionType > CU_MEM_ALLOCATION_COMP_GENERIC || reserved)
    return fail(CUDA_ERROR_INVALID_VALUE, "compression type %u, or members set that are reserved",
                flags.compressionType);
  if (!ofDevice && (flags.compressionType || flags.gpuDirectRDMACapable))
    return fail(CUDA_ERROR_INVALID_VALUE, "memory of the host that is compressed or for GPUDirect");
  if (flags.usage & CU_MEM_CREATE_USAGE_TILE_POOL && rawValue(properties.requestedHandleTypes))
    return fail(CUDA_ERROR_INVALID_VALUE, "memory for sparse arrays cannot be exported");
  if (rawValue(properties.requestedHandleTypes) & CU_MEM_HANDLE_TYPE_FABRIC)
    return fail(CUDA_ERROR_NOT_PERMITTED, "there is no fabric to share memory over");
  return CUDA_SUCCESS;
}

bool shareable(const CUmemAllocationProp& properties) {
  return rawValue(properties.requestedHandleTypes) & CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
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

// Where memory comes from. Pages of sparse arrays are the host's where the host reads arrays.
alloc::MemorySource& sourceOf(const CUmemAllocationProp& properties) {
  if (properties.location.type != CU_MEM_LOCATION_TYPE_DEVICE) return pinnedSource();
  backend::Device& device = deviceAt(properties.location.id).backend();
  const bool forArrays = properties.allocFlags.usage & CU_MEM_CREATE_USAGE_TILE_POOL;
  return forArrays && !device.traits().blockLinearArrays ? pinnedSource() : device.memory();
}

// Of whose memory this is; null: the host's.
const int* deviceOf(const CUmemAllocationProp& properties) {
  return properties.location.type == CU_MEM_LOCATION_TYPE_DEVICE ? &properties.location.id : nullptr;
}

// Whose memory a descriptor is, by a label that says so; null: nobody's.
struct Origin {
  alloc::MemorySource* source = nullptr;
  std::string label;
};
Origin originOf(int descriptor) {
  Origin origin{&pinnedSource(), pinnedSource().labelOf(descriptor)};
  for (int i = 0; origin.label.empty() && i < deviceCount(); ++i) {
    origin.source = &deviceAt(i).backend().memory();
    origin.label = origin.source->labelOf(descriptor);
  }
  return origin;
}

}  // namespace

struct AllocationCounts {
  static Result<AllocationRef> use(CUmemGenericAllocationHandle handle) {
    const MutexLock lock(countMutex);
    Allocation* allocation = slab.find(reinterpret_cast<const void*>(handle));
    if (!allocation) return fail(CUDA_ERROR_INVALID_VALUE, "%#llx is no handle of an allocation", handle);
    ++allocation->uses_;
    return AllocationRef(allocation);
  }
  static CUresult release(CUmemGenericAllocationHandle handle) {
    const MutexLock lock(countMutex);
    Allocation* allocation = slab.find(reinterpret_cast<const void*>(handle));
    if (!allocation || !allocation->handles_)
      return fail(CUDA_ERROR_INVALID_VALUE, "%#llx is no handle of an allocation", handle);
    --allocation->handles_;
    endIfUnused(*allocation);
    return CUDA_SUCCESS;
  }
  static AllocationRef use(Allocation& allocation) {
    const MutexLock lock(countMutex);
    ++allocation.uses_;
    return AllocationRef(&allocation);
  }
  static void retain(Allocation& allocation) {
    const MutexLock lock(countMutex);
    ++allocation.handles_;
  }
  static void unuse(Allocation& allocation) {
    const MutexLock lock(countMutex);
    --allocation.uses_;
    endIfUnused(allocation);
  }
  static void endIfUnused(Allocation& allocation) {
    if (allocation.handles_ || allocation.uses_) return;
    memory_activity::physicalEnded(allocation.handle(), deviceOf(allocation.properties()));
    slab.destroy(&allocation);
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

static CUmemGenericAllocationHandle createdFrom(const CUmemAllocationProp& properties, alloc::PhysicalRef memory,
                                                alloc::Heap& heap) {
  const size_t bytes = memory->bytes();
  Allocation* const created = slab.create(properties, std::move(memory), &heap);
  memory_activity::physicalBegan(created->handle(), bytes, deviceOf(properties));
  return created->handle();
}

Result<CUmemGenericAllocationHandle> createAllocation(size_t bytes, const CUmemAllocationProp& asked) {
  if (!bytes || bytes % kGranularity)
    return fail(CUDA_ERROR_INVALID_VALUE, "%zu bytes are no multiple of %zu", bytes, kGranularity);
  VG_CHECK(checkProperties(asked));
  CUmemAllocationProp properties = asked;
  properties.allocFlags.gpuDirectRDMACapable = asked.allocFlags.gpuDirectRDMACapable != 0;
  if (properties.location.type == CU_MEM_LOCATION_TYPE_HOST)  // what the vendor's driver makes of it
    properties.location = {CU_MEM_LOCATION_TYPE_HOST_NUMA, host_register::currentNode()};
  VG_TRY(alloc::Heap & heap, charge(properties.location, bytes));
  const alloc::Sharing sharing = shareable(properties) ? alloc::Sharing::Shareable : alloc::Sharing::Private;
  const std::string label = sharing == alloc::Sharing::Shareable ? labelFor(properties) : "";
  Result<alloc::PhysicalRef> memory = sourceOf(properties).create(bytes, sharing, label.c_str());
  if (memory) return createdFrom(properties, std::move(memory).value(), heap);
  trimHeaps();
  Result<alloc::PhysicalRef> again = sourceOf(properties).create(bytes, sharing, label.c_str());
  if (again) return createdFrom(properties, std::move(again).value(), heap);
  heap.uncharge(bytes);
  return again.error();
}

Result<int> exportAllocation(CUmemGenericAllocationHandle handle) {
  VG_TRY(const AllocationRef allocation, useAllocation(handle));
  if (!shareable(allocation->properties()))
    return fail(CUDA_ERROR_INVALID_VALUE, "the allocation was not made to be exported as a descriptor");
  return allocation->memory()->duplicate();
}

// An import cannot be exported again. CUDA_ERROR_UNKNOWN is what the vendor's driver says to foreign descriptors.
Result<CUmemGenericAllocationHandle> importAllocation(int descriptor) {
  const Origin origin = originOf(descriptor);
  Result<CUmemAllocationProp> properties = propertiesOf(origin.label);
  if (!properties || checkProperties(properties.value()) != CUDA_SUCCESS)
    return fail(CUDA_ERROR_UNKNOWN, "descriptor %d is no exported allocation", descriptor);
  Result<alloc::PhysicalRef> memory = origin.source->import(descriptor);
  if (!memory && memory.error() != CUDA_ERROR_OUT_OF_MEMORY)
    return fail(CUDA_ERROR_UNKNOWN, "descriptor %d is no exported allocation", descriptor);
  VG_CHECK(memory);
  if (memory.value()->bytes() % kGranularity)
    return fail(CUDA_ERROR_UNKNOWN, "a descriptor of %zu bytes was not made here", memory.value()->bytes());
  properties.value().requestedHandleTypes = CU_MEM_HANDLE_TYPE_NONE;
  return slab.create(properties.value(), std::move(memory).value(), nullptr)->handle();
}

}  // namespace vg::core::memory
