#include "core/pools/pool_sharing.h"

#include <unistd.h>

#include <atomic>
#include <cstring>
#include <map>
#include <vector>

#include "alloc/address_space.h"
#include "alloc/host_memory.h"
#include "base/raw_enum.h"
#include "base/round.h"
#include "base/sync/mutex.h"
#include "base/undo.h"
#include "base/undying.h"
#include "core/memory/device_visible_host.h"
#include "core/memory/ipc_exports.h"
#include "core/memory/memory.h"
#include "core/memory/memory_heaps.h"
#include "core/pools/pool_registry.h"
#include "core/process/device.h"

namespace vg::core::memory {
namespace {

// What CUmemPoolPtrExportData holds.
struct PointerData {
  static constexpr uint64_t kMagic = 0x5645524447505452u;
  uint64_t magic;
  uint64_t device, inode;  // of the pool's file
  uint64_t offset, bytes;  // of the allocation in it
  uint64_t number;         // of the export: the vendor's data differ each time too
  uint64_t check;          // of all the others

  uint64_t sum() const {
    uint64_t sum = 0xcbf29ce484222325u;
    for (const uint64_t word : {magic, device, inode, offset, bytes, number}) sum = (sum ^ word) * 0x100000001b3u;
    return sum;
  }
};
static_assert(sizeof(PointerData) <= sizeof(CUmemPoolPtrExportData));

// What this process has imported.
struct Import {
  Pool* pool;
  unsigned count;
  std::map<size_t, CUdeviceptr> pointers;  // by offset in the file, or by the allocation's id in the exporter
};
constinit Mutex mutex;  // guards the imports; before the lock of a pool
std::vector<Import>& imports() VG_REQUIRES(mutex) { return undying<std::vector<Import>, Import>(); }
// What shows memory that came by itself and not with the pool's file, by the first address.
constinit Mutex receivedMutex;
std::map<uintptr_t, alloc::PhysicalRef>& received() VG_REQUIRES(receivedMutex) {
  return undying<std::map<uintptr_t, alloc::PhysicalRef>, struct Received>();
}
constinit std::atomic<uint64_t> exports{0};

Import* importOf(const Pool& pool) VG_REQUIRES(mutex) {
  for (Import& import : imports())
    if (import.pool == &pool) return &import;
  return nullptr;
}

constexpr int kPosix = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;

CUresult checkType(CUmemAllocationHandleType type) {
  if (rawValue(type) == kPosix) return CUDA_SUCCESS;
  return fail(CUDA_ERROR_INVALID_VALUE, "pools are shared by POSIX descriptors, not by handle type %d", rawValue(type));
}

// Where a piece of a pool's file is mapped: whole granules.
struct Piece {
  size_t offset, bytes;
  size_t inside;  // from the first granule to the allocation
};

Piece pieceOf(const PointerData& data) {
  const size_t first = data.offset / alloc::kGranule * alloc::kGranule;
  return {first, roundUp(data.offset + data.bytes - first, alloc::kGranule), data.offset - first};
}

CUresult check(const PointerData& data, const alloc::PhysicalMemory& file) {
  const alloc::PhysicalMemory::Identity identity = file.identity();
  if (data.magic != PointerData::kMagic || data.check != data.sum() || data.device != identity.device ||
      data.inode != identity.inode)
    return fail(CUDA_ERROR_INVALID_VALUE, "the data describe no pointer of this pool");
  VG_TRY(const PoolFacts facts, readPoolFacts(file));
  if (!data.bytes || data.bytes > facts.capacity || data.offset > facts.capacity - data.bytes)
    return fail(CUDA_ERROR_INVALID_VALUE, "the data describe memory beyond the pool");
  return CUDA_SUCCESS;
}

alloc::PhysicalRef takeReceived(uintptr_t start) {
  const MutexLock lock(receivedMutex);
  const auto found = received().find(start);
  if (found == received().end()) return nullptr;
  alloc::PhysicalRef object = std::move(found->second);
  received().erase(found);
  return object;
}

void endMapping(const Pool& pool, uintptr_t start, size_t bytes) {
  Result<alloc::AddressSpace&> space = addressSpace();
  hideFromDevices(reinterpret_cast<std::byte*>(start), bytes);
  const alloc::PhysicalRef object = takeReceived(start);
  (object ? object : pool.backing().imported)->unmap(reinterpret_cast<std::byte*>(start), bytes);
  if (space) space->free(start, bytes);
}

// Makes it known as an allocation of the pool; `shown`: the addresses that show it.
Result<CUdeviceptr> publish(Pool& pool, uintptr_t start, size_t bytes, const ShownMemory& shown) {
  VG_TRY(alloc::AddressSpace & space, addressSpace());
  alloc::Record prototype;
  prototype.base = start;
  prototype.size = bytes;
  prototype.owner = &pool;
  prototype.kind = alloc::Kind::Pool;
  VG_TRY(alloc::Heap & heap, pool.ofDevice() ? deviceHeap(pool.device()) : pinnedHeap());
  prototype.window = static_cast<uint16_t>(heap.window());
  try {
    space.publish(prototype);
  } catch (...) {
    endMapping(pool, shown.reserved, shown.reservedBytes);
    throw;
  }
  return CUdeviceptr{start};
}

// Maps the piece.
Result<CUdeviceptr> mapPiece(Pool& pool, const Piece& piece, size_t bytes) {
  VG_TRY(alloc::AddressSpace & space, addressSpace());
  VG_TRY(const uintptr_t start, space.reserve(piece.bytes));
  const CUresult mapped = pool.backing().imported->map(reinterpret_cast<std::byte*>(start), piece.offset, piece.bytes,
                                                       alloc::Protection::ReadWrite);
  if (mapped != CUDA_SUCCESS) {
    space.free(start, piece.bytes);
    return mapped;
  }
  showToDevices(reinterpret_cast<std::byte*>(start), piece.bytes, false);
  return publish(pool, start + piece.inside, bytes, {start, piece.bytes, start + piece.inside});
}

// Maps memory that the exporter gave.
Result<CUdeviceptr> mapReceived(Pool& pool, const ReceivedMemory& memory) {
  std::map<uintptr_t, alloc::PhysicalRef> entry{{0, memory.object}};  // what is shown is noted without memory
  VG_TRY(const ShownMemory shown, show(memory));
  auto node = entry.extract(entry.begin());
  node.key() = shown.reserved;
  {
    const MutexLock lock(receivedMutex);
    received().insert(std::move(node));
  }
  return publish(pool, shown.start, memory.note.bytes, shown);
}

// Asks the exporter for what the data name, which must be of this pool.
Result<ReceivedMemory> receiveFor(const Pool& pool, const CUmemPoolPtrExportData& data) {
  const Result<ipc::Handle> handle = ipc::Handle::decode(&data);
  if (!handle.ok() || handle.value().subject != ipc::Subject::PoolMemory)
    return fail(CUDA_ERROR_INVALID_VALUE, "the data describe no pointer of this pool");
  Result<ReceivedMemory> memory = receive(handle.value());
  if (!memory) return memory.error() == CUDA_ERROR_MAP_FAILED ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_INVALID_VALUE;
  const alloc::PhysicalMemory::Identity identity = pool.backing().imported->identity();
  if (memory->note.poolDevice != identity.device || memory->note.pool != identity.inode)
    return fail(CUDA_ERROR_INVALID_VALUE, "the data describe a pointer of another pool");
  return memory;
}

}  // namespace

Result<int> exportPool(Pool& pool, CUmemAllocationHandleType type) {
  VG_CHECK(checkType(type));
  if (!pool.sharedFile() || !(rawValue(pool.properties().handleTypes) & kPosix))
    return fail(CUDA_ERROR_INVALID_VALUE, "the pool was not made to be shared by descriptor");
  VG_TRY(const int descriptor, pool.sharedFile()->duplicate());
  pool.noteExported();
  return descriptor;
}

Result<CUmemoryPool> importPool(int descriptor, CUmemAllocationHandleType type) {
  VG_CHECK(checkType(type));
  Result<alloc::PhysicalRef> opened = alloc::HostMemory::fromDescriptor(descriptor);
  if (!opened) return opened.error() == CUDA_ERROR_INVALID_VALUE ? CUDA_ERROR_UNKNOWN : opened.error();
  alloc::PhysicalRef file = std::move(*opened);
  Result<PoolFacts> read = readPoolFacts(*file);
  if (!read) return CUDA_ERROR_UNKNOWN;  // the vendor driver's code for a descriptor of anything else
  const PoolFacts facts = *read;
  const MutexLock lock(mutex);
  for (Import& import : imports())
    if (import.pool->backing().imported->identity() == file->identity()) {
      ++import.count;
      return import.pool->handle();
    }
  CUmemPoolProps properties{};
  properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.handleTypes = static_cast<CUmemAllocationHandleType>(facts.handleTypes);
  properties.location = facts.location;
  const bool known = facts.location.type == CU_MEM_LOCATION_TYPE_DEVICE && findDevice(facts.location.id).ok();
  imports().reserve(imports().size() + 1);
  Pool& pool = pools::make(properties, deviceAt(known ? facts.location.id : 0), nullptr, nullptr);
  pool.import(std::move(file));
  imports().push_back({&pool, 1, {}});
  return pool.handle();
}

Result<CUmemPoolPtrExportData> exportPoolPointer(CUdeviceptr address) {
  const alloc::Record* record = lookup(address);
  if (!record || record->kind.load(std::memory_order_relaxed) != alloc::Kind::Pool)
    return fail(CUDA_ERROR_INVALID_VALUE, "%#llx is no memory of a pool", address);
  const auto& pool = *static_cast<const Pool*>(record->owner.load(std::memory_order_relaxed));
  if (!pool.backing().exported.load(std::memory_order_relaxed))
    return fail(CUDA_ERROR_INVALID_VALUE, "the pool of %#llx has not been exported", address);
  if (record->base.load(std::memory_order_relaxed) != address)
    return fail(CUDA_ERROR_INVALID_VALUE, "%#llx is inside an allocation", address);
  const alloc::PhysicalMemory::Identity identity = pool.sharedFile()->identity();
  CUmemPoolPtrExportData out{};
  if (pool.backing().facts) {
    const uint64_t id = record->id.load(std::memory_order_relaxed);
    VG_TRY(const std::shared_ptr<const alloc::Heap::Share> share, pool.backing().heap->share(address, id));
    MemoryNote note;
    note.device = pool.device().traits().uuid;
    note.id = id;
    note.poolDevice = identity.device;
    note.pool = identity.inode;
    VG_TRY(const ipc::Handle handle, offer(ipc::Subject::PoolMemory, ++exports, share, note));
    static_assert(sizeof out == ipc::kHandleBytes);
    handle.encode(&out);
    return out;
  }
  const uintptr_t base = record->base.load(std::memory_order_relaxed);
  PointerData data{PointerData::kMagic,
                   identity.device,
                   identity.inode,
                   base - pool.backing().source->start(),
                   record->bytes(),
                   ++exports,
                   0};
  data.check = data.sum();
  std::memcpy(&out, &data, sizeof data);
  return out;
}

namespace {

// Where the pointer with this key is mapped already, or map().
template <class Map>
Result<CUdeviceptr> importOnce(Pool& pool, size_t key, size_t bytes, Map map) {
  const MutexLock lock(mutex);
  Import* import = importOf(pool);
  if (!import) return fail(CUDA_ERROR_INVALID_VALUE, "the pool is being destroyed elsewhere");
  if (const auto known = import->pointers.find(key); known != import->pointers.end()) return known->second;
  const auto entry = import->pointers.emplace(key, 0).first;  // first what may fail
  Undo forget([&] { import->pointers.erase(entry); });
  VG_TRY(entry->second, map());
  forget.done();
  pool.countImported(bytes, 1);
  return entry->second;
}

}  // namespace

Result<CUdeviceptr> importPoolPointer(Pool& pool, const CUmemPoolPtrExportData& exported) {
  if (!pool.imported()) return fail(CUDA_ERROR_INVALID_VALUE, "the pool was not imported");
  VG_TRY(const PoolFacts facts, readPoolFacts(*pool.backing().imported));
  if (!facts.capacity) {
    VG_TRY(const ReceivedMemory memory, receiveFor(pool, exported));
    return importOnce(pool, memory.note.id, memory.note.bytes, [&] { return mapReceived(pool, memory); });
  }
  PointerData data;
  std::memcpy(&data, &exported, sizeof data);
  VG_CHECK(check(data, *pool.backing().imported));
  return importOnce(pool, data.offset, data.bytes, [&] { return mapPiece(pool, pieceOf(data), data.bytes); });
}

namespace pool_sharing {
namespace {

struct Ending : Continuation {
  Pool* pool;
  uintptr_t start;
  size_t bytes, allocated;

  void finish() {
    endMapping(*pool, start, bytes);
    pool->countImported(allocated, -1);
    pools::reclaim(*pool);
    delete this;
  }
};

}  // namespace

bool dropImport(Pool& pool) {
  const MutexLock lock(mutex);
  Import* import = importOf(pool);
  if (!import || --import->count) return false;
  std::erase_if(imports(), [&](const Import& other) { return other.pool == &pool; });
  return true;
}

namespace {

void forgetPointer(const Pool& pool, CUdeviceptr address) {
  const MutexLock lock(mutex);
  if (Import* import = importOf(pool))
    std::erase_if(import->pointers, [&](const auto& known) { return known.second == address; });
}

}  // namespace

CUresult release(alloc::Record& record, Point point) {
  alloc::State live = alloc::State::Live;
  const uintptr_t base = record.base.load(std::memory_order_relaxed);
  const size_t bytes = record.bytes();
  auto* ending = new Ending;
  if (!record.state.compare_exchange_strong(live, alloc::State::Released, std::memory_order_acq_rel)) {
    delete ending;
    return fail(CUDA_ERROR_INVALID_VALUE, "%#lx was freed before", base);
  }
  ending->pool = static_cast<Pool*>(record.owner.load(std::memory_order_relaxed));
  forgetPointer(*ending->pool, base);
  ending->start = base / alloc::kGranule * alloc::kGranule;
  ending->bytes = roundUp(base + bytes - ending->start, alloc::kGranule);
  ending->allocated = bytes;
  ending->value = point.value;
  ending->run = [](Continuation* self) { static_cast<Ending*>(self)->finish(); };
  if (Result<alloc::AddressSpace&> space = addressSpace()) space->withdraw(&record);
  if (point.done() || !point.timeline->whenReached(ending)) ending->finish();
  return CUDA_SUCCESS;
}

}  // namespace pool_sharing
}  // namespace vg::core::memory
