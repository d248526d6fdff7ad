// What the files of core/virtual_*.cpp share: which allocation is mapped where, and who may touch it.
#pragma once

#include <map>
#include <vector>

#include "alloc/address_space.h"
#include "base/sync/mutex.h"
#include "core/virtual/physical_allocation.h"
#include "core/virtual/unmapped_pages.h"

namespace vg::core::memory {

// Who may do what with a mapping. `place` is a device's ordinal or Allocation::kHost.
struct Grant {
  int place;
  CUmemAccess_flags flags;
};

struct Mapping {
  size_t bytes, offset;
  AllocationRef allocation;
  alloc::Record* record = nullptr;
  std::vector<Grant> grants = {};
  // What the pages allow now; empty: they are in no page table. Wider than the grants while the mapping is in `late`.
  std::vector<Grant> applied = {};
  alloc::Protection shown = alloc::Protection::None;  // to devices (device_visible_host.h)
};
using Mappings = std::map<uintptr_t, Mapping>;

struct VirtualState {
  // A mapping whose access was narrowed while work that may still use the wider one was queued.
  struct Late {
    uintptr_t start;
    uint64_t id;  // of its record
    std::vector<Point> pending;
  };

  Mutex mutex;  // guards what follows; before the locks of heaps and of the address space
  Mappings mappings VG_GUARDED_BY(mutex);
  LingeringPages lingering VG_GUARDED_BY(mutex);
  std::vector<Late> late VG_GUARDED_BY(mutex);
};
VirtualState& virtualState();

// CUDA_ERROR_INVALID_VALUE unless both are multiples of kGranularity and not 0.
CUresult checkRange(CUdeviceptr start, size_t bytes);
// The first mapping that ends behind the address.
Mappings::iterator firstBehind(Mappings& mappings, uintptr_t address);
// The mappings that lie in a range, as [first, last). CUDA_ERROR_INVALID_VALUE when the range cuts one in two.
struct Section {
  Mappings::iterator first, last;
};
Result<Section> wholeMappings(Mappings& mappings, uintptr_t start, size_t bytes);

}  // namespace vg::core::memory
