// All pools of the process: made, found by handle and by place, ended.
#pragma once

#include <vector>

#include "base/result.h"
#include "core/pools/memory_pool.h"
#include "core/pools/pool.h"

namespace vg::core::memory::pools {

// A new pool that findPool() knows. Throws std::bad_alloc.
Pool& make(const CUmemPoolProps& properties, Device& device, alloc::Heap* heap, alloc::Heap* charged);
// Takes a pool apart when it has ended and its last memory has gone.
void reclaim(Pool& pool);
// The pool that cuMemAllocAsync takes memory from. Throws std::bad_alloc.
Pool& current(Device& device);

// Every pool, held: who asks lets each go with reclaim() to follow.
std::vector<Pool*> all();
template <class Visit>
void forEach(Visit visit) {
  for (Pool* pool : all()) {
    visit(*pool);
    pool->letGo();
    reclaim(*pool);
  }
}

}  // namespace vg::core::memory::pools
