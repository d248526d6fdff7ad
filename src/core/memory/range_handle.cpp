#include "core/memory/range_handle.h"

#include <unistd.h>

#include <algorithm>
#include <vector>

#include "core/memory/memory.h"
#include "core/memory/memory_heaps.h"
#include "core/process/device.h"
#include "core/virtual/virtual_memory.h"

namespace vg::core::memory {
namespace {

using Part = alloc::PhysicalMemory::Part;

CUresult notDeviceMemory(CUdeviceptr start, size_t bytes) {
  return fail(CUDA_ERROR_INVALID_VALUE, "%#llx + %zu is not all memory of one device", start, bytes);
}

// Small allocations share their page: the range may reach as far as that goes.
Result<std::vector<Part>> partsOfAllocation(const alloc::Record& record, CUdeviceptr start, size_t bytes) {
  VG_TRY(alloc::Heap & heap, deviceHeap(deviceAt(deviceOf(record))));
  const uintptr_t base = record.base.load(std::memory_order_relaxed);
  VG_TRY(const auto share, heap.share(base, record.id.load(std::memory_order_relaxed)));
  const size_t offset = share->offset + (start - base), available = share->memory->bytes();
  if (offset > available || bytes > available - offset) return notDeviceMemory(start, bytes);
  return std::vector<Part>{{share->memory, offset, bytes}};
}

Result<std::vector<Part>> partsOfMappings(const alloc::Record& first, CUdeviceptr start, size_t bytes) {
  std::vector<Part> parts;
  const CUdeviceptr end = start + bytes;
  for (CUdeviceptr at = start; at < end;) {
    const alloc::Record* record = lookup(at);
    Result<AllocationRef> allocation = allocationAt(at);
    if (!record || !allocation || deviceOf(*record) != deviceOf(first)) return notDeviceMemory(start, bytes);
    const size_t offset = at - record->base.load(std::memory_order_relaxed);
    const size_t here = std::min<size_t>(record->bytes() - offset, end - at);
    parts.push_back({allocation.value()->memory(), offset, here});
    at += here;
  }
  return parts;
}

CUresult checkRequest(CUdeviceptr start, size_t bytes, unsigned long long flags) {
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  if (!start || !bytes || start % page || bytes % page || start + bytes < start)
    return fail(CUDA_ERROR_INVALID_VALUE, "%#llx + %zu is no range of whole pages", start, bytes);
  if (flags && flags != CU_MEM_RANGE_FLAG_DMA_BUF_MAPPING_TYPE_PCIE)
    return fail(CUDA_ERROR_INVALID_VALUE, "flags %#llx", flags);
  return CUDA_SUCCESS;
}

}  // namespace

Result<int> dmaBufOf(CUdeviceptr start, size_t bytes, unsigned long long flags) {
  VG_CHECK(checkRequest(start, bytes, flags));
  const alloc::Record* record = lookup(start);
  const alloc::Kind kind = record ? record->kind.load(std::memory_order_relaxed) : alloc::Kind::Pinned;
  if (kind != alloc::Kind::Device && !(kind == alloc::Kind::Mapped && onDevice(*record)))
    return notDeviceMemory(start, bytes);
  if (flags == CU_MEM_RANGE_FLAG_DMA_BUF_MAPPING_TYPE_PCIE) return unsupported("a mapping of a dma-buf through PCIe");
  if (!deviceAt(deviceOf(*record)).attribute(CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED))
    return unsupported("dma-bufs, by this device profile");
  Result<std::vector<Part>> parts =
      kind == alloc::Kind::Mapped ? partsOfMappings(*record, start, bytes) : partsOfAllocation(*record, start, bytes);
  VG_CHECK(parts);
  return parts->front().memory->dmaBuf(*parts);
}

}  // namespace vg::core::memory
