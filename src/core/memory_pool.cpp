#include "core/memory_pool.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>
#include <vector>

#include "alloc/heap.h"
#include "base/log.h"
#include "base/raw_enum.h"
#include "base/slab.h"
#include "core/context.h"
#include "core/device.h"
#include "core/graph_memory.h"
#include "core/memory.h"
#include "core/memory_heaps.h"

namespace vg::core::memory {

class Pool {
 public:
  // `limit`: the most bytes it may hand out, 0 for as many as there are.
  Pool(Device& device, bool ofHost, size_t limit) : device_(device), ofHost_(ofHost), limit_(limit) {}

  Device& device() const { return device_; }
  bool ofHost() const { return ofHost_; }
  Result<alloc::Heap&> heap() const { return ofHost_ ? pinnedHeap() : deviceHeap(device_); }
  CUresult checkLimit(size_t bytes) const {
    const uint64_t used = used_.load(std::memory_order_relaxed);
    if (!limit_ || (used <= limit_ && bytes <= limit_ - used)) return CUDA_SUCCESS;
    return fail(CUDA_ERROR_OUT_OF_MEMORY, "%zu bytes from a pool of at most %zu", bytes, limit_);
  }
  CUmemoryPool handle() { return reinterpret_cast<CUmemoryPool>(this); }

  void take(size_t bytes) {
    const uint64_t used = used_.fetch_add(bytes, std::memory_order_relaxed) + bytes;
    raise(usedHigh_, used);
    raise(reservedHigh_, reservedFor(used));
  }
  void give(size_t bytes) { used_.fetch_sub(bytes, std::memory_order_relaxed); }

  CUresult attribute(CUmemPool_attribute which, void* value) const;
  CUresult setAttribute(CUmemPool_attribute which, const void* value);

 private:
  // The vendor's driver reserves 32 MiB at a time.
  static uint64_t reservedFor(uint64_t used) { return alloc::roundUp(used, size_t{32} << 20); }
  static void raise(std::atomic<uint64_t>& high, uint64_t value) {
    uint64_t old = high.load(std::memory_order_relaxed);
    while (old < value && !high.compare_exchange_weak(old, value, std::memory_order_relaxed)) {
    }
  }

  Device& device_;
  const bool ofHost_;
  const size_t limit_;
  std::atomic<uint64_t> used_{0}, usedHigh_{0}, reservedHigh_{0}, releaseThreshold_{0};
  std::atomic<int> reuse_[3] = {1, 1, 1};  // by CUmemPool_attribute from 1 on
};

CUresult Pool::attribute(CUmemPool_attribute which, void* value) const {
  const auto put = [value](auto number) {
    std::memcpy(value, &number, sizeof number);
    return CUDA_SUCCESS;
  };
  const uint64_t used = used_.load(std::memory_order_relaxed);
  switch (which) {
    case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
      return put(reuse_[which - 1].load(std::memory_order_relaxed));
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
      return put(releaseThreshold_.load(std::memory_order_relaxed));
    case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
      return put(reservedFor(used));
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
      return put(reservedHigh_.load(std::memory_order_relaxed));
    case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
      return put(used);
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
      return put(usedHigh_.load(std::memory_order_relaxed));
  }
  return fail(CUDA_ERROR_INVALID_VALUE, "there is no pool attribute %d", static_cast<int>(which));
}

CUresult Pool::setAttribute(CUmemPool_attribute which, const void* value) {
  uint64_t wide;
  switch (which) {
    case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES: {
      int on;
      std::memcpy(&on, value, sizeof on);
      reuse_[which - 1].store(on != 0, std::memory_order_relaxed);
      return CUDA_SUCCESS;
    }
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
      std::memcpy(&wide, value, sizeof wide);
      releaseThreshold_.store(wide, std::memory_order_relaxed);
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH: {
      std::memcpy(&wide, value, sizeof wide);
      if (wide) return fail(CUDA_ERROR_INVALID_VALUE, "a high mark can only be set to 0");
      const uint64_t used = used_.load(std::memory_order_relaxed);
      if (which == CU_MEMPOOL_ATTR_USED_MEM_HIGH) usedHigh_.store(used, std::memory_order_relaxed);
      if (which == CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH) reservedHigh_.store(reservedFor(used), std::memory_order_relaxed);
      return CUDA_SUCCESS;
    }
    default:
      return fail(CUDA_ERROR_INVALID_VALUE, "pool attribute %d cannot be set", static_cast<int>(which));
  }
}

namespace {

// Memory that a stream has freed but may still be using.
struct Released {
  CUdeviceptr address;
  uint64_t id;
  size_t bytes;
  Pool* pool;
  uint64_t stream;
  Point point;  // when the stream is done with it
};

constexpr unsigned kMaxDevices = 254;

constinit Slab<Pool, 1 << 16> pools;
constinit std::mutex mutex;  // guards what follows
constinit Pool* defaults[kMaxDevices] = {};
constinit Pool* currents[kMaxDevices] = {};
std::vector<Released>& releasedList() {
  static auto* const list = new std::vector<Released>;  // never destroyed
  return *list;
}

Pool& defaultLocked(Device& device) {
  Pool*& pool = defaults[device.ordinal()];
  if (!pool) pool = pools.create(device, false, size_t{0});
  return *pool;
}

Pool& currentOf(Device& device) {
  std::lock_guard lock(mutex);
  Pool* pool = currents[device.ordinal()];
  return pool ? *pool : defaultLocked(device);
}

void giveBack(const Released& released) {
  VG_LOG(Debug, "stream-ordered %#llx is free", released.address);
  if (Result<alloc::Heap&> heap = released.pool->heap()) heap->release(released.address, released.id);
}

// Memory of this size that the same stream has freed: in stream order it is free already.
bool reuse(const Stream& stream, Pool& pool, size_t bytes, CUdeviceptr& address) {
  std::lock_guard lock(mutex);
  std::vector<Released>& list = releasedList();
  for (size_t i = list.size(); i-- > 0;) {
    if (list[i].stream != stream.id() || list[i].bytes != bytes || list[i].pool != &pool) continue;
    address = list[i].address;
    list.erase(list.begin() + static_cast<ptrdiff_t>(i));
    auto* record = const_cast<alloc::Record*>(lookup(address));
    record->attributes.store(0, std::memory_order_relaxed);
    return true;
  }
  return false;
}

}  // namespace

void collectReleased(bool wait) {
  std::vector<Released> done;
  {
    std::lock_guard lock(mutex);
    std::vector<Released>& list = releasedList();
    const auto pending =
        std::partition(list.begin(), list.end(), [wait](const Released& r) { return !wait && !r.point.done(); });
    done.assign(pending, list.end());
    list.erase(pending, list.end());
  }
  for (const Released& released : done) {
    released.point.wait();
    giveBack(released);
  }
}

Result<CUdeviceptr> allocateAsync(Stream& stream, size_t bytes, Pool* pool) {
  VG_CHECK(stream.context().state());
  if (!bytes) return CUdeviceptr{0};
  if (!pool) pool = &currentOf(stream.context().device());
  VG_CHECK(pool->checkLimit(bytes));
  CUdeviceptr address;
  if (!reuse(stream, *pool, bytes, address)) {
    collectReleased(false);
    VG_TRY(alloc::Heap & heap, pool->heap());
    const alloc::Description description{alloc::Kind::Pool, pool, 0, 0};
    Result<alloc::Record*> record = heap.allocate(bytes, description);
    if (!record) {
      collectReleased(true);
      VG_TRY(alloc::Record * second, heap.allocate(bytes, description));
      address = second->base.load(std::memory_order_relaxed);
    } else {
      address = record.value()->base.load(std::memory_order_relaxed);
    }
  }
  pool->take(bytes);
  return address;
}

CUresult releaseAsync(Stream& stream, CUdeviceptr address) {
  auto* record = const_cast<alloc::Record*>(lookup(address));
  if (!record || record->base.load(std::memory_order_relaxed) != address)
    return fail(CUDA_ERROR_INVALID_VALUE, "%#llx is not the start of a live allocation", address);
  const alloc::Kind kind = record->kind.load(std::memory_order_relaxed);
  if (kind == alloc::Kind::Device) {  // allowed, and synchronises as cuMemFree does
    VG_CHECK(stream.synchronize());
    return release(address);
  }
  if (kind == alloc::Kind::Graph) {
    VG_CHECK(stream.context().state());
    return graphs::releaseByUser(address);
  }
  if (kind != alloc::Kind::Pool) return fail(CUDA_ERROR_INVALID_VALUE, "%#llx is not stream-ordered memory", address);
  VG_CHECK(stream.context().state());
  Released released{address,         record->id.load(std::memory_order_relaxed),
                    record->bytes(), static_cast<Pool*>(record->owner.load(std::memory_order_relaxed)),
                    stream.id(),     stream.tail()};
  if (stream.kind() == Stream::Kind::Legacy) {
    VG_TRY(released.point, stream.mark(nullptr));
  }
  if (record->attributes.fetch_or(kReleased, std::memory_order_relaxed) & kReleased)
    return fail(CUDA_ERROR_INVALID_VALUE, "%#llx was freed before", address);
  released.pool->give(released.bytes);
  if (released.point.done()) {
    giveBack(released);
  } else {
    std::lock_guard lock(mutex);
    releasedList().push_back(released);
  }
  return CUDA_SUCCESS;
}

Result<Pool&> findPool(CUmemoryPool handle) {
  Pool* pool = pools.find(handle);
  if (!pool) return fail(CUDA_ERROR_INVALID_VALUE, "%p is not a memory pool", static_cast<void*>(handle));
  return *pool;
}

Result<CUmemoryPool> createPool(const CUmemPoolProps& properties) {
  if (const int type = rawValue(properties.allocType); type != CU_MEM_ALLOCATION_TYPE_PINNED)
    return fail(CUDA_ERROR_INVALID_VALUE, "allocation type %d", type);
  if (rawValue(properties.handleTypes) != CU_MEM_HANDLE_TYPE_NONE)
    return unimplemented("a pool that other processes share");
  switch (const int type = rawValue(properties.location.type)) {
    case CU_MEM_LOCATION_TYPE_DEVICE: {
      Result<Device&> device = findDevice(properties.location.id);
      if (!device) return CUDA_ERROR_INVALID_VALUE;
      return pools.create(*device, false, properties.maxSize)->handle();
    }
    case CU_MEM_LOCATION_TYPE_HOST:
    case CU_MEM_LOCATION_TYPE_HOST_NUMA:
    case CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT:
      return pools.create(deviceAt(0), true, properties.maxSize)->handle();
    default:
      return fail(CUDA_ERROR_INVALID_VALUE, "location type %d", type);
  }
}

CUresult destroyPool(CUmemoryPool handle) {
  VG_TRY(Pool & pool, findPool(handle));
  std::lock_guard lock(mutex);
  const int ordinal = pool.device().ordinal();
  if (defaults[ordinal] == &pool) return fail(CUDA_ERROR_INVALID_VALUE, "a device's default pool cannot be destroyed");
  if (currents[ordinal] == &pool) currents[ordinal] = nullptr;
  // Allocations outlive their pool and still name it: the slot is never given to another.
  return pools.retire(&pool) ? CUDA_SUCCESS : fail(CUDA_ERROR_INVALID_VALUE, "the pool is being destroyed elsewhere");
}

CUmemoryPool defaultPool(Device& device) {
  std::lock_guard lock(mutex);
  return defaultLocked(device).handle();
}

CUmemoryPool currentPool(Device& device) { return currentOf(device).handle(); }

CUresult setCurrentPool(Device& device, CUmemoryPool handle) {
  VG_TRY(Pool & pool, findPool(handle));
  if (pool.ofHost()) return fail(CUDA_ERROR_INVALID_VALUE, "the pool is one of host memory");
  if (&pool.device() != &device)
    return fail(CUDA_ERROR_INVALID_VALUE, "the pool belongs to device %d", pool.device().ordinal());
  std::lock_guard lock(mutex);
  currents[device.ordinal()] = &pool;
  return CUDA_SUCCESS;
}

CUresult poolAttribute(Pool& pool, CUmemPool_attribute which, void* value) {
  collectReleased(false);
  return pool.attribute(which, value);
}

CUresult setPoolAttribute(Pool& pool, CUmemPool_attribute which, const void* value) {
  return pool.setAttribute(which, value);
}

CUresult trimPool(Pool& pool) {
  collectReleased(false);
  VG_TRY(alloc::Heap & heap, pool.heap());
  heap.trim();
  return CUDA_SUCCESS;
}

CUmemoryPool poolOf(const alloc::Record& record) {
  return reinterpret_cast<CUmemoryPool>(record.owner.load(std::memory_order_relaxed));
}

void accountReleased(const alloc::Record& record) {
  static_cast<Pool*>(record.owner.load(std::memory_order_relaxed))->give(record.bytes());
}

}  // namespace vg::core::memory
