#include "core/memory/memory.h"

#include <algorithm>

#include "alloc/heap.h"
#include "base/memory/own_memory.h"
#include "base/round.h"
#include "check/memory/host_pages.h"
#include "core/contexts/context.h"
#include "core/memory/memory_heaps.h"
#include "core/process/device.h"

namespace vg::core::memory {

Context* ownerOf(const alloc::Record& record) {
  const alloc::Kind kind = record.kind.load(std::memory_order_relaxed);
  if (kind == alloc::Kind::Pool || kind == alloc::Kind::Mapped || kind == alloc::Kind::Graph)
    return nullptr;  // owned by a pool, by nobody
  return static_cast<Context*>(record.owner.load(std::memory_order_relaxed));
}

bool accessible(const alloc::Record& record) {
  return record.kind.load(std::memory_order_relaxed) != alloc::Kind::Mapped ||
         roles->mappedForAny(record, Access::Read);
}

int deviceOf(const alloc::Record& record) {
  const bool ours = record.kind.load(std::memory_order_relaxed) != alloc::Kind::Registered;
  if (ours && inWindowOfDevice(record)) return record.window.load(std::memory_order_relaxed);
  const Context* owner = ownerOf(record);
  return owner ? owner->device().ordinal() : 0;
}

namespace {

constexpr uint32_t kOfModule = 1;  // flag of device memory

Result<alloc::Record*> allocateRecord(Context& context, size_t bytes, alloc::Kind kind, size_t alignment,
                                      uint32_t flags = 0) {
  VG_TRY(alloc::Heap & heap, deviceHeap(context.device()));
  const alloc::Description description{kind, &context, flags, alignment};
  Result<alloc::Record*> first = heap.allocate(bytes, description);
  if (first) [[likely]]
    return first.value();
  roles->collectReleased(true);  // streams may hold what is missing
  if (heap.capacity() - heap.used() >= bytes) trimHeaps();
  return heap.allocate(bytes, description);
}

// Where the checker closes pages, allocations have pages of their own.
Result<alloc::Record*> allocateManagedRecord(size_t bytes, alloc::Description description) {
  if (check::host_pages::wanted())
    description.alignment = std::max<size_t>(description.alignment, check::host_pages::kPage);
  VG_TRY(alloc::Heap & heap, managedHeap());
  Result<alloc::Record*> first = heap.allocate(bytes, description);
  if (!first) trimHeaps();
  VG_TRY(alloc::Record* const record, first ? std::move(first) : heap.allocate(bytes, description));
  forgetAdvice(record->base.load(std::memory_order_relaxed), bytes);
  return record;
}

}  // namespace

Result<CUdeviceptr> allocate(Context& context, size_t bytes, size_t alignment) {
  if (!bytes) return fail(CUDA_ERROR_INVALID_VALUE, "an allocation of 0 bytes");
  VG_TRY(const alloc::Record* record, allocateRecord(context, bytes, alloc::Kind::Device, alignment));
  return record->base.load(std::memory_order_relaxed);
}

Result<CUdeviceptr> allocateForModule(Context& context, size_t bytes, size_t alignment) {
  VG_TRY(const alloc::Record* record, allocateRecord(context, bytes, alloc::Kind::Device, alignment, kOfModule));
  return record->base.load(std::memory_order_relaxed);
}

bool isOfModule(const alloc::Record& record) {
  return record.kind.load(std::memory_order_relaxed) == alloc::Kind::Device &&
         record.flags.load(std::memory_order_relaxed) == kOfModule;
}

Result<const alloc::Record*> allocateForArray(Context& context, size_t bytes) {
  VG_TRY(const alloc::Record* record, allocateRecord(context, bytes, alloc::Kind::Array, 0));
  return record;
}

void releaseOfArray(const alloc::Record& record, uint64_t id) {
  Result<alloc::Heap&> heap = heapOf(record.window.load(std::memory_order_relaxed));
  if (heap) heap->release(record.base.load(std::memory_order_relaxed), id);
}

Result<PitchedSize> pitchedSize(size_t width, size_t height, unsigned elementSize) {
  if (elementSize != 4 && elementSize != 8 && elementSize != 16)
    return fail(CUDA_ERROR_INVALID_VALUE, "element size %u is not 4, 8 or 16", elementSize);
  if (!width || !height) return fail(CUDA_ERROR_INVALID_VALUE, "%zu rows of %zu bytes", height, width);
  constexpr size_t kPitchAlignment = 512;  // what the vendor's driver uses for every width and element size
  const size_t pitch = roundUp(width, kPitchAlignment);
  if (pitch < width) return fail(CUDA_ERROR_INVALID_VALUE, "rows of %zu bytes", width);
  PitchedSize size{pitch, 0, false};
  size.vast = __builtin_mul_overflow(pitch, height, &size.bytes);
  return size;
}

// The vendor's driver multiplies without a look at what does not fit, and no bytes are an invalid value. What would
// wrap to few is out of memory here as all that wraps to many is.
Result<CUdeviceptr> allocatePitched(Context& context, const PitchedSize& size) {
  if (size.vast && size.bytes)
    return fail(CUDA_ERROR_OUT_OF_MEMORY, "rows of %zu bytes beyond all addresses", size.pitch);
  return allocate(context, size.bytes);
}

Result<CUdeviceptr> allocateManaged(Context& context, size_t bytes, unsigned flags, size_t alignment) {
  if (!bytes) return fail(CUDA_ERROR_INVALID_VALUE, "an allocation of 0 bytes");
  if (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST)
    return fail(CUDA_ERROR_INVALID_VALUE, "flags %#x are neither CU_MEM_ATTACH_GLOBAL nor CU_MEM_ATTACH_HOST", flags);
  if (!context.device().attribute(CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY))
    return unsupported("the device has no managed memory");
  VG_TRY(alloc::Record * record, allocateManagedRecord(bytes, {alloc::Kind::Managed, &context, flags, alignment}));
  return record->base.load(std::memory_order_relaxed);
}

Result<CUdeviceptr> allocateProcessManaged(size_t bytes, size_t alignment) {
  if (!bytes) return fail(CUDA_ERROR_INVALID_VALUE, "an allocation of 0 bytes");
  VG_TRY(alloc::Record * record,
         allocateManagedRecord(bytes, {alloc::Kind::Managed, nullptr, CU_MEM_ATTACH_GLOBAL, alignment}));
  return record->base.load(std::memory_order_relaxed);
}

namespace {

// Who hands out the memory of a record; null: a heap.
const Provider* providerOf(const alloc::Record& record) {
  for (const Provider& provider : roles->providers)
    if (provider.owns(record)) return &provider;
  return nullptr;
}

// The allocation that starts at this address and that cuMemFree may end.
Result<const alloc::Record*> freeable(CUdeviceptr address) {
  const alloc::Record* record = lookup(address);
  if (!record || record->base.load(std::memory_order_relaxed) != address)
    return fail(CUDA_ERROR_INVALID_VALUE, "%#llx is not the start of a live allocation", address);
  const alloc::Kind kind = record->kind.load(std::memory_order_relaxed);
  if (kind == alloc::Kind::Pinned || kind == alloc::Kind::Registered)
    return fail(CUDA_ERROR_INVALID_VALUE, "%#llx is host memory", address);
  if (kind == alloc::Kind::Array) return fail(CUDA_ERROR_INVALID_VALUE, "%#llx is an array's", address);
  if (kind == alloc::Kind::Mapped || (kind == alloc::Kind::Imported && !providerOf(*record)))
    return fail(CUDA_ERROR_INVALID_VALUE, "%#llx was mapped by cuMemMap; cuMemFree cannot free it", address);
  return record;
}

// Where an allocation goes back to.
struct Origin {
  const Provider* provider;
  unsigned window;
  explicit Origin(const alloc::Record& record)
      : provider(providerOf(record)), window(record.window.load(std::memory_order_relaxed)) {}
};

Result<bool> endAt(const Origin& origin, CUdeviceptr address, uint64_t id) {
  if (origin.provider) return origin.provider->free(address, id);
  VG_TRY(alloc::Heap & heap, heapOf(origin.window));
  return heap.release(address, id);
}

CUresult end(const Origin& origin, CUdeviceptr address, uint64_t id) {
  VG_TRY(const bool ended, endAt(origin, address, id));
  if (!ended) return fail(CUDA_ERROR_INVALID_VALUE, "%#llx is being freed elsewhere", address);
  return CUDA_SUCCESS;
}

}  // namespace

CUresult drain(Context* owner) {
  if (!owner || !owner->alive() || streams::idle(*owner)) return CUDA_SUCCESS;
  return streams::synchronizeAll(*owner);
}

CUresult release(CUdeviceptr address) {
  if (!address) return CUDA_SUCCESS;
  VG_TRY(const alloc::Record* record, freeable(address));
  if (record->kind.load(std::memory_order_relaxed) == alloc::Kind::Graph) return roles->releaseOfGraph(address, {});
  if (const Context* owner = ownerOf(*record)) VG_CHECK(owner->state());
  // Read before waiting: the record may change hands meanwhile.
  const Origin origin(*record);
  const uint64_t id = record->id.load(std::memory_order_relaxed);
  if (record->kind.load(std::memory_order_relaxed) == alloc::Kind::Pool) return roles->releaseOfPool(*record);
  const CUresult waited = drain(ownerOf(*record));
  if (waited == CUDA_ERROR_NOT_PERMITTED) return waited;  // from a host function: nothing was waited for
  VG_CHECK(end(origin, address, id));
  return waited;
}

CUresult releaseNow(CUdeviceptr address) {
  VG_TRY(const alloc::Record* record, freeable(address));
  return end(Origin(*record), address, record->id.load(std::memory_order_relaxed));
}

void releaseAll(Context& context) {
  const auto owned = [&](const alloc::Record& record) {
    return record.kind.load(std::memory_order_relaxed) != alloc::Kind::Pool && ownerOf(record) == &context;
  };
  for (const unsigned window : {static_cast<unsigned>(context.device().ordinal()), managedWindow(), pinnedWindow()})
    if (alloc::Heap* heap = heapMadeOf(window)) heap->releaseIf(owned);
}

Usage usage(Context& context) {
  const size_t total = context.device().traits().totalMemory;
  Result<alloc::Heap&> heap = deviceHeap(context.device());
  if (!heap) return {0, total};
  roles->collectReleased(false);
  return {heap->available(), total};
}

namespace {

CUresult partlyOutside(const alloc::Record& record, uintptr_t address, size_t bytes) {
  return fail(CUDA_ERROR_INVALID_VALUE, "%zu bytes at %#lx leave the allocation of %zu bytes at %p", bytes, address,
              record.bytes(), static_cast<void*>(record.data()));
}

// Memory of the host that a pool handed out is closed to devices until the pool is told otherwise; registered memory
// may be read-only.
CUresult checkAccess(const alloc::Record& record, uintptr_t address, Access access) {
  const alloc::Kind kind = record.kind.load(std::memory_order_relaxed);
  if (kind == alloc::Kind::Registered && access == Access::Write &&
      (record.flags.load(std::memory_order_relaxed) & CU_MEMHOSTREGISTER_READ_ONLY))
    return fail(CUDA_ERROR_INVALID_VALUE, "%#lx is host memory that was registered read-only", address);
  if (kind != alloc::Kind::Pool || inWindowOfDevice(record)) return CUDA_SUCCESS;
  const Context* context = threadState.current;
  if (roles->deviceReaches(record, context ? context->device().ordinal() : 0)) return CUDA_SUCCESS;
  return fail(CUDA_ERROR_INVALID_VALUE, "%#lx is memory of a host pool; the device was not given access to it",
              address);
}

bool holds(const alloc::Record& record, uintptr_t address, size_t bytes) {
  const size_t offset = address - record.base.load(std::memory_order_relaxed);
  return bytes <= record.bytes() && offset <= record.bytes() - bytes;
}

// A range that starts in a mapping of cuMemMap and may go on in the mappings behind it.
Result<const alloc::Record*> acrossMappings(const alloc::Record& first, uintptr_t address, size_t bytes,
                                            Access access) {
  const uintptr_t end = address + bytes;
  if (end < address) return partlyOutside(first, address, bytes);
  for (const alloc::Record* record = &first;;) {
    if (!roles->mappedForAny(*record, access))
      return fail(CUDA_ERROR_INVALID_VALUE, "%p is mapped without access to %s it", static_cast<void*>(record->data()),
                  access == Access::Read ? "read" : "write");
    const uintptr_t next = reinterpret_cast<uintptr_t>(record->data()) + record->bytes();
    if (next >= end) return &first;
    record = lookup(static_cast<CUdeviceptr>(next));
    if (!record || record->kind.load(std::memory_order_relaxed) != alloc::Kind::Mapped)
      return partlyOutside(first, address, bytes);
  }
}

// The record itself, if the range lies in it and may be accessed that way.
[[gnu::always_inline]] inline Result<const alloc::Record*> within(const alloc::Record& record, uintptr_t address,
                                                                  size_t bytes, Access access) {
  const alloc::Kind kind = record.kind.load(std::memory_order_relaxed);
  if (kind == alloc::Kind::Mapped) return acrossMappings(record, address, bytes, access);
  if (!holds(record, address, bytes)) [[unlikely]]
    return partlyOutside(record, address, bytes);
  if (kind == alloc::Kind::Pool || kind == alloc::Kind::Registered) VG_CHECK(checkAccess(record, address, access));
  return &record;
}

}  // namespace

Result<const alloc::Record*> deviceRecord(CUdeviceptr address, size_t bytes, Access access) {
  const alloc::Record* record = lookup(address);
  if (!record) [[unlikely]]
    return fail(CUDA_ERROR_INVALID_VALUE, "%#llx is in no allocation", address);
  return within(*record, address, bytes, access);
}

Result<const alloc::Record*> unifiedRecord(const void* pointer, size_t bytes, Access access) {
  const auto address = reinterpret_cast<uintptr_t>(pointer);
  const alloc::Record* record = lookup(pointer);
  if (record) return within(*record, address, bytes, access);
  if (!address || address + bytes < address) return fail(CUDA_ERROR_INVALID_VALUE, "%p + %zu", pointer, bytes);
  if (table().ours(address) || table().ours(address + bytes - 1))
    return fail(CUDA_ERROR_INVALID_VALUE, "%p is in no allocation", pointer);
  if (own_memory::overlaps(address, bytes)) [[unlikely]]
    return fail(CUDA_ERROR_INVALID_VALUE, "%zu bytes at %p are memory of the library's own", bytes, pointer);
  return static_cast<const alloc::Record*>(nullptr);
}

Result<std::byte*> deviceRange(CUdeviceptr address, size_t bytes, Access access) {
  if (bytes) VG_CHECK(deviceRecord(address, bytes, access));
  return reinterpret_cast<std::byte*>(address);
}

}  // namespace vg::core::memory
