#include "core/memory_advice.h"

#include <cstring>

#include "base/raw_enum.h"
#include "core/capture.h"
#include "core/context.h"
#include "core/device.h"
#include "core/memory.h"

namespace vg::core::memory {
namespace {

// Record::advice: a bit for read-mostly; a byte each for the preferred location and for the last prefetch (0: none,
// 1: the host, n + 2: device n); bits 17.. for who has access advised (the host, then devices).
constexpr uint32_t kReadMostly = 1;
constexpr unsigned kPreferredShift = 1, kPrefetchShift = 9, kAccessorShift = 17;
constexpr uint32_t kByte = 0xFF;
constexpr unsigned kAccessors = 32 - kAccessorShift;

// 0: none or unknown.
Result<uint32_t> placeCode(CUmemLocation location) {
  switch (const int type = rawValue(location.type)) {
    case CU_MEM_LOCATION_TYPE_DEVICE: {
      VG_TRY(Device & device, findDevice(location.id));
      return static_cast<uint32_t>(device.ordinal() + 2);
    }
    case CU_MEM_LOCATION_TYPE_HOST:
    case CU_MEM_LOCATION_TYPE_HOST_NUMA:
    case CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT:
      return 1u;
    default:
      return fail(CUDA_ERROR_INVALID_VALUE, "location type %d", type);
  }
}

int deviceNumber(uint32_t code) {
  return code == 0 ? CU_DEVICE_INVALID : code == 1 ? CU_DEVICE_CPU : static_cast<int>(code) - 2;
}

CUmemLocationType locationType(uint32_t code) {
  return code == 0 ? CU_MEM_LOCATION_TYPE_INVALID : code == 1 ? CU_MEM_LOCATION_TYPE_HOST : CU_MEM_LOCATION_TYPE_DEVICE;
}

Result<alloc::Record*> managedRecord(CUdeviceptr pointer, size_t bytes) {
  if (!bytes) return fail(CUDA_ERROR_INVALID_VALUE, "a range of 0 bytes");
  VG_TRY(const alloc::Record* record, deviceRecord(pointer, bytes));
  if (record->kind.load(std::memory_order_relaxed) != alloc::Kind::Managed)
    return fail(CUDA_ERROR_INVALID_VALUE, "%#llx is not managed memory", pointer);
  return const_cast<alloc::Record*>(record);
}

void replaceBits(alloc::Record& record, uint32_t mask, uint32_t bits) {
  uint32_t old = record.advice.load(std::memory_order_relaxed);
  while (!record.advice.compare_exchange_weak(old, (old & ~mask) | bits, std::memory_order_relaxed)) {
  }
}

}  // namespace

CUmemLocation locationOf(CUdevice device) {
  CUmemLocation location{};
  location.type = device == CU_DEVICE_CPU ? CU_MEM_LOCATION_TYPE_HOST : CU_MEM_LOCATION_TYPE_DEVICE;
  location.id = device == CU_DEVICE_CPU ? 0 : device;
  return location;
}

CUresult advise(CUdeviceptr pointer, size_t bytes, CUmem_advise advice, CUmemLocation location) {
  VG_TRY(alloc::Record * record, managedRecord(pointer, bytes));
  switch (advice) {
    case CU_MEM_ADVISE_SET_READ_MOSTLY:
      replaceBits(*record, kReadMostly, kReadMostly);
      return CUDA_SUCCESS;
    case CU_MEM_ADVISE_UNSET_READ_MOSTLY:
      replaceBits(*record, kReadMostly, 0);
      return CUDA_SUCCESS;
    case CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION:
      replaceBits(*record, kByte << kPreferredShift, 0);
      return CUDA_SUCCESS;
    case CU_MEM_ADVISE_SET_PREFERRED_LOCATION: {
      VG_TRY(const uint32_t code, placeCode(location));
      replaceBits(*record, kByte << kPreferredShift, code << kPreferredShift);
      return CUDA_SUCCESS;
    }
    case CU_MEM_ADVISE_SET_ACCESSED_BY:
    case CU_MEM_ADVISE_UNSET_ACCESSED_BY: {
      VG_TRY(const uint32_t code, placeCode(location));
      if (code > kAccessors) return CUDA_SUCCESS;  // advice: forgetting it is allowed
      const uint32_t bit = 1u << (kAccessorShift + code - 1);
      replaceBits(*record, bit, advice == CU_MEM_ADVISE_SET_ACCESSED_BY ? bit : 0);
      return CUDA_SUCCESS;
    }
    default:
      return fail(CUDA_ERROR_INVALID_VALUE, "advice %d", static_cast<int>(advice));
  }
}

CUresult prefetch(Stream& stream, CUdeviceptr pointer, size_t bytes, CUmemLocation destination) {
  if (stream.captured()) return capture::refuse(stream, "cuMemPrefetchAsync");
  VG_TRY(alloc::Record * record, managedRecord(pointer, bytes));
  VG_TRY(const uint32_t code, placeCode(destination));
  VG_CHECK(stream.context().state());
  replaceBits(*record, kByte << kPrefetchShift, code << kPrefetchShift);
  return CUDA_SUCCESS;
}

namespace {

CUresult putInt(void* data, size_t size, int value) {
  if (size != sizeof value) return fail(CUDA_ERROR_INVALID_VALUE, "%zu bytes for an attribute of 4", size);
  std::memcpy(data, &value, sizeof value);
  return CUDA_SUCCESS;
}

// The devices that have access advised, filled up with CU_DEVICE_INVALID.
CUresult putAccessors(void* data, size_t size, uint32_t advice) {
  if (!size || size % sizeof(int)) return fail(CUDA_ERROR_INVALID_VALUE, "%zu bytes are no list of devices", size);
  auto* out = static_cast<int*>(data);
  int* const end = out + size / sizeof(int);
  for (uint32_t code = 1; code <= kAccessors && out < end; ++code)
    if (advice >> (kAccessorShift + code - 1) & 1) *out++ = deviceNumber(code);
  while (out < end) *out++ = CU_DEVICE_INVALID;
  return CUDA_SUCCESS;
}

}  // namespace

CUresult rangeAttribute(void* data, size_t dataSize, int which, CUdeviceptr pointer, size_t bytes) {
  VG_TRY(const alloc::Record* record, managedRecord(pointer, bytes));
  const uint32_t advice = record->advice.load(std::memory_order_relaxed);
  const uint32_t preferred = advice >> kPreferredShift & kByte, prefetched = advice >> kPrefetchShift & kByte;
  const auto id = [](uint32_t code) { return code >= 2 ? static_cast<int>(code) - 2 : 0; };
  switch (which) {
    case CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY:
      return putInt(data, dataSize, advice & kReadMostly ? 1 : 0);
    case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION:
      return putInt(data, dataSize, deviceNumber(preferred));
    case CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY:
      return putAccessors(data, dataSize, advice);
    case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION:
      return putInt(data, dataSize, deviceNumber(prefetched));
    case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE:
      return putInt(data, dataSize, locationType(preferred));
    case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID:
      return putInt(data, dataSize, id(preferred));
    case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE:
      return putInt(data, dataSize, locationType(prefetched));
    case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_ID:
      return putInt(data, dataSize, id(prefetched));
    default:
      return fail(CUDA_ERROR_INVALID_VALUE, "there is no range attribute %d", which);
  }
}

CUresult attach(Stream& stream, bool byNullStream, CUdeviceptr pointer, size_t bytes, unsigned flags) {
  if (stream.captured()) return capture::refuse(stream, "cuStreamAttachMemAsync");
  if (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST && flags != CU_MEM_ATTACH_SINGLE)
    return fail(CUDA_ERROR_INVALID_VALUE, "flags %#x", flags);
  if (flags == CU_MEM_ATTACH_SINGLE && byNullStream)
    return fail(CUDA_ERROR_INVALID_VALUE, "memory cannot be attached to the null stream alone");
  const alloc::Record* record = lookup(pointer);
  if (!record) {
    const bool reachable = stream.context().device().attribute(CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS);
    if (reachable && pointer && bytes) return CUDA_SUCCESS;
    return fail(CUDA_ERROR_INVALID_VALUE, "%#llx is not managed memory", pointer);
  }
  if (record->kind.load(std::memory_order_relaxed) != alloc::Kind::Managed)
    return fail(CUDA_ERROR_INVALID_VALUE, "%#llx is not managed memory", pointer);
  if (record->base.load(std::memory_order_relaxed) != pointer || (bytes && bytes != record->bytes()))
    return fail(CUDA_ERROR_INVALID_VALUE, "%zu bytes at %#llx are only a part of the allocation", bytes, pointer);
  return stream.context().state();
}

}  // namespace vg::core::memory
