#include "core/ipc_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <condition_variable>
#include <cstring>
#include <map>
#include <mutex>
#include <new>
#include <vector>

#include "core/context.h"
#include "core/device.h"
#include "core/memory_heaps.h"
#include "ipc/exporter.h"
#include "ipc/importer.h"

namespace vg::core::ipc_memory {
namespace {

// What an exporter says of its memory.
struct MemoryNote {
  uint64_t offset;  // of the first byte in the object
  uint64_t bytes;
  CUuuid device;
};
static_assert(sizeof(MemoryNote) <= sizeof(ipc::Note));

class MemoryOffer final : public ipc::Offer {
 public:
  MemoryOffer(std::weak_ptr<const alloc::Heap::Share> share, const MemoryNote& note)
      : share_(std::move(share)), note_(note) {}

  Result<int> descriptor() const override {
    const auto share = share_.lock();
    if (!share) return fail(CUDA_ERROR_INVALID_VALUE, "the memory has been freed");
    return share->memory->duplicate();
  }
  bool lives() const override { return !share_.expired(); }
  ipc::Note note() const override {
    ipc::Note note{};
    std::memcpy(note.data(), &note_, sizeof note_);
    return note;
  }

 private:
  const std::weak_ptr<const alloc::Heap::Share> share_;
  const MemoryNote note_;
};

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
  std::mutex mutex;  // guards what follows
  std::condition_variable settled;
  std::map<Key, Import> byHandle;
  std::map<CUdeviceptr, std::map<Key, Import>::iterator> byAddress;
};
Imports& imports() {
  static auto* const made = new Imports;  // never destroyed
  return *made;
}

Result<Device&> deviceWith(const CUuuid& uuid) {
  for (int i = 0; i < deviceCount(); ++i)
    if (!std::memcmp(&deviceAt(i).traits().uuid, &uuid, sizeof uuid)) return deviceAt(i);
  return fail(CUDA_ERROR_MAP_FAILED, "the memory is on a device that this process does not see");
}

// Maps the pages that hold the memory, at the same place in a granule as in the object: huge pages stay possible.
Result<Mapping> mapObject(Context& context, const alloc::PhysicalRef& object, const MemoryNote& note, int ordinal) {
  if (!note.bytes || note.offset > object->bytes() || note.bytes > object->bytes() - note.offset)
    return fail(CUDA_ERROR_MAP_FAILED, "%zu bytes at %zu of an object of %zu", size_t{note.bytes}, size_t{note.offset},
                object->bytes());
  VG_TRY(alloc::AddressSpace & space, memory::addressSpace());
  const size_t inGranule = note.offset % alloc::kGranule, page = object->pageBytes();
  Mapping mapping;
  mapping.object = object;
  mapping.reservedBytes = alloc::roundUp(inGranule + note.bytes, alloc::kGranule);
  VG_TRY(mapping.reserved, space.reserve(mapping.reservedBytes));
  const size_t first = note.offset / page * page;
  auto* const start = reinterpret_cast<std::byte*>(mapping.reserved) + inGranule / page * page;
  const size_t bytes = alloc::roundUp(note.offset + note.bytes - first, page);
  if (object->map(start, first, bytes, alloc::Protection::ReadWrite) != CUDA_SUCCESS) {
    space.free(mapping.reserved, mapping.reservedBytes);
    return CUDA_ERROR_MAP_FAILED;
  }
  madvise(start, bytes, MADV_DONTFORK);  // a child of a fork must not keep it
  alloc::Record prototype;
  prototype.base = mapping.reserved + inGranule;
  prototype.size = note.bytes;
  prototype.owner = &context;
  prototype.kind = alloc::Kind::Imported;
  prototype.window = static_cast<uint16_t>(ordinal);
  mapping.record = space.publish(prototype);
  return mapping;
}

int deviceOf(const Mapping& mapping) { return mapping.record->window.load(std::memory_order_relaxed); }

// Memory of one device of another process may be open in one context of each device of ours, the driver's rule.
// Requires: the lock is held.
bool onlyContext(const Imports& all, const Context& context, const Import& fresh, const Mapping& mapping) {
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
  VG_TRY(const ipc::Grant grant, ipc::request(handle));
  MemoryNote note;
  std::memcpy(&note, grant.note.data(), sizeof note);
  Result<Device&> device = deviceWith(note.device);
  Result<alloc::PhysicalRef> object = device ? device->backend().memory().import(grant.descriptor) : device.error();
  ::close(grant.descriptor);
  if (!object) return CUDA_ERROR_MAP_FAILED;
  VG_TRY(Mapping mapping, mapObject(context, *object, note, device->ordinal()));
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
  const MemoryNote note{share->offset, share->bytes, device.traits().uuid};
  VG_TRY(const ipc::Handle handle,
         ipc::publish(ipc::Subject::Memory, id, std::make_shared<const MemoryOffer>(share, note)));
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
  std::unique_lock lock(all.mutex);
  for (;;) {
    const auto [place, fresh] = all.byHandle.try_emplace(key, Import{&context, handle.exporter});
    if (fresh) break;
    if (place->second.opened) return openAgain(place->second, context, again);
    all.settled.wait(lock);  // another thread is opening it, and may fail
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
  std::unique_lock lock(all.mutex);
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
    std::lock_guard lock(all.mutex);
    std::erase_if(all.byAddress, [&](const auto& row) {
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
