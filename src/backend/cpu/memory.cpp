#include "backend/cpu/memory.h"

#include "backend/cpu/faults/faults.h"

namespace vg::backend::cpu {

// Threads that store to the range while it moves fault, kernels and copies alike, perhaps before any kernel ran.
CUresult CpuMemory::share(std::byte* start, size_t bytes, alloc::SharedMemory& shared) {
  faults::arm();
  return ProcessMemory::share(start, bytes, shared);
}

}  // namespace vg::backend::cpu
