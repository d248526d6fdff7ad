// Stream-ordered allocation: cuMemAllocAsync and the pools behind it (core/pools/pool.h), by handle, location and
// pointer. All functions are thread-safe.
#pragma once

#include <cuda.h>

#include "alloc/record.h"
#include "base/result.h"
#include "core/pools/pool.h"
#include "core/streams/stream.h"
#include "core/work/work.h"

namespace vg::core {

namespace memory {

// One import fewer of a pool that was imported more than once.
CUresult destroyPool(CUmemoryPool handle);

CUresult poolAttribute(Pool& pool, CUmemPool_attribute which, void* value);
CUresult setPoolAttribute(Pool& pool, CUmemPool_attribute which, const void* value);
CUresult trimPool(Pool& pool, size_t keep);
Result<CUmemAccess_flags> poolAccess(const Pool& pool, const CUmemLocation& location);
// All entries or, with an error, none.
CUresult setPoolAccess(Pool& pool, const CUmemAccessDesc* map, size_t count);

// Of a Kind::Pool record: what kind of memory it is, and whether a device reaches memory of the host that a pool
// handed out (a pool of the host starts without access for devices).
enum class PooledKind { Device, Host, Managed };
PooledKind pooledKind(const alloc::Record& record);
bool deviceReaches(const alloc::Record& record, int ordinal);
// Of a Kind::Pool record: the pool it came from and what may be exported of it.
CUmemoryPool poolOf(const alloc::Record& record);
unsigned poolHandleTypes(const alloc::Record& record);
bool poolDecompresses(const alloc::Record& record);  // CU_MEM_POOL_CREATE_USAGE_HW_DECOMPRESS
// Ends an allocation at once (cuMemFree). Requires: Kind::Pool.
CUresult releasePooled(const alloc::Record& record);
// Ends what the pools of a device have handed out.
void releasePooled(Device& device);
// What pools have to give back when a context ends.
void releaseOfPools(Context& context);
// Gives back what streams have finished with; with `wait`, waits for them first.
void collectReleased(bool wait);

}  // namespace memory

namespace work {
// For Stream::give(); what a capture is to have is the graph's memory, whatever the pool.
Result<Work> keep(Stream& stream, const Allocation& allocation);
Result<Work> keep(Stream& stream, const Free& free);
CUresult perform(Stream& stream, const Allocation& allocation, Form form);
CUresult perform(Stream& stream, const Free& free, Form form);
}  // namespace work
}  // namespace vg::core
