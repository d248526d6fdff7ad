// All pools of the process: made, found by handle and by place, ended. Thread-safe.
#pragma once

#include <cuda.h>

#include <vector>

#include "base/result.h"
#include "core/pools/pool.h"

namespace vg::core::memory {

// CUDA_ERROR_INVALID_VALUE for what is no living pool.
Result<Pool&> findPool(CUmemoryPool handle);
Result<CUmemoryPool> createPool(const CUmemPoolProps& properties);

// A place has a default pool, and the pool that allocations there come from. CUDA_ERROR_INVALID_VALUE for a place that
// no pool can be made for.
struct PoolPlace {
  CUmemLocation location;
  CUmemAllocationType type;
};
PoolPlace placeOf(const Device& device);
Result<CUmemoryPool> defaultPool(const PoolPlace& place);
Result<CUmemoryPool> currentPool(const PoolPlace& place);
CUresult setCurrentPool(const PoolPlace& place, CUmemoryPool handle);

namespace pools {

// A new pool that findPool() knows. Throws std::bad_alloc.
Pool& make(const CUmemPoolProps& properties, Device& device, alloc::Heap* heap, alloc::Heap* charged);
// The handle is gone: what is allocated stays. CUDA_ERROR_INVALID_VALUE for the default pool of a place.
CUresult end(Pool& pool);
// Takes a pool apart when it has ended and its last memory has gone.
void reclaim(Pool& pool);
// The pool that cuMemAllocAsync takes memory from. Throws std::bad_alloc.
Pool& current(Device& device);

// Every pool, held: who asks lets each go with leave().
std::vector<Pool*> all();
template <class Visit>
void forEach(Visit visit) {
  for (Pool* pool : all()) {
    visit(*pool);
    pool->leave();
  }
}

}  // namespace pools
}  // namespace vg::core::memory
