// Addresses of a device behind which there need not be memory: where there is none, what is read is zero and what is
// written vanishes, or the device faults. Memory is shown there in pages of 64 KiB.
//
// Changes need a lock of the caller's. Whoever shows memory keeps it alive until it is taken away.
#pragma once

#include <cstddef>

#include "alloc/physical_memory.h"

namespace vg::alloc {

enum class Holes : uint8_t { ReadZero, Fault };

class SparseRange {
 public:
  static constexpr size_t kPage = size_t{64} << 10;

  // Takes the memory away.
  virtual ~SparseRange() = default;
  // Shows memory of the same device's at an offset, in place of what was there. Requires: multiples of kPage, inside
  // both. CUDA_ERROR_OUT_OF_MEMORY may leave a hole.
  virtual CUresult show(size_t offset, const PhysicalMemory& memory, size_t memoryOffset, size_t bytes) = 0;
  // Makes it a hole again.
  virtual CUresult hide(size_t offset, size_t bytes) = 0;
};

}  // namespace vg::alloc
