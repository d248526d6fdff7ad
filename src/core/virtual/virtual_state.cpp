#include "core/virtual/virtual_state.h"

#include <iterator>

#include "base/undying.h"
#include "core/memory/memory.h"

namespace vg::core::memory {

VirtualState& virtualState() {
  return undying<VirtualState, VirtualState>();  // threads may map until the process ends
}

CUresult checkRange(CUdeviceptr start, size_t bytes) {
  if (bytes && start % kGranularity == 0 && bytes % kGranularity == 0 && start + bytes > start) return CUDA_SUCCESS;
  return fail(CUDA_ERROR_INVALID_VALUE, "%#llx + %zu is no range of multiples of %zu", start, bytes, kGranularity);
}

Mappings::iterator firstBehind(Mappings& mappings, uintptr_t address) {
  auto mapping = mappings.upper_bound(address);
  if (mapping != mappings.begin())
    if (auto before = std::prev(mapping); before->first + before->second.bytes > address) return before;
  return mapping;
}

Result<Section> wholeMappings(Mappings& mappings, uintptr_t start, size_t bytes) {
  const Section section{firstBehind(mappings, start), mappings.lower_bound(start + bytes)};
  if (section.first == section.last) return section;
  const auto last = std::prev(section.last);
  if (section.first->first < start || last->first + last->second.bytes > start + bytes)
    return fail(CUDA_ERROR_INVALID_VALUE, "%#lx + %zu holds a part of a mapping", start, bytes);
  return section;
}

}  // namespace vg::core::memory
