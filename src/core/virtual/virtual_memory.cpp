#include "core/virtual/virtual_memory.h"

#include <iterator>

#include "base/sync/mutex.h"
#include "base/sync/patience.h"
#include "core/contexts/context.h"
#include "core/memory/memory.h"
#include "core/memory/memory_heaps.h"
#include "core/virtual/virtual_access.h"
#include "core/virtual/virtual_state.h"

namespace vg::core::memory {

namespace {

// Every byte of the range is reserved, perhaps by several calls.
CUresult checkReserved(const alloc::AddressSpace& space, CUdeviceptr start, size_t bytes) {
  for (uintptr_t at = start; at < start + bytes;) {
    const alloc::AddressSpace::Range range = space.reservationAt(at);
    if (!range.bytes) return fail(CUDA_ERROR_INVALID_VALUE, "%#lx is not reserved", at);
    at = range.start + range.bytes;
  }
  return CUDA_SUCCESS;
}

bool anyIn(Mappings& mappings, uintptr_t start, size_t bytes) {
  const auto mapping = firstBehind(mappings, start);
  return mapping != mappings.end() && mapping->first < start + bytes;
}

}  // namespace

Result<CUdeviceptr> reserveAddresses(size_t bytes, size_t alignment, CUdeviceptr wanted) {
  if (!bytes || bytes % kGranularity)
    return fail(CUDA_ERROR_INVALID_VALUE, "%zu bytes are no multiple of %zu", bytes, kGranularity);
  if (alignment & (alignment - 1) || wanted % kGranularity)
    return fail(CUDA_ERROR_INVALID_VALUE, "alignment %zu, wanted address %#llx", alignment, wanted);
  VG_TRY(alloc::AddressSpace & space, addressSpace());
  VG_TRY(const uintptr_t start, space.reserve(bytes, alignment, wanted));
  return static_cast<CUdeviceptr>(start);
}

CUresult freeAddresses(CUdeviceptr start, size_t bytes) {
  VG_TRY(alloc::AddressSpace & space, addressSpace());
  VirtualState& all = virtualState();
  const MutexLock lock(all.mutex);
  sweep(all);
  const alloc::AddressSpace::Range range = space.reservationAt(start);
  if (!range.bytes || range.start != start || range.bytes != bytes)
    return fail(CUDA_ERROR_INVALID_VALUE, "%#llx + %zu is no reservation", start, bytes);
  if (anyIn(all.mappings, start, bytes))
    return fail(CUDA_ERROR_INVALID_VALUE, "something is mapped in %#llx + %zu", start, bytes);
  space.free(start, bytes);
  return CUDA_SUCCESS;
}

namespace {

// Only whole allocations can be mapped, whatever the manual says of parts.
CUresult checkMapping(CUdeviceptr start, size_t bytes, size_t offset, const Allocation& allocation) {
  if (!bytes && !offset) return fail(CUDA_ERROR_INVALID_VALUE, "a mapping of 0 bytes");
  if (offset || bytes != allocation.bytes())
    return fail(CUDA_ERROR_NOT_SUPPORTED, "%zu bytes from offset %zu of an allocation of %zu", bytes, offset,
                allocation.bytes());
  if (start % kGranularity) return fail(CUDA_ERROR_INVALID_VALUE, "a mapping at %#llx", start);
  if (allocation.properties().allocFlags.usage & CU_MEM_CREATE_USAGE_TILE_POOL)
    return fail(CUDA_ERROR_INVALID_VALUE, "memory for sparse arrays is mapped into those alone");
  return CUDA_SUCCESS;
}

alloc::Record* publish(alloc::AddressSpace& space, CUdeviceptr start, size_t bytes, const Allocation& allocation) {
  alloc::Record record;
  record.base = start;
  record.size = bytes;
  record.kind = alloc::Kind::Mapped;
  record.window = static_cast<uint16_t>(allocation.place());  // kHost becomes a window that is no device's
  return space.publish(record);
}

}  // namespace

CUresult mapAllocation(CUdeviceptr start, size_t bytes, size_t offset, CUmemGenericAllocationHandle handle) {
  VG_TRY(AllocationRef allocation, useAllocation(handle));
  VG_CHECK(checkMapping(start, bytes, offset, *allocation));
  VG_TRY(alloc::AddressSpace & space, addressSpace());
  VirtualState& all = virtualState();
  const MutexLock lock(all.mutex);
  sweep(all);
  VG_CHECK(checkReserved(space, start, bytes));
  if (anyIn(all.mappings, start, bytes))
    return fail(CUDA_ERROR_INVALID_VALUE, "something is mapped in %#llx + %zu already", start, bytes);
  const auto made = all.mappings.emplace(start, Mapping{bytes, offset, std::move(allocation)}).first;
  try {
    // The host reaches its own memory at once.
    if (made->second.allocation->place() == Allocation::kHost)
      made->second.grants.push_back({Allocation::kHost, CU_MEM_ACCESS_FLAGS_PROT_READWRITE});
    made->second.record = publish(space, start, bytes, *made->second.allocation);
  } catch (...) {
    all.mappings.erase(made);
    throw;
  }
  return CUDA_SUCCESS;
}

// Holes are passed over, and so is what lies behind the reservation.
CUresult unmapAllocations(CUdeviceptr start, size_t bytes) {
  if (!bytes || start + bytes < start) return fail(CUDA_ERROR_INVALID_VALUE, "%zu bytes at %#llx", bytes, start);
  VG_TRY(alloc::AddressSpace & space, addressSpace());
  VirtualState& all = virtualState();
  const MutexLock lock(all.mutex);
  sweep(all);
  if (!space.reservationAt(start).bytes) return fail(CUDA_ERROR_INVALID_VALUE, "%#llx is not reserved", start);
  VG_TRY(const Section section, wholeMappings(all.mappings, start, bytes));
  all.lingering.reserve(static_cast<size_t>(std::distance(section.first, section.last)));
  for (auto mapping = section.first; mapping != section.last; ++mapping) space.withdraw(mapping->second.record);
  const Patience patience;  // half done: there is no way back
  // Read once nobody can find the memory any more.
  const std::vector<Point> pending = pendingEverywhere();
  for (auto mapping = section.first; mapping != section.last; mapping = all.mappings.erase(mapping))
    if (!mapping->second.applied.empty())
      all.lingering.unmap(mapping->first, mapping->second.bytes, mapping->second.allocation->memory(), pending);
  return CUDA_SUCCESS;
}

alloc::AddressSpace::Range reservationAt(CUdeviceptr address) {
  Result<alloc::AddressSpace&> space = addressSpace();
  return space ? space->reservationAt(address) : alloc::AddressSpace::Range{};
}

Result<AllocationRef> allocationAt(CUdeviceptr address) {
  VirtualState& all = virtualState();
  const MutexLock lock(all.mutex);
  const auto mapping = firstBehind(all.mappings, address);
  if (mapping == all.mappings.end() || mapping->first > address)
    return fail(CUDA_ERROR_INVALID_VALUE, "nothing is mapped at %#llx", address);
  return mapping->second.allocation.another();
}

}  // namespace vg::core::memory
