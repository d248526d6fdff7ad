#include "core/pools/pool_registry.h"

#include <algorithm>
#include <atomic>

#include "base/memory/slab.h"
#include "base/raw_enum.h"
#include "base/round.h"
#include "base/sync/mutex.h"
#include "base/undying.h"
#include "core/memory/memory_heaps.h"
#include "core/process/device.h"
#include "host_register/placement.h"

namespace vg::core::memory {
namespace {

constexpr unsigned kMaxDevices = 256;

// The pools of one place.
struct Entry {
  PoolPlace place;
  Pool* standard;
  Pool* current;
};

struct Registry final : Pool::Owner {
  void reclaim(Pool& pool) override { pools::reclaim(pool); }
};
constinit Registry owner;
constinit Slab<Pool, 1 << 16> slab;
constinit Mutex mutex;                                    // guards what follows; never held while memory moves
constinit std::atomic<Pool*> currents[kMaxDevices] = {};  // of devices, for cuMemAllocAsync: written under the mutex
std::vector<Pool*>& list() VG_REQUIRES(mutex) { return undying<std::vector<Pool*>, Pool>(); }
std::vector<Entry>& entries() VG_REQUIRES(mutex) { return undying<std::vector<Entry>, Entry>(); }

bool same(const PoolPlace& a, const PoolPlace& b) {
  return a.type == b.type && a.location.type == b.location.type && a.location.id == b.location.id;
}

// CUDA_ERROR_INVALID_VALUE for a place where no pool can be; ids that mean nothing become 0.
Result<PoolPlace> checked(PoolPlace place) {
  const int type = rawValue(place.type), where = rawValue(place.location.type);
  const bool managed = type == CU_MEM_ALLOCATION_TYPE_MANAGED;
  if (type != CU_MEM_ALLOCATION_TYPE_PINNED && !managed)
    return fail(CUDA_ERROR_INVALID_VALUE, "allocation type %d", type);
  switch (where) {
    case CU_MEM_LOCATION_TYPE_DEVICE:
      if (!findDevice(place.location.id)) return CUDA_ERROR_INVALID_VALUE;
      return place;
    case CU_MEM_LOCATION_TYPE_HOST:
      place.location.id = 0;
      return place;
    case CU_MEM_LOCATION_TYPE_HOST_NUMA:
      if (!host_register::nodeExists(place.location.id))
        return fail(CUDA_ERROR_INVALID_VALUE, "the host has no memory node %d", place.location.id);
      return place;
    case CU_MEM_LOCATION_TYPE_NONE:
    case CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT:
      place.location.id = 0;
      if (managed) return place;  // managed memory has no place of its own
      break;
    default:
      if (managed) return unsupported("a pool of managed memory at location type %d", where);
  }
  return fail(CUDA_ERROR_INVALID_VALUE, "location type %d", where);
}

// Places that have a default pool. The codes are the vendor driver's (probe group pools.locations).
Result<PoolPlace> withDefault(const PoolPlace& place) {
  const int where = rawValue(place.location.type);
  if (where >= CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT || where < 0)
    return unsupported("the default pool of location type %d", where);
  return checked(place);
}

CUmemPoolProps propertiesOf(const PoolPlace& place) {
  CUmemPoolProps properties{};
  properties.allocType = place.type;
  properties.location = place.location;
  return properties;
}

Device& deviceOf(const PoolPlace& place) {
  return deviceAt(place.location.type == CU_MEM_LOCATION_TYPE_DEVICE ? place.location.id : 0);
}

Result<alloc::Heap&> sharedHeap(const PoolPlace& place) {
  if (place.type == CU_MEM_ALLOCATION_TYPE_MANAGED) return managedHeap();
  return place.location.type == CU_MEM_LOCATION_TYPE_DEVICE ? poolHeap(deviceOf(place)) : pinnedHeap();
}

// Whose capacity a pool of the place counts against; null: nobody's.
Result<alloc::Heap*> chargedHeap(const PoolPlace& place) {
  if (place.type == CU_MEM_ALLOCATION_TYPE_MANAGED || place.location.type != CU_MEM_LOCATION_TYPE_DEVICE)
    return static_cast<alloc::Heap*>(nullptr);
  VG_TRY(alloc::Heap & heap, deviceHeap(deviceOf(place)));
  return &heap;
}

size_t capacityOf(const CUmemPoolProps& properties, Device& device) {
  const size_t most = device.traits().totalMemory;
  return properties.maxSize ? std::min(most, roundUp(properties.maxSize, Pool::kStep)) : most;
}

// Gives the pool a heap over a file of its own.
CUresult makeOwnMemory(Pool& pool) {
  const CUmemPoolProps& properties = pool.properties();
  const bool onNode = properties.location.type == CU_MEM_LOCATION_TYPE_HOST_NUMA;
  const PoolFacts facts{0, 0, properties.location, static_cast<uint32_t>(properties.handleTypes)};
  VG_TRY(alloc::Heap & shared, sharedHeap({properties.location, properties.allocType}));
  VG_TRY(std::unique_ptr<PoolSource> source,
         PoolSource::make(capacityOf(properties, pool.device()), onNode ? properties.location.id : -1, facts));
  constexpr size_t kKept = size_t{64} << 20;
  const alloc::HeapRange range{source->start(), source->capacity(), shared.window()};
  auto heap = std::make_unique<alloc::Heap>(table(), range, *source, source->capacity(), kKept);
  pool.own(std::move(source), std::move(heap));
  return CUDA_SUCCESS;
}

// Whether the memory is a device's own.
bool inVideo(const Pool& pool) {
  return pool.ofDevice() && !pool.managed() && !pool.device().backend().hostAddressable();
}

// Whether others must be let in to what the pool holds: other devices or other processes.
bool needsOwnRange(const Pool& pool) {
  if (rawValue(pool.properties().handleTypes)) return true;
  for (int i = 0; i < deviceCount(); ++i)
    if (deviceAt(i).reaches(pool.device())) return true;
  return false;
}

// Gives the pool a heap over addresses of its own.
CUresult makeOwnRange(Pool& pool) {
  VG_TRY(std::unique_ptr<PoolRange> range, PoolRange::create(capacityOf(pool.properties(), pool.device())));
  constexpr size_t kKept = size_t{1} << 30;
  const alloc::HeapRange addresses{range->start(), range->bytes(), static_cast<unsigned>(pool.device().ordinal())};
  auto heap =
      std::make_unique<alloc::Heap>(table(), addresses, pool.device().backend().memory(), range->bytes(), kKept);
  alloc::PhysicalRef facts;
  const CUmemPoolProps& properties = pool.properties();
  if (rawValue(properties.handleTypes)) {
    VG_TRY(facts, makePoolFacts({0, 0, properties.location, static_cast<uint32_t>(properties.handleTypes)}));
  }
  pool.own(std::move(range), std::move(heap), std::move(facts));
  return CUDA_SUCCESS;
}

CUresult makeOwn(Pool& pool) {
  if (inVideo(pool)) return needsOwnRange(pool) ? makeOwnRange(pool) : CUDA_SUCCESS;
  const bool onNode = !pool.managed() && pool.properties().location.type == CU_MEM_LOCATION_TYPE_HOST_NUMA;
  return rawValue(pool.properties().handleTypes) || onNode ? makeOwnMemory(pool) : CUDA_SUCCESS;
}

Result<Entry&> entryOf(const PoolPlace& wanted) VG_REQUIRES(mutex) {
  VG_TRY(const PoolPlace place, withDefault(wanted));
  for (Entry& entry : entries())
    if (same(entry.place, place)) return entry;
  VG_TRY(alloc::Heap & heap, sharedHeap(place));
  VG_TRY(alloc::Heap* const charged, chargedHeap(place));
  entries().reserve(entries().size() + 1);
  list().reserve(list().size() + 1);
  Pool* pool = slab.create(owner, propertiesOf(place), deviceOf(place), &heap, charged);
  list().push_back(pool);
  entries().push_back({place, pool, pool});
  return entries().back();
}

void setCurrent(Entry& entry, Pool& pool) VG_REQUIRES(mutex) {
  entry.current = &pool;
  if (entry.place.location.type == CU_MEM_LOCATION_TYPE_DEVICE && entry.place.type == CU_MEM_ALLOCATION_TYPE_PINNED)
    currents[entry.place.location.id].store(&pool, std::memory_order_release);
}

}  // namespace

namespace pools {

Pool& make(const CUmemPoolProps& properties, Device& device, alloc::Heap* heap, alloc::Heap* charged) {
  const MutexLock lock(mutex);
  list().reserve(list().size() + 1);
  Pool* pool = slab.create(owner, properties, device, heap, charged);
  list().push_back(pool);
  return *pool;
}

CUresult end(Pool& pool) {
  {
    const MutexLock lock(mutex);
    for (Entry& entry : entries())
      if (entry.standard == &pool) return fail(CUDA_ERROR_INVALID_VALUE, "a default pool cannot be destroyed");
    for (Entry& entry : entries())
      if (entry.current == &pool) setCurrent(entry, *entry.standard);
  }
  pool.end();
  reclaim(pool);
  return CUDA_SUCCESS;
}

void reclaim(Pool& pool) {
  if (!pool.finished()) [[likely]]
    return;
  {
    const MutexLock lock(mutex);
    std::erase(list(), &pool);
  }
  slab.retire(&pool);
  slab.recycle(&pool);
}

Pool& current(Device& device) {
  std::atomic<Pool*>& current = currents[device.ordinal()];
  if (Pool* pool = current.load(std::memory_order_acquire)) [[likely]]
    return *pool;
  const MutexLock lock(mutex);
  Result<Entry&> entry = entryOf(placeOf(device));
  if (!entry) throw std::bad_alloc();
  setCurrent(*entry, *entry->current);
  return *entry->current;
}

std::vector<Pool*> all() {
  const MutexLock lock(mutex);
  std::vector<Pool*> pools = list();
  for (Pool* pool : pools) pool->hold();
  return pools;
}

}  // namespace pools

PoolPlace placeOf(const Device& device) {
  PoolPlace place{};
  place.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  place.location.id = device.ordinal();
  place.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  return place;
}

Result<Pool&> findPool(CUmemoryPool handle) {
  Pool* pool = slab.find(handle);
  if (!pool || pool->ended())
    return fail(CUDA_ERROR_INVALID_VALUE, "%p is not a memory pool", static_cast<void*>(handle));
  return *pool;
}

namespace {

// Which ways of sharing a pool of this place may have. The vendor driver's rules (probe group pools.creation).
CUresult checkProperties(const CUmemPoolProps& properties, const PoolPlace& place) {
  constexpr size_t kMostAddresses = size_t{1} << 44;  // more than the device's memory is no error, as recorded
  constexpr int kShared = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR | CU_MEM_HANDLE_TYPE_FABRIC;
  const int handles = rawValue(properties.handleTypes);
  const bool none = place.type == CU_MEM_ALLOCATION_TYPE_MANAGED || place.location.type == CU_MEM_LOCATION_TYPE_HOST;
  if (handles & ~(none ? 0 : kShared)) return fail(CUDA_ERROR_INVALID_VALUE, "handle types %#x", handles);
  for (const unsigned char byte : properties.reserved)
    if (byte) return fail(CUDA_ERROR_INVALID_VALUE, "a reserved byte is %u", byte);
  if (place.type == CU_MEM_ALLOCATION_TYPE_MANAGED && properties.maxSize)
    return fail(CUDA_ERROR_INVALID_VALUE, "a pool of managed memory with a size, %zu", properties.maxSize);
  if (properties.maxSize > kMostAddresses)
    return fail(CUDA_ERROR_OUT_OF_MEMORY, "a pool of %zu bytes", properties.maxSize);
  return CUDA_SUCCESS;
}

}  // namespace

Result<CUmemoryPool> createPool(const CUmemPoolProps& properties) {
  VG_TRY(const PoolPlace place, checked({properties.location, properties.allocType}));
  VG_CHECK(checkProperties(properties, place));
  pools::forEach([](Pool& pool) { pool.collect(false); });  // ends pools whose last memory a stream has finished with
  CUmemPoolProps own = properties;
  own.location = place.location;
  VG_TRY(alloc::Heap & heap, sharedHeap(place));
  VG_TRY(alloc::Heap* const charged, chargedHeap(place));
  Pool& pool = pools::make(own, deviceOf(place), &heap, charged);
  if (const CUresult result = makeOwn(pool); result != CUDA_SUCCESS) {
    pool.end();
    pools::reclaim(pool);
    return result;
  }
  return pool.handle();
}

Result<CUmemoryPool> defaultPool(const PoolPlace& place) {
  const MutexLock lock(mutex);
  VG_TRY(Entry & entry, entryOf(place));
  return entry.standard->handle();
}

Result<CUmemoryPool> currentPool(const PoolPlace& place) {
  const MutexLock lock(mutex);
  VG_TRY(Entry & entry, entryOf(place));
  return entry.current->handle();
}

CUresult setCurrentPool(const PoolPlace& place, CUmemoryPool handle) {
  VG_TRY(Pool & pool, findPool(handle));
  const MutexLock lock(mutex);
  VG_TRY(Entry & entry, entryOf(place));
  if (!same(entry.place, {pool.properties().location, pool.properties().allocType}))
    return fail(CUDA_ERROR_INVALID_VALUE, "the pool is one of another place");
  if (pool.imported()) return fail(CUDA_ERROR_INVALID_VALUE, "an imported pool hands out nothing");
  setCurrent(entry, pool);
  return CUDA_SUCCESS;
}

}  // namespace vg::core::memory
