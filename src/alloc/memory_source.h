// What the heaps need from whoever owns the physical memory behind a window of addresses: make a range usable, and take
// it back. The window itself stays reserved for ever (memory_table.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "alloc/shared_memory.h"
#include "alloc/sparse_range.h"
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

  // Makes the range memory that other processes can map, at the same addresses and with the same content, while the
  // device and the host go on using it: no store is lost and no load sees anything else. When it fails nothing has
  // happened that a user of the range could see, and it may be called again with the same `shared`. Requires: whole
  // pages (kPage), committed, never shared since.
  virtual CUresult share(std::byte* start, size_t bytes, SharedMemory& shared);
  // Makes the range memory of this process alone again, its content unspecified; others keep what they have mapped.
  // CUDA_ERROR_NOT_SUPPORTED where only all of a commit can be. Requires: share() was called for this range.
  virtual CUresult unshare(std::byte* start, size_t bytes);

  // Physical memory of the same place without an address, and such memory of another process, by what duplicate()
  // gave: as HostMemory's functions of these names, and by default those.
  virtual Result<PhysicalRef> create(size_t bytes, Sharing sharing, const char* label);
  virtual Result<PhysicalRef> import(int descriptor);
  // Reserved addresses as a sparse range, whose memory is create()'s. Requires: multiples of SparseRange::kPage,
  // outside the windows of heaps, which stay reserved until the range has gone.
  virtual Result<std::unique_ptr<SparseRange>> createSparse(std::byte* start, size_t bytes, Holes holes);
  // Gives back what is kept of such memory for the next create().
  virtual void trim() {}
  // How many bytes commit() and create() could still get, whoever has the rest; SIZE_MAX where nobody counts.
  virtual size_t available() { return SIZE_MAX; }
  virtual std::string labelOf(int descriptor);

 protected:
  ~MemorySource() = default;
};

// Memory of the process itself, in huge pages where the system has them.
class ProcessMemory : public MemorySource {
 public:
  CUresult commit(std::byte* start, size_t bytes) override;
  void decommit(std::byte* start, size_t bytes) override;
  // Requires: faults are passed to awaitMove (alloc/memory_move.h).
  CUresult share(std::byte* start, size_t bytes, SharedMemory& shared) override;
  CUresult unshare(std::byte* start, size_t bytes) override;
};

}  // namespace vg::alloc
