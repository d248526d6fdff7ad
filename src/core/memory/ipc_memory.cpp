#include "core/memory/ipc_memory.h"

#include <array>
#include <condition_variable>
#include <cstring>
#include <map>
#include <new>
#include <vector>

#include "base/sync/mutex.h"
#include "base/undying.h"
#include "core/contexts/context.h"
#include "core/memory/ipc_exports.h"
#include "core/memory/memory.h"
#include "core/memory/memory_heaps.h"
#include "core/process/device.h"
#include "ipc/exporter.h"

namespace vg::core::ipc_memory {
namespace {

// Addresses that show imported memory.
struct Mapping {
  alloc::PhysicalRef object = nullptr;
  uintptr_t reserved = 0;
  size_t reservedBytes = 0;
  alloc::Record* record = nullptr;
  backend::Device *reaches = nullptr, *reached = nullptr;  // when the context is of another device than the memory
};

struct Import {
  Context* context;
  ipc::Address exporter;
  int device = 0;       // whose memory it is
  unsigned opened = 0;  // 0: a thread is asking the exporter
  Mapping mapping;
};

using Key = std::array<char, sizeof(CUipcMemHandle)>;

struct Imports {
  Mutex mutex;
  std::condition_variable settled;
  std::map<Key, Import> byHandle VG_GUARDED_BY(mutex);
  std::map<CUdeviceptr, std::map<Key, Import>::iterator> byAddress VG_GUARDED_BY(mutex);
};
Imports& imports() { return undying<Imports, Imports>(); }

// Maps what an exporter gave and makes it known.
Result<Mapping> mapReceived(Context& context, const memory::ReceivedMemory& received) {
  VG_TRY(const memory::ShownMemory shown, memory::show(received));
  VG_TRY(alloc::AddressSpace & space, memory::addressSpace());
  Mapping mapping;
  mapping.object = received.object;
  mapping.reserved = shown.reserved;
  mapping.reservedBytes = shown.reservedBytes;
  alloc::Record prototype;
  prototype.base = shown.start;
  prototype.size = received.note.bytes;
  prototype.owner = &context;
  prototype.kind = alloc::Kind::Imported;
  prototype.window = static_cast<uint16_t>(received.device->ordinal());
  mapping.record = space.publish(prototype);
  return mapping;
}

int deviceOf(const Mapping& mapping) { return mapping.record->window.load(std::memory_order_relaxed); }

// Memory of one device of another process may be open in one context of each device of ours, the driver's rule.
bool onlyContext(const Imports& all, const Context& context, const Import& fresh, const Mapping& mapping)
    VG_REQUIRES(all.mutex) {
  for (const auto& [key, other] : all.byHandle)
    if (other.opened && other.context != &context && &other.context->device() == &context.device() &&
        other.exporter == fresh.exporter && other.device == deviceOf(mapping))
      return false;
  return true;
}

void unmap(const Mapping& mapping) {
  Result<alloc::AddressSpace&> space = memory::addressSpace();
  space->withdraw(mapping.record);
  mapping.object->unmap(reinterpret_cast<std::byte*>(mapping.reserved), mapping.reservedBytes);
  space->free(mapping.reserved, mapping.reservedBytes);
  if (mapping.reached) mapping.reaches->leave(*mapping.reached);
}

// Asks the exporter and maps what it gives.
Result<Mapping> fetch(Context& context, const ipc::Handle& handle) {
  VG_TRY(const memory::ReceivedMemory received, memory::receive(handle));
  VG_TRY(Mapping mapping, mapReceived(context, received));
  Device* const device = received.device;
  if (!context.device().reaches(*device)) return mapping;
  backend::Device &own = context.device().backend(), &owner = device->backend();
  if (own.reach(owner) != CUDA_SUCCESS) {
    unmap(mapping);
    return CUDA_ERROR_MAP_FAILED;
  }
  mapping.reaches = &own;
  mapping.reached = &owner;
  return mapping;
}

// Others may wait for the outcome: it is never an exception.
Result<Mapping> fetchOrNothing(Context& context, const ipc::Handle& handle) try {
  return fetch(context, handle);
} catch (const std::bad_alloc&) {
  return CUDA_ERROR_MAP_FAILED;
}

// Requires: the lock is held and the import is open.
Result<CUdeviceptr> openAgain(Import& import, const Context& context, Again again) {
  if (import.context != &context)
    return fail(CUDA_ERROR_INVALID_HANDLE, "another context of this process has the handle open");
  if (again == Again::Refuse) return fail(CUDA_ERROR_ALREADY_MAPPED, "the context has the handle open");
  ++import.opened;
  return static_cast<CUdeviceptr>(import.mapping.record->base.load(std::memory_order_relaxed));
}

}  // namespace

Result<CUipcMemHandle> handleOf(CUdeviceptr address) {
  const alloc::Record* record = memory::lookup(address);
  if (!record) return fail(CUDA_ERROR_INVALID_VALUE, "%#llx is in no allocation", address);
  if (record->kind.load(std::memory_order_relaxed) != alloc::Kind::Device)
    return fail(CUDA_ERROR_INVALID_VALUE, "%#llx is not in memory of cuMemAlloc", address);
  Device& device = deviceAt(record->window.load(std::memory_order_relaxed));
  const uint64_t id = record->id.load(std::memory_order_relaxed);
  VG_TRY(alloc::Heap & heap, memory::deviceHeap(device));
  VG_TRY(const std::shared_ptr<const alloc::Heap::Share> share,
         heap.share(record->base.load(std::memory_order_relaxed), id));
  memory::MemoryNote note;
  note.device = device.traits().uuid;
  VG_TRY(const ipc::Handle handle, memory::offer(ipc::Subject::Memory, id, share, note));
  CUipcMemHandle bytes;
  handle.encode(&bytes);
  return bytes;
}

Result<CUdeviceptr> open(Context& context, const CUipcMemHandle& bytes, Again again) {
  VG_TRY(const ipc::Handle handle, ipc::Handle::decode(&bytes));
  if (handle.subject != ipc::Subject::Memory) return fail(CUDA_ERROR_INVALID_VALUE, "the handle is not one of memory");
  if (ipc::isOurs(handle.exporter)) return fail(CUDA_ERROR_INVALID_CONTEXT, "the handle is one of this process");
  Key key;
  std::memcpy(key.data(), &bytes, sizeof bytes);

  Imports& all = imports();
  ReleasableLock lock(all.mutex);
  for (;;) {
    const auto [place, fresh] = all.byHandle.try_emplace(key, Import{&context, handle.exporter});
    if (fresh) break;
    if (place->second.opened) return openAgain(place->second, context, again);
    lock.wait(all.settled);  // another thread is opening it, and may fail
  }
  lock.unlock();
  Result<Mapping> mapping = fetchOrNothing(context, handle);
  lock.lock();
  all.settled.notify_all();
  const auto place = all.byHandle.find(key);
  if (!mapping || !onlyContext(all, context, place->second, *mapping)) {
    all.byHandle.erase(place);
    lock.unlock();
    if (!mapping) return mapping.error();
    unmap(*mapping);
    return fail(CUDA_ERROR_INVALID_HANDLE, "another context of the device has memory of that exporter's device open");
  }
  place->second.device = deviceOf(*mapping);
  place->second.mapping = *mapping;
  place->second.opened = 1;
  const auto address = static_cast<CUdeviceptr>(mapping->record->base.load(std::memory_order_relaxed));
  all.byAddress.emplace(address, place);
  return address;
}

CUresult close(CUdeviceptr address) {
  Imports& all = imports();
  ReleasableLock lock(all.mutex);
  const auto found = all.byAddress.find(address);
  if (found == all.byAddress.end()) return fail(CUDA_ERROR_INVALID_VALUE, "%#llx is no imported memory", address);
  Import& import = found->second->second;
  if (--import.opened) return CUDA_SUCCESS;
  const Mapping mapping = import.mapping;
  Context* const context = import.context;
  all.byHandle.erase(found->second);
  all.byAddress.erase(found);
  lock.unlock();
  const CUresult drained = memory::drain(context);
  unmap(mapping);
  return drained;
}

void closeAll(Context& context) {
  Imports& all = imports();
  std::vector<Mapping> ended;
  {
    const MutexLock lock(all.mutex);
    std::erase_if(all.byAddress, [&](const auto& row) VG_REQUIRES(all.mutex) {
      Import& import = row.second->second;
      if (import.context != &context) return false;
      ended.push_back(import.mapping);
      all.byHandle.erase(row.second);
      return true;
    });
  }
  for (const Mapping& mapping : ended) unmap(mapping);
}

}  // namespace vg::core::ipc_memory
