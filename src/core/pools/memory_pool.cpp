#include "core/pools/memory_pool.h"

#include <vector>

#include "base/raw_enum.h"
#include "check/memory/stream_memory.h"
#include "core/contexts/context.h"
#include "core/memory/memory.h"
#include "core/memory/memory_heaps.h"
#include "core/pools/delayed_release.h"
#include "core/pools/pool_registry.h"
#include "core/pools/pool_sharing.h"
#include "core/process/device.h"
#include "core/streams/capture_sink.h"

namespace vg::core::memory {

namespace {

Result<CUdeviceptr> allocateFrom(Pool& pool, Stream& stream, size_t bytes) {
  if (Result<CUdeviceptr> first = pool.allocate(stream, bytes); first.ok() || first.error() != CUDA_ERROR_OUT_OF_MEMORY)
    return first;
  collectReleased(true);  // streams may hold what is missing
  return pool.allocate(stream, bytes);
}

// `pool`: null is the device's.
Result<CUdeviceptr> allocateAsync(Stream& stream, size_t bytes, Pool* pool) {
  VG_CHECK(stream.context().state());
  if (!bytes) return CUdeviceptr{0};
  if (!pool) pool = &pools::current(stream.context().device());
  if (pool->imported()) return fail(CUDA_ERROR_INVALID_VALUE, "an imported pool hands out nothing");
  Result<CUdeviceptr> address = allocateFrom(*pool, stream, bytes);
  if (pool->managed() && address.ok()) [[unlikely]]
    forgetAdvice(*address, bytes);
  if (check::order::on() && address.ok()) check::stream_memory::allocated(checked::lineOf(stream), *address, bytes);
  return address;
}

// When the stream has done all that was submitted to it, and all that comes before that.
Result<Point> pointOf(Stream& stream) {
  if (stream.kind() == Stream::Kind::Legacy) return stream.mark(nullptr);
  return stream.tail();
}

// cuMemFreeAsync of what cuMemAlloc made: gone at once for every later call, its memory when the stream is done.
CUresult releaseAfter(Stream& stream, alloc::Record& record) {
  VG_CHECK(stream.context().state());
  VG_TRY(alloc::Heap & heap, deviceHeap(deviceAt(deviceOf(record))));
  VG_TRY(const Point point, pointOf(stream));
  auto* ending = new DelayedRelease(heap, record.base.load(std::memory_order_relaxed),
                                    record.id.load(std::memory_order_relaxed), point);
  alloc::State live = alloc::State::Live;
  if (!record.state.compare_exchange_strong(live, alloc::State::Released, std::memory_order_acq_rel)) {
    const uintptr_t base = ending->base;
    delete ending;
    return fail(CUDA_ERROR_INVALID_VALUE, "%#lx is being freed elsewhere", base);
  }
  ending->finishAt(point);
  return CUDA_SUCCESS;
}

}  // namespace

static CUresult releaseAsync(Stream& stream, CUdeviceptr address) {
  auto* record = const_cast<alloc::Record*>(lookup(address));
  if (!record || record->base.load(std::memory_order_relaxed) != address)
    return fail(CUDA_ERROR_INVALID_VALUE, "%#llx is not the start of a live allocation", address);
  const alloc::Kind kind = record->kind.load(std::memory_order_relaxed);
  if (kind == alloc::Kind::Device) return releaseAfter(stream, *record);  // allowed
  if (kind == alloc::Kind::Graph) {
    VG_CHECK(stream.context().state());
    VG_TRY(const Point inUse, pointOf(stream));
    return roles->releaseOfGraph(address, inUse);
  }
  if (kind == alloc::Kind::Managed) return unsupported("freeing managed memory in stream order");
  if (kind != alloc::Kind::Pool) return fail(CUDA_ERROR_INVALID_VALUE, "%#llx is not stream-ordered memory", address);
  VG_CHECK(stream.context().state());
  VG_TRY(const Point point, pointOf(stream));
  auto& pool = *static_cast<Pool*>(record->owner.load(std::memory_order_relaxed));
  if (pool.imported()) return pool_sharing::release(*record, point);
  if (check::order::on()) check::stream_memory::freed(checked::lineOf(stream), address, record->bytes());
  VG_CHECK(pool.release(*record, stream, point));
  if (pool.ended()) [[unlikely]] {
    pool.collect(false);
    pools::reclaim(pool);
  }
  return CUDA_SUCCESS;
}

CUresult releasePooled(const alloc::Record& constant) {
  auto& record = const_cast<alloc::Record&>(constant);
  auto& pool = *static_cast<Pool*>(record.owner.load(std::memory_order_relaxed));
  if (pool.imported()) return pool_sharing::release(record, {});
  VG_CHECK(pool.releaseNow(record));
  pools::reclaim(pool);
  return CUDA_SUCCESS;
}

void releasePooled(Device& device) {
  std::vector<std::pair<CUdeviceptr, uint64_t>> found;
  const auto visit = [&](const alloc::Record& record) {
    if (record.kind.load(std::memory_order_relaxed) != alloc::Kind::Pool) return;
    if (&static_cast<Pool*>(record.owner.load(std::memory_order_relaxed))->device() != &device) return;
    found.emplace_back(record.base.load(std::memory_order_relaxed), record.id.load(std::memory_order_relaxed));
  };
  if (Result<alloc::Heap&> heap = poolHeap(device)) heap->forEach(visit);
  pools::forEach([&](Pool& pool) {
    if (pool.backing().heap && pool.ofDevice()) pool.backing().heap->forEach(visit);
  });
  for (const auto& [address, id] : found) {
    const alloc::Record* record = lookup(address);
    if (record && record->id.load(std::memory_order_relaxed) == id) (void)releasePooled(*record);
  }
}

// Resetting a device ends what its pools have handed out too.
void releaseOfPools(Context& context) {
  collectReleased(true);
  if (context.primary()) releasePooled(context.device());
}

CUresult destroyPool(CUmemoryPool handle) {
  VG_TRY(Pool & pool, findPool(handle));
  if (pool.imported() && !pool_sharing::dropImport(pool)) return CUDA_SUCCESS;  // it was imported more than once
  return pools::end(pool);
}

void collectReleased(bool wait) {
  pools::forEach([wait](Pool& pool) { pool.collect(wait); });
}

CUresult poolAttribute(Pool& pool, CUmemPool_attribute which, void* value) { return pool.attribute(which, value); }

namespace {

CUresult checkOwn(const Pool& pool) {
  return pool.imported() ? fail(CUDA_ERROR_INVALID_VALUE, "the pool belongs to another process") : CUDA_SUCCESS;
}

}  // namespace

CUresult setPoolAttribute(Pool& pool, CUmemPool_attribute which, const void* value) {
  VG_CHECK(checkOwn(pool));
  return pool.setAttribute(which, value);
}

CUresult trimPool(Pool& pool, size_t keep) {
  VG_CHECK(checkOwn(pool));
  pool.trim(keep);
  return CUDA_SUCCESS;
}

namespace {

bool ofHostMemory(int type) { return type == CU_MEM_LOCATION_TYPE_HOST || type == CU_MEM_LOCATION_TYPE_HOST_NUMA; }

}  // namespace

Result<CUmemAccess_flags> poolAccess(const Pool& pool, const CUmemLocation& location) {
  const int type = rawValue(location.type);
  if (type == CU_MEM_LOCATION_TYPE_DEVICE) {
    Result<Device&> device = findDevice(location.id);
    if (!device) return CUDA_ERROR_INVALID_VALUE;
    return pool.managed() ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE : pool.access(device->ordinal());
  }
  if (!ofHostMemory(type)) return fail(CUDA_ERROR_INVALID_VALUE, "location type %d", type);
  return pool.ofDevice() && !pool.managed() ? CU_MEM_ACCESS_FLAGS_PROT_NONE : CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
}

namespace {

// The codes and their order are the vendor driver's (probe group pools.access).
CUresult checkAccess(const Pool& pool, const CUmemAccessDesc& wanted) {
  const int type = rawValue(wanted.location.type), flags = rawValue(wanted.flags);
  const bool none = flags == CU_MEM_ACCESS_FLAGS_PROT_NONE, all = flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  if (pool.ofDevice() && type != CU_MEM_LOCATION_TYPE_DEVICE)
    return unsupported("access of location type %d to a device's pool", type);
  if (flags == CU_MEM_ACCESS_FLAGS_PROT_READ) return unsupported("a pool that may only be read");
  if (type == CU_MEM_LOCATION_TYPE_DEVICE) VG_CHECK(findDevice(wanted.location.id));
  if (!none && !all) return fail(CUDA_ERROR_INVALID_VALUE, "access flags %#x", flags);
  if (ofHostMemory(type)) return all ? CUDA_SUCCESS : unsupported("a pool of the host that the host cannot reach");
  if (type != CU_MEM_LOCATION_TYPE_DEVICE) return fail(CUDA_ERROR_INVALID_VALUE, "location type %d", type);
  VG_TRY(Device & device, findDevice(wanted.location.id));
  if (none && pool.ofDevice() && &device == &pool.device())
    return fail(CUDA_ERROR_INVALID_DEVICE, "a device always has access to its own pools");
  const bool own = !pool.ofDevice() || pool.managed() || &device == &pool.device();
  if (all && !own && !device.reaches(pool.device()))
    return unsupported("a pool of device %d for kernels of device %d, which do not reach it", pool.device().ordinal(),
                       device.ordinal());
  return CUDA_SUCCESS;
}

}  // namespace

CUresult setPoolAccess(Pool& pool, const CUmemAccessDesc* map, size_t count) {
  for (size_t i = 0; i < count; ++i) VG_CHECK(checkAccess(pool, map[i]));
  for (size_t i = 0; i < count; ++i)
    if (map[i].location.type == CU_MEM_LOCATION_TYPE_DEVICE) VG_CHECK(pool.setAccess(map[i].location.id, map[i].flags));
  return CUDA_SUCCESS;
}

PooledKind pooledKind(const alloc::Record& record) {
  const auto& pool = *static_cast<const Pool*>(record.owner.load(std::memory_order_relaxed));
  if (pool.managed()) return PooledKind::Managed;
  return pool.ofHost() ? PooledKind::Host : PooledKind::Device;
}

bool deviceReaches(const alloc::Record& record, int ordinal) {
  const auto& pool = *static_cast<const Pool*>(record.owner.load(std::memory_order_relaxed));
  return !pool.ofHost() || pool.access(ordinal) != CU_MEM_ACCESS_FLAGS_PROT_NONE;
}

CUmemoryPool poolOf(const alloc::Record& record) {
  return static_cast<Pool*>(record.owner.load(std::memory_order_relaxed))->handle();
}

bool poolDecompresses(const alloc::Record& record) {
  const auto* pool = static_cast<const Pool*>(record.owner.load(std::memory_order_relaxed));
  return pool->properties().usage & CU_MEM_POOL_CREATE_USAGE_HW_DECOMPRESS;
}

unsigned poolHandleTypes(const alloc::Record& record) {
  const auto* pool = static_cast<const Pool*>(record.owner.load(std::memory_order_relaxed));
  return pool->imported() ? 0 : static_cast<unsigned>(rawValue(pool->properties().handleTypes));
}

}  // namespace vg::core::memory

namespace vg::core::work {

Result<Work> keep(Stream& stream, const Allocation& allocation) {
  VG_CHECK(capture::ready(stream));
  if (allocation.pool && allocation.bytes) VG_CHECK(memory::findPool(allocation.pool));
  return Work(allocation);
}

Result<Work> keep(Stream& stream, const Free& free) {
  VG_CHECK(capture::ready(stream));
  return Work(free);
}

CUresult perform(Stream& stream, const Allocation& allocation, Form) {
  VG_CHECK(capture::permitUnsafe());
  memory::Pool* from = nullptr;
  if (allocation.fromPool) {
    VG_TRY(memory::Pool & pool, memory::findPool(allocation.pool));
    from = &pool;
  }
  VG_TRY(*allocation.address, memory::allocateAsync(stream, allocation.bytes, from));
  return CUDA_SUCCESS;
}

CUresult perform(Stream& stream, const Free& free, Form) {
  VG_CHECK(capture::permitUnsafe());
  return free.address ? memory::releaseAsync(stream, free.address) : CUDA_SUCCESS;
}

}  // namespace vg::core::work
