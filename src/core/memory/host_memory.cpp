#include "core/memory/host_memory.h"

#include <utility>
#include <vector>

#include "base/memory/own_memory.h"
#include "base/undo.h"
#include "core/contexts/context.h"
#include "core/memory/device_visible_host.h"
#include "core/memory/memory.h"
#include "core/memory/memory_heaps.h"
#include "core/process/device.h"
#include "host_register/page_locker.h"
#include "host_register/placement.h"

namespace vg::core::memory {
namespace {

// Programs hand page-locked memory to system calls that want whole pages.
constexpr size_t kHostPage = 4096;

}  // namespace

Result<void*> allocateHost(Context& context, size_t bytes, unsigned flags) {
  constexpr unsigned kKnown = CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED;
  if (flags & ~kKnown) return fail(CUDA_ERROR_INVALID_VALUE, "unknown flags %#x", flags & ~kKnown);
  if (!bytes) return static_cast<void*>(nullptr);
  VG_TRY(alloc::Heap & heap, pinnedHeap());
  const size_t alignment = bytes < kHostPage ? 0 : kHostPage;
  const unsigned told = context.hostBlocks().join(bytes, flags);
  Result<alloc::Record*> record = heap.allocate(bytes, {alloc::Kind::Pinned, &context, told, alignment});
  if (record) return static_cast<void*>(record.value()->data());
  context.hostBlocks().leave(bytes, told);
  return record.error();
}

CUresult releaseHost(void* pointer) {
  if (!pointer) return CUDA_SUCCESS;
  const alloc::Record* record = lookup(pointer);
  if (!record || record->data() != pointer || record->kind.load(std::memory_order_relaxed) != alloc::Kind::Pinned)
    return fail(CUDA_ERROR_INVALID_VALUE, "%p is not the start of page-locked memory", pointer);
  const uint64_t id = record->id.load(std::memory_order_relaxed);
  Context* const owner = ownerOf(*record);
  const size_t bytes = record->bytes();
  const unsigned flags = record->flags.load(std::memory_order_relaxed);
  const CUresult waited = drain(owner);
  if (waited == CUDA_ERROR_NOT_PERMITTED) return waited;
  VG_TRY(alloc::Heap & heap, pinnedHeap());
  if (!heap.release(reinterpret_cast<uintptr_t>(pointer), id))
    return fail(CUDA_ERROR_INVALID_VALUE, "%p is being freed elsewhere", pointer);
  if (owner) owner->hostBlocks().leave(bytes, flags);
  return waited;
}

namespace {

CUresult checkRegistration(Context& context, const void* pointer, size_t bytes, unsigned flags) {
  constexpr unsigned kKnown = CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP | CU_MEMHOSTREGISTER_IOMEMORY |
                              CU_MEMHOSTREGISTER_READ_ONLY;
  const auto address = reinterpret_cast<uintptr_t>(pointer);
  if (!pointer || !bytes || address + (bytes - 1) < address)
    return fail(CUDA_ERROR_INVALID_VALUE, "no range: %p + %zu", pointer, bytes);
  if (flags & ~kKnown) return fail(CUDA_ERROR_INVALID_VALUE, "unknown flags %#x", flags & ~kKnown);
  if (static_cast<intptr_t>(address) < 0) return unsupported("an address of the kernel");
  if (bytes > hostMemory())
    return fail(CUDA_ERROR_OUT_OF_MEMORY, "%zu bytes of the %zu of this machine", bytes, hostMemory());
  if ((flags & CU_MEMHOSTREGISTER_READ_ONLY) &&
      !context.device().attribute(CU_DEVICE_ATTRIBUTE_READ_ONLY_HOST_REGISTER_SUPPORTED))
    return unsupported("the device cannot register read-only memory");
  if (table().ours(address) || table().ours(address + bytes - 1))
    return fail(CUDA_ERROR_INVALID_VALUE, "%p is memory that CUDA allocated", pointer);
  if (own_memory::overlaps(address, bytes))
    return fail(CUDA_ERROR_INVALID_VALUE, "%zu bytes at %p are memory of the library's own", bytes, pointer);
  if (table().ranges().overlapping(address, bytes))
    return fail(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, "%p + %zu is registered in part", pointer, bytes);
  if (flags & CU_MEMHOSTREGISTER_IOMEMORY)
    return fail(CUDA_ERROR_INVALID_VALUE, "%p is not memory of another device", pointer);
  return CUDA_SUCCESS;
}

void endRegistration(const alloc::Record& record) {
  const uintptr_t base = record.base.load(std::memory_order_relaxed);
  const size_t bytes = record.bytes();
  const Context* owner = ownerOf(record);
  if (table().ranges().remove(base))
    owner->device().backend().pageLocker().unlock(reinterpret_cast<void*>(base), bytes);
}

}  // namespace

CUresult registerHost(Context& context, void* pointer, size_t bytes, unsigned flags) {
  VG_CHECK(checkRegistration(context, pointer, bytes, flags));
  host_register::PageLocker& locker = context.device().backend().pageLocker();
  VG_CHECK(locker.lock(pointer, bytes, flags & CU_MEMHOSTREGISTER_READ_ONLY));
  Undo unlock([&] { locker.unlock(pointer, bytes); });
  alloc::Record prototype;
  prototype.base = reinterpret_cast<uintptr_t>(pointer);
  prototype.size = bytes;
  prototype.id = table().nextId();
  prototype.owner = &context;
  prototype.kind = alloc::Kind::Registered;
  prototype.flags = flags;
  if (!table().ranges().insert(prototype))
    return fail(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, "%p + %zu is being registered elsewhere", pointer, bytes);
  unlock.done();
  return CUDA_SUCCESS;
}

CUresult unregisterHost(void* pointer) {
  if (!pointer || table().ours(reinterpret_cast<uintptr_t>(pointer)))
    return fail(CUDA_ERROR_INVALID_VALUE, "%p is nothing that can be registered", pointer);
  const alloc::Record* record = lookup(pointer);
  if (!record) return fail(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, "%p is not registered", pointer);
  if (record->data() != pointer)
    return fail(CUDA_ERROR_INVALID_VALUE, "%p is inside the range registered at %p", pointer,
                static_cast<void*>(record->data()));
  Context* const owner = ownerOf(*record);
  const CUresult waited = drain(owner);
  if (waited == CUDA_ERROR_NOT_PERMITTED) return waited;
  endRegistration(*record);
  return waited == CUDA_SUCCESS && owner && owner->alive() ? owner->state() : waited;
}

void unregisterAll(Context& context) {
  context.hostBlocks().forget();  // whose allocations end, too
  std::vector<const alloc::Record*> owned;
  table().ranges().forEach([&](const alloc::Record& record) {
    const bool registered = record.kind.load(std::memory_order_relaxed) == alloc::Kind::Registered;
    if (registered && ownerOf(record) == &context) owned.push_back(&record);
  });
  for (const alloc::Record* record : owned) endRegistration(*record);
}

Result<CUdeviceptr> deviceAddressOfHost(void* pointer) {
  const alloc::Record* record = lookup(pointer);
  const alloc::Kind kind = record ? record->kind.load(std::memory_order_relaxed) : alloc::Kind::Device;
  if (kind != alloc::Kind::Pinned && kind != alloc::Kind::Registered)
    return fail(CUDA_ERROR_INVALID_VALUE, "%p is not page-locked host memory", pointer);
  return reinterpret_cast<CUdeviceptr>(pointer);  // unified addressing: every device uses the host's address
}

// As the vendor's driver answers: all host memory is mapped.
Result<unsigned> hostFlags(void* pointer) {
  const alloc::Record* record = lookup(pointer);
  const alloc::Kind kind = record ? record->kind.load(std::memory_order_relaxed) : alloc::Kind::Device;
  if (alwaysOfDevice(kind)) return fail(CUDA_ERROR_INVALID_VALUE, "%p is not host memory that CUDA knows", pointer);
  const unsigned flags = record->flags.load(std::memory_order_relaxed);
  const unsigned told = kind == alloc::Kind::Pinned ? flags & (CU_MEMHOSTALLOC_WRITECOMBINED | CU_MEMHOSTALLOC_PORTABLE)
                        : kind == alloc::Kind::Registered ? flags & CU_MEMHOSTREGISTER_PORTABLE
                                                          : 0;
  return told | CU_MEMHOSTALLOC_DEVICEMAP;
}

}  // namespace vg::core::memory
