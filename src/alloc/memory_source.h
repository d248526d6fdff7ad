// What the heaps need from whoever owns the physical memory behind a window of addresses: make a range usable, and take
// it back. The window itself stays reserved for ever (memory_table.h).
#pragma once

#include <cstddef>

#include "base/result.h"

namespace vg::alloc {

class MemorySource {
 public:
  // Makes the range readable and writable by the host and the device. Its content is unspecified but never another
  // process's. Requires: multiples of kGranule, inside one window, not committed. CUDA_ERROR_OUT_OF_MEMORY when the
  // system refuses.
  virtual CUresult commit(std::byte* start, size_t bytes) = 0;
  // Gives the memory back; any access faults from now on. Requires: committed.
  virtual void decommit(std::byte* start, size_t bytes) = 0;

 protected:
  ~MemorySource() = default;
};

// Memory of the process itself, in huge pages where the system has them.
class ProcessMemory final : public MemorySource {
 public:
  CUresult commit(std::byte* start, size_t bytes) override;
  void decommit(std::byte* start, size_t bytes) override;
};

}  // namespace vg::alloc
