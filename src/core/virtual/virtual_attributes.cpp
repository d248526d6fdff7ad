#include "core/virtual/virtual_attributes.h"

#include <cstring>

#include "core/virtual/virtual_access.h"
#include "core/virtual/virtual_memory.h"

namespace vg::core::memory {
namespace {

template <class T>
Answer give(void* data, T value) {
  std::memcpy(data, &value, sizeof value);
  return Answer::Given;
}

unsigned accessFlags(const alloc::Record& record) {
  return mappedForAny(record, Access::Write)  ? CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE
         : mappedForAny(record, Access::Read) ? CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READ
                                              : CU_POINTER_ATTRIBUTE_ACCESS_FLAG_NONE;
}

// Zero when the mapping has just ended.
CUmemAllocationProp propertiesAt(CUdeviceptr pointer) {
  Result<AllocationRef> allocation = allocationAt(pointer);
  return allocation ? allocation.value()->properties() : CUmemAllocationProp{};
}

}  // namespace

// A range is the reservation, a mapping the mapping, as the vendor's driver has it.
Answer attributeOfMapping(void* data, CUpointer_attribute which, CUdeviceptr pointer, const alloc::Record& record) {
  switch (which) {
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      return give(data, static_cast<unsigned>(onDevice(record) ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST));
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
      return mappedForAny(record, Access::Read) ? give(data, pointer) : Answer::None;
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
      return onDevice(record) ? Answer::None : give(data, pointer);
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
      return give(data, static_cast<CUdeviceptr>(reservationAt(pointer).start));
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
      return give(data, reservationAt(pointer).bytes);
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
      return give(data, accessFlags(record));
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
      return give(data, static_cast<uint64_t>(propertiesAt(pointer).requestedHandleTypes));
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
      return give(data, static_cast<int>(propertiesAt(pointer).allocFlags.gpuDirectRDMACapable));
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
    case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE:
      return give(data, 0);
    default:
      return Answer::AsUsual;
  }
}

}  // namespace vg::core::memory
