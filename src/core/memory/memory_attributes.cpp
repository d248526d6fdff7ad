#include "core/memory/memory_attributes.h"

#include <unistd.h>

#include <cstring>

#include "base/raw_enum.h"
#include "base/round.h"
#include "core/contexts/context.h"
#include "core/memory/memory.h"
#include "core/memory/memory_heaps.h"
#include "core/modules/variable_ranges.h"
#include "core/pools/memory_pool.h"
#include "core/pools/pool.h"
#include "core/process/device.h"
#include "core/process/driver_version.h"
#include "core/virtual/virtual_attributes.h"
#include "core/virtual/virtual_memory.h"

namespace vg::core::memory {
namespace {

using alloc::Kind;

template <class T>
CUresult put(void* data, T value) {
  std::memcpy(data, &value, sizeof value);
  return CUDA_SUCCESS;
}

// What a record's memory is, whoever handed it out.
Kind kindOf(const alloc::Record& record) {
  const Kind kind = record.kind.load(std::memory_order_relaxed);
  if (kind != Kind::Pool) return kind;
  const PooledKind pooled = pooledKind(record);
  return pooled == PooledKind::Managed ? Kind::Managed : pooled == PooledKind::Host ? Kind::Pinned : Kind::Pool;
}

bool hostAccessible(Kind kind) { return kind == Kind::Managed || kind == Kind::Pinned || kind == Kind::Registered; }

CUmemorytype memoryType(Kind kind) {
  return kind == Kind::Pinned || kind == Kind::Registered ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
}

unsigned accessFlags(const alloc::Record& record) {
  const bool readOnly = record.kind.load(std::memory_order_relaxed) == Kind::Registered &&
                        (record.flags.load(std::memory_order_relaxed) & CU_MEMHOSTREGISTER_READ_ONLY);
  return readOnly ? CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READ : CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE;
}

// What a record's memory is a piece of: whole granules of ours, or the registered range itself.
struct Mapping {
  CUdeviceptr start;
  size_t bytes;
};

Mapping mappingOf(const alloc::Record& record) {
  const uintptr_t base = record.base.load(std::memory_order_relaxed);
  if (record.kind.load(std::memory_order_relaxed) == Kind::Registered) {
    const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    return {base, roundUp(base % page + record.bytes(), page)};
  }
  const bool pooled = record.kind.load(std::memory_order_relaxed) == Kind::Pool;
  const size_t step = pooled ? Pool::kStep : alloc::kGranule;
  const uintptr_t start = base / step * step;
  return {start, roundUp(base + record.bytes() - start, step)};
}

// Whether the memory is device memory of a device with this attribute.
int deviceSays(const alloc::Record& record, CUdevice_attribute attribute) {
  // Pools have none of this.
  return record.kind.load(std::memory_order_relaxed) == Kind::Device &&
         deviceAt(deviceOf(record)).attribute(attribute) != 0;
}

// A pointer that is asked about.
struct Subject {
  CUdeviceptr pointer;
  const alloc::Record& record;
  Kind kind;    // of the memory, whoever handed it out
  bool pooled;  // from a pool,
  bool closed;  // which does not let the device in
};

template <class T>
bool give(void* data, T value) {
  put(data, value);
  return true;
}

// These three: false where the memory has no such attribute.

// Where it begins, and what it is a piece of.
bool givePlace(void* data, CUpointer_attribute which, const Subject& subject) {
  const auto variable = variables::at(subject.pointer);
  switch (which) {
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
      if (variable) return give(data, variable->address);
      return give(data, subject.closed ? CUdeviceptr{0} : subject.record.base.load(std::memory_order_relaxed));
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
      return give(data, variable ? variable->size : subject.record.bytes());
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
      return give(data, mappingOf(subject.record).start);
    default:
      return give(data, mappingOf(subject.record).bytes);
  }
}

// What other processes, devices and engines may do with it.
bool giveUses(void* data, CUpointer_attribute which, const Subject& subject) {
  const alloc::Record& record = subject.record;
  switch (which) {
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
      return give(data, subject.pooled ? poolOf(record) : CUmemoryPool{});
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
      return give(data, subject.pooled ? uint64_t{poolHandleTypes(record)} : uint64_t{0});
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
      return give(data,
                  subject.kind != Kind::Imported ? deviceSays(record, CU_DEVICE_ATTRIBUTE_IPC_EVENT_SUPPORTED) : 0);
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
      return give(data, deviceSays(record, CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED));
    case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE:
      // Says that the memory is of the right kind, whether or not the device has an engine for it.
      return give(data, static_cast<int>(subject.pooled ? poolDecompresses(record) : subject.kind == Kind::Device));
    case CU_POINTER_ATTRIBUTE_P2P_TOKENS:
      // For kernel drivers of other devices; there are none here, so the numbers only have to be the memory's own.
      if (memoryType(subject.kind) == CU_MEMORYTYPE_HOST) return false;
      return give(data, CUDA_POINTER_ATTRIBUTE_P2P_TOKENS{record.id.load(std::memory_order_relaxed), 1});
    default:
      return false;
  }
}

bool giveAny(void* data, CUpointer_attribute which, const Subject& subject) {
  const auto& [pointer, record, kind, pooled, closed] = subject;
  switch (which) {
    case CU_POINTER_ATTRIBUTE_CONTEXT: {
      Context* owner = ownerOf(record);
      return give(data, owner ? owner->handle() : CUcontext{});
    }
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      return give(data, static_cast<unsigned>(memoryType(kind)));
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
      return !closed && give(data, pointer);
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
      put(data, hostAccessible(kind) ? pointer : CUdeviceptr{0});  // without one too, as recorded
      return hostAccessible(kind);
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS: {
      const bool changed = record.attributes.load(std::memory_order_relaxed) & kSyncMemopsChanged;
      return give(data, static_cast<int>(changed != (kind == Kind::Managed)));
    }
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
    case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
      return give(data, static_cast<unsigned long long>(record.id.load(std::memory_order_relaxed)));
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
      return give(data, static_cast<int>(kind == Kind::Managed));
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      return give(data, deviceOf(record));
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
      return givePlace(data, which, subject);
    case CU_POINTER_ATTRIBUTE_MAPPED:
      return give(data, 1);
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
      return give(data, accessFlags(record));
    case CU_POINTER_ATTRIBUTE_LOCALITY_DOMAIN_ORDINAL:  // devices have one domain
      return give(data, -1);
    default:
      return giveUses(data, which, subject);
  }
}

bool known(void* data, CUpointer_attribute which, CUdeviceptr pointer, const alloc::Record& record) {
  const Kind kind = kindOf(record);
  if (kind == Kind::Mapped)
    if (const Answer answer = attributeOfMapping(data, which, pointer, record); answer != Answer::AsUsual)
      return answer == Answer::Given;
  const bool pooled = record.kind.load(std::memory_order_relaxed) == Kind::Pool;
  return giveAny(data, which, {pointer, record, kind, pooled, pooled && !deviceReaches(record, deviceOf(record))});
}

bool exists(int which) {
  if (which == CU_POINTER_ATTRIBUTE_LOCALITY_DOMAIN_ORDINAL) return offers(13040);
  return which >= CU_POINTER_ATTRIBUTE_CONTEXT && which <= CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE;
}

// What cuPointerGetAttributes says of a pointer that has no such attribute.
CUresult putNothing(void* data, CUpointer_attribute which, CUdeviceptr pointer) {
  constexpr int kNoDevice = -2;  // as the vendor's driver answers; the runtime knows unregistered memory by it
  switch (which) {
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      return put(data, kNoDevice);
    case CU_POINTER_ATTRIBUTE_LOCALITY_DOMAIN_ORDINAL:
      return put(data, -1);
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:  // pageable memory has a host address, and it is this one
      return put(data, lookup(pointer) || table().ours(pointer) ? CUdeviceptr{0} : pointer);
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
      return put(data, 0u);
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
    case CU_POINTER_ATTRIBUTE_MAPPED:
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
    case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE:
      return put(data, 0);
    case CU_POINTER_ATTRIBUTE_P2P_TOKENS:
      return put(data, CUDA_POINTER_ATTRIBUTE_P2P_TOKENS{});
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:  // as recorded, these two are left as they are
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
      return CUDA_SUCCESS;
    default:
      return put(data, uint64_t{0});  // pointers, handles, sizes and numbers of 64 bits
  }
}

const alloc::Record* awake(CUdeviceptr pointer) {
  const alloc::Record* const record = lookup(pointer);
  return dormant(record) ? nullptr : record;
}

}  // namespace

CUresult pointerAttribute(void* data, CUpointer_attribute which, CUdeviceptr pointer) {
  const alloc::Record* record = awake(pointer);
  if (!record) return fail(CUDA_ERROR_INVALID_VALUE, "%#llx is in no memory that CUDA knows", pointer);
  if (!exists(rawValue(which)) || !known(data, which, pointer, *record))
    return fail(CUDA_ERROR_INVALID_VALUE, "%#llx has no attribute %d", pointer, static_cast<int>(which));
  return CUDA_SUCCESS;
}

CUresult pointerAttributeOrNothing(void* data, int number, CUdeviceptr pointer) {
  if (!exists(number) || number == CU_POINTER_ATTRIBUTE_P2P_TOKENS)
    return fail(CUDA_ERROR_INVALID_VALUE, "no pointer attribute %d can be asked in a list", number);
  const auto which = static_cast<CUpointer_attribute>(number);
  const alloc::Record* record = awake(pointer);
  return record && known(data, which, pointer, *record) ? CUDA_SUCCESS : putNothing(data, which, pointer);
}

CUresult setPointerAttribute(const void* value, CUpointer_attribute which, CUdeviceptr pointer) {
  if (which != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS)
    return fail(CUDA_ERROR_INVALID_VALUE, "pointer attribute %d cannot be set", static_cast<int>(which));
  // The record is ours; find() hands it out as constant because readers outnumber this one writer.
  auto* record = const_cast<alloc::Record*>(lookup(pointer));
  if (!record) return fail(CUDA_ERROR_INVALID_VALUE, "%#llx is in no memory that CUDA knows", pointer);
  unsigned on;
  std::memcpy(&on, value, sizeof on);
  if (record->kind.load(std::memory_order_relaxed) == alloc::Kind::Mapped)
    return unsupported("CU_POINTER_ATTRIBUTE_SYNC_MEMOPS of memory that cuMemMap has mapped");
  if ((on != 0) != (kindOf(*record) == Kind::Managed)) {
    record->attributes.fetch_or(kSyncMemopsChanged, std::memory_order_relaxed);
  } else {
    record->attributes.fetch_and(~kSyncMemopsChanged, std::memory_order_relaxed);
  }
  return CUDA_SUCCESS;
}

}  // namespace vg::core::memory
