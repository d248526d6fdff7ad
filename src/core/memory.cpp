#include "core/memory.h"

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <mutex>
#include <new>

#include "alloc/heap.h"
#include "core/array.h"
#include "core/context.h"
#include "core/device.h"
#include "core/external_memory.h"
#include "core/graph_memory.h"
#include "core/ipc_memory.h"
#include "core/memory_heaps.h"
#include "core/memory_pool.h"
#include "core/virtual_memory.h"

namespace vg::core::memory {
namespace {

constinit alloc::MemoryTable theTable;

constexpr unsigned kMaxWindows = 256;
constinit std::mutex heapMutex;  // guards the making of heaps
constinit std::atomic<alloc::Heap*> heaps[kMaxWindows];

unsigned managedWindow() { return static_cast<unsigned>(deviceCount()); }
unsigned pinnedWindow() { return managedWindow() + 1; }
unsigned poolWindow(unsigned device) { return pinnedWindow() + 1 + device; }
unsigned mappedWindow() { return poolWindow(managedWindow()); }  // the first of those for mappings and imports

// Programs reserve far more addresses than there is memory, as allocators with growing segments do.
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define __SANITIZE_THREAD__ 1
#endif
#endif
#ifdef __SANITIZE_THREAD__
constexpr size_t kMappedAddresses = size_t{128} << 30;  // the sanitizer leaves little more
#else
constexpr size_t kMappedAddresses = size_t{16} << 40;
#endif

// Room for twice the largest memory, so that addresses never run out before the memory does.
CUresult reserveAddresses() {
  if (theTable.windowBytes()) return CUDA_SUCCESS;
  size_t largest = hostMemory();
  for (int i = 0; i < deviceCount(); ++i) largest = std::max<size_t>(largest, deviceAt(i).traits().totalMemory);
  const size_t window = std::bit_ceil(largest + largest / 2);
  return theTable.reserve(mappedWindow() + 1, window, static_cast<unsigned>(kMappedAddresses / window));
}

// How much released memory a heap may keep.
size_t cacheFor(unsigned window) {
  const size_t share = window == pinnedWindow() ? 32 : window == managedWindow() ? 16 : 8;
  constexpr size_t kLeast = size_t{1} << 30, kMost = size_t{16} << 30;
  return std::clamp(hostMemory() / share, window < managedWindow() ? kLeast : kLeast / 16, kMost);
}

Result<alloc::Heap&> makeHeap(unsigned window) {
  std::lock_guard lock(heapMutex);
  if (alloc::Heap* made = heaps[window].load(std::memory_order_relaxed)) return *made;
  if (window >= kMaxWindows) return fail(CUDA_ERROR_OUT_OF_MEMORY, "more than %u memory windows", kMaxWindows);
  VG_CHECK(reserveAddresses());
  alloc::Heap* heap;
  if (window == pinnedWindow()) {
    heap = new alloc::Heap(theTable, window, pinnedSource(), hostMemory(), cacheFor(window));
  } else if (window > pinnedWindow()) {
    const unsigned ordinal = window - poolWindow(0);
    backend::Device& device = deviceAt(static_cast<int>(ordinal)).backend();
    const alloc::HeapRange range{reinterpret_cast<uintptr_t>(theTable.windowStart(window)), theTable.windowBytes(),
                                 ordinal};
    heap = new alloc::Heap(theTable, range, device.memory(), device.traits().totalMemory, cacheFor(managedWindow()));
  } else {
    const bool managed = window == managedWindow();
    backend::Device& device = deviceAt(managed ? 0 : static_cast<int>(window)).backend();
    heap = new alloc::Heap(theTable, window, device.memory(), managed ? hostMemory() : device.traits().totalMemory,
                           cacheFor(window));
  }
  heaps[window].store(heap, std::memory_order_release);
  return *heap;
}

Result<alloc::Heap&> heapOf(unsigned window) {
  if (alloc::Heap* heap = heaps[window].load(std::memory_order_acquire)) [[likely]]
    return *heap;
  return makeHeap(window);
}

constinit std::atomic<alloc::AddressSpace*> theSpace{nullptr};

Result<alloc::AddressSpace&> makeAddressSpace() {
  std::lock_guard lock(heapMutex);
  if (alloc::AddressSpace* made = theSpace.load(std::memory_order_relaxed)) return *made;
  VG_CHECK(reserveAddresses());
  const unsigned first = mappedWindow();
  auto* space = new alloc::AddressSpace(theTable, first, theTable.windows() - first);
  theSpace.store(space, std::memory_order_release);
  return *space;
}

}  // namespace

Result<alloc::AddressSpace&> addressSpace() {
  if (alloc::AddressSpace* space = theSpace.load(std::memory_order_acquire)) [[likely]]
    return *space;
  return makeAddressSpace();
}

alloc::MemoryTable& table() { return theTable; }

size_t hostMemory() {
  return static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

Result<alloc::Heap&> deviceHeap(Device& device) { return heapOf(static_cast<unsigned>(device.ordinal())); }
Result<alloc::Heap&> managedHeap() { return heapOf(managedWindow()); }
Result<alloc::Heap&> pinnedHeap() { return heapOf(pinnedWindow()); }
Result<alloc::Heap&> poolHeap(Device& device) { return heapOf(poolWindow(static_cast<unsigned>(device.ordinal()))); }

Context* ownerOf(const alloc::Record& record) {
  const alloc::Kind kind = record.kind.load(std::memory_order_relaxed);
  if (kind == alloc::Kind::Pool || kind == alloc::Kind::Mapped || kind == alloc::Kind::Graph)
    return nullptr;  // owned by a pool, by nobody
  return static_cast<Context*>(record.owner.load(std::memory_order_relaxed));
}

bool accessible(const alloc::Record& record) {
  return record.kind.load(std::memory_order_relaxed) != alloc::Kind::Mapped || mappedForAny(record, Access::Read);
}

bool onDevice(const alloc::Record& record) {
  const alloc::Kind kind = record.kind.load(std::memory_order_relaxed);
  if (kind != alloc::Kind::Mapped && kind != alloc::Kind::Pool) return alwaysOfDevice(kind);
  return record.window.load(std::memory_order_relaxed) < managedWindow();
}

int deviceOf(const alloc::Record& record) {
  const unsigned window = record.window.load(std::memory_order_relaxed);
  const bool ours = record.kind.load(std::memory_order_relaxed) != alloc::Kind::Registered;
  if (ours && window < managedWindow()) return static_cast<int>(window);
  const Context* owner = ownerOf(record);
  return owner ? owner->device().ordinal() : 0;
}

namespace {

Result<alloc::Record*> allocateRecord(Context& context, size_t bytes, alloc::Kind kind, size_t alignment) {
  VG_TRY(alloc::Heap & heap, deviceHeap(context.device()));
  const alloc::Description description{kind, &context, 0, alignment};
  Result<alloc::Record*> first = heap.allocate(bytes, description);
  if (first) [[likely]]
    return first.value();
  collectReleased(true);  // streams may hold what is missing
  return heap.allocate(bytes, description);
}

}  // namespace

Result<CUdeviceptr> allocate(Context& context, size_t bytes, size_t alignment) {
  if (!bytes) return fail(CUDA_ERROR_INVALID_VALUE, "an allocation of 0 bytes");
  VG_TRY(const alloc::Record* record, allocateRecord(context, bytes, alloc::Kind::Device, alignment));
  return record->base.load(std::memory_order_relaxed);
}

Result<const alloc::Record*> allocateForArray(Context& context, size_t bytes) {
  VG_TRY(const alloc::Record* record, allocateRecord(context, bytes, alloc::Kind::Array, 0));
  return record;
}

void releaseOfArray(const alloc::Record& record, uint64_t id) {
  Result<alloc::Heap&> heap = heapOf(record.window.load(std::memory_order_relaxed));
  if (heap) heap->release(record.base.load(std::memory_order_relaxed), id);
}

Result<Pitched> allocatePitch(Context& context, size_t width, size_t height, unsigned elementSize) {
  if (elementSize != 4 && elementSize != 8 && elementSize != 16)
    return fail(CUDA_ERROR_INVALID_VALUE, "element size %u is not 4, 8 or 16", elementSize);
  if (!width || !height) return fail(CUDA_ERROR_INVALID_VALUE, "%zu rows of %zu bytes", height, width);
  constexpr size_t kPitchAlignment = 512;  // what the vendor's driver uses for every width and element size
  const size_t pitch = alloc::roundUp(width, kPitchAlignment);
  size_t bytes;
  if (pitch < width || __builtin_mul_overflow(pitch, height, &bytes))
    return fail(CUDA_ERROR_INVALID_VALUE, "%zu rows of %zu bytes", height, pitch);
  VG_TRY(CUdeviceptr address, allocate(context, bytes));
  return Pitched{address, pitch};
}

Result<CUdeviceptr> allocateManaged(Context& context, size_t bytes, unsigned flags, size_t alignment) {
  if (!bytes) return fail(CUDA_ERROR_INVALID_VALUE, "an allocation of 0 bytes");
  if (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST)
    return fail(CUDA_ERROR_INVALID_VALUE, "flags %#x are neither CU_MEM_ATTACH_GLOBAL nor CU_MEM_ATTACH_HOST", flags);
  if (!context.device().attribute(CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY))
    return unsupported("the device has no managed memory");
  VG_TRY(alloc::Heap & heap, managedHeap());
  VG_TRY(alloc::Record * record, heap.allocate(bytes, {alloc::Kind::Managed, &context, flags, alignment}));
  return record->base.load(std::memory_order_relaxed);
}

Result<CUdeviceptr> allocateProcessManaged(size_t bytes, size_t alignment) {
  if (!bytes) return fail(CUDA_ERROR_INVALID_VALUE, "an allocation of 0 bytes");
  VG_TRY(alloc::Heap & heap, managedHeap());
  VG_TRY(alloc::Record * record,
         heap.allocate(bytes, {alloc::Kind::Managed, nullptr, CU_MEM_ATTACH_GLOBAL, alignment}));
  return record->base.load(std::memory_order_relaxed);
}

namespace {

// The allocation that starts at this address and that cuMemFree may end.
Result<const alloc::Record*> freeable(CUdeviceptr address) {
  const alloc::Record* record = lookup(address);
  if (!record || record->base.load(std::memory_order_relaxed) != address)
    return fail(CUDA_ERROR_INVALID_VALUE, "%#llx is not the start of a live allocation", address);
  const alloc::Kind kind = record->kind.load(std::memory_order_relaxed);
  if (kind == alloc::Kind::Pinned || kind == alloc::Kind::Registered)
    return fail(CUDA_ERROR_INVALID_VALUE, "%#llx is host memory", address);
  if (kind == alloc::Kind::Array) return fail(CUDA_ERROR_INVALID_VALUE, "%#llx is an array's", address);
  if (kind == alloc::Kind::Mapped || (kind == alloc::Kind::Imported && !isExternalBuffer(*record)))
    return fail(CUDA_ERROR_INVALID_VALUE, "%#llx is a mapping, which cuMemFree does not end", address);
  return record;
}

CUresult end(CUdeviceptr address, unsigned window, uint64_t id, bool external) {
  bool ended;
  if (external) {
    ended = freeExternalBuffer(address, id);
  } else {
    VG_TRY(alloc::Heap & heap, heapOf(window));
    ended = heap.release(address, id);
  }
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
  if (record->kind.load(std::memory_order_relaxed) == alloc::Kind::Graph) return graphs::releaseByUser(address, {});
  if (const Context* owner = ownerOf(*record)) VG_CHECK(owner->state());
  // Read before waiting: the record may change hands meanwhile.
  const unsigned window = record->window.load(std::memory_order_relaxed);
  const uint64_t id = record->id.load(std::memory_order_relaxed);
  const bool external = isExternalBuffer(*record);
  if (record->kind.load(std::memory_order_relaxed) == alloc::Kind::Pool) return releasePooled(*record);
  const CUresult waited = drain(ownerOf(*record));
  if (waited == CUDA_ERROR_NOT_PERMITTED) return waited;  // from a host function: nothing was waited for
  VG_CHECK(end(address, window, id, external));
  return waited;
}

CUresult releaseNow(CUdeviceptr address) {
  VG_TRY(const alloc::Record* record, freeable(address));
  return end(address, record->window.load(std::memory_order_relaxed), record->id.load(std::memory_order_relaxed),
             isExternalBuffer(*record));
}

void releaseAll(Context& context) {
  releaseArrays(context);
  unregisterAll(context);
  releaseExternal(context);
  ipc_memory::closeAll(context);
  collectReleased(true);
  // Resetting a device ends what its pools have handed out too.
  if (context.primary()) releasePooled(context.device());
  const auto owned = [&](const alloc::Record& record) {
    return record.kind.load(std::memory_order_relaxed) != alloc::Kind::Pool && ownerOf(record) == &context;
  };
  for (const unsigned window : {static_cast<unsigned>(context.device().ordinal()), managedWindow(), pinnedWindow()})
    if (alloc::Heap* heap = heaps[window].load(std::memory_order_acquire)) heap->releaseIf(owned);
}

Usage usage(Context& context) {
  const size_t total = context.device().traits().totalMemory;
  Result<alloc::Heap&> heap = deviceHeap(context.device());
  if (!heap) return {0, total};
  collectReleased(false);
  return {heap->capacity() - std::min(heap->capacity(), heap->used()), total};
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
  if (kind != alloc::Kind::Pool || record.window.load(std::memory_order_relaxed) < managedWindow()) return CUDA_SUCCESS;
  const Context* context = threadState.current;
  if (deviceReaches(record, context ? context->device().ordinal() : 0)) return CUDA_SUCCESS;
  return fail(CUDA_ERROR_INVALID_VALUE, "%#lx is memory of a host's pool that the device has no access to", address);
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
    if (!mappedForAny(*record, access))
      return fail(CUDA_ERROR_INVALID_VALUE, "%p is mapped without access to %s it", static_cast<void*>(record->data()),
                  access == Access::Read ? "read" : "write");
    const uintptr_t next = reinterpret_cast<uintptr_t>(record->data()) + record->bytes();
    if (next >= end) return &first;
    record = lookup(static_cast<CUdeviceptr>(next));
    if (!record || record->kind.load(std::memory_order_relaxed) != alloc::Kind::Mapped)
      return partlyOutside(first, address, bytes);
  }
}

}  // namespace

Result<const alloc::Record*> deviceRecord(CUdeviceptr address, size_t bytes, Access access) {
  const alloc::Record* record = lookup(address);
  if (!record) [[unlikely]]
    return fail(CUDA_ERROR_INVALID_VALUE, "%#llx is in no allocation", address);
  if (record->kind.load(std::memory_order_relaxed) == alloc::Kind::Mapped)
    return acrossMappings(*record, address, bytes, access);
  if (!holds(*record, address, bytes)) [[unlikely]]
    return partlyOutside(*record, address, bytes);
  VG_CHECK(checkAccess(*record, address, access));
  return record;
}

Result<const alloc::Record*> unifiedRecord(const void* pointer, size_t bytes, Access access) {
  const auto address = reinterpret_cast<uintptr_t>(pointer);
  const alloc::Record* record = lookup(pointer);
  if (record) {
    if (record->kind.load(std::memory_order_relaxed) == alloc::Kind::Mapped)
      return acrossMappings(*record, address, bytes, access);
    if (!holds(*record, address, bytes)) [[unlikely]]
      return partlyOutside(*record, address, bytes);
    VG_CHECK(checkAccess(*record, address, access));
    return record;
  }
  if (!address || address + bytes < address) return fail(CUDA_ERROR_INVALID_VALUE, "%p + %zu", pointer, bytes);
  if (theTable.ours(address) || theTable.ours(address + bytes - 1))
    return fail(CUDA_ERROR_INVALID_VALUE, "%p is in no allocation", pointer);
  if (theTable.ranges().mayOverlap(address, bytes)) [[unlikely]] {
    if (const alloc::Record* part = theTable.ranges().overlapping(address, bytes))
      return partlyOutside(*part, address, bytes);
  }
  return static_cast<const alloc::Record*>(nullptr);
}

Result<std::byte*> deviceRange(CUdeviceptr address, size_t bytes, Access access) {
  if (bytes) VG_CHECK(deviceRecord(address, bytes, access));
  return reinterpret_cast<std::byte*>(address);
}

Result<std::byte*> unifiedRange(const void* address, size_t bytes, Access access) {
  if (bytes) VG_CHECK(unifiedRecord(address, bytes, access));
  return static_cast<std::byte*>(const_cast<void*>(address));
}

}  // namespace vg::core::memory
