// Memory of a heap that other processes can map (MemorySource::share).
#pragma once

#include <cstddef>

#include "alloc/physical_memory.h"

namespace vg::alloc {

// A range of committed memory as other processes can map it.
struct SharedMemory {
  PhysicalRef memory;  // shows the range from offset 0 on
  size_t moved = 0;    // bytes of the range that are in it so far
};

}  // namespace vg::alloc
