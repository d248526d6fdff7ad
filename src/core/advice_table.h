// What the application has said of ranges of managed memory: advice and the last prefetch, page by page.
//
// An allocation of which nothing was said has no entry. Entries of ended allocations go when the table has grown to
// twice its living ones. Thread-safe.
#pragma once

#include <cuda.h>

#include <cstdint>

#include "alloc/record.h"

namespace vg::core::memory {

struct RangeAdvice {
  bool readMostly = false;
  CUmemLocationType preferredType = CU_MEM_LOCATION_TYPE_INVALID;
  int preferredId = CU_DEVICE_INVALID;
  CUmemLocationType prefetchType = CU_MEM_LOCATION_TYPE_INVALID;
  int prefetchId = CU_DEVICE_INVALID;
  uint64_t accessors = 0;  // bit n: device n; kHostAccessor

  static constexpr uint64_t kHostAccessor = uint64_t{1} << 63;
  bool operator==(const RangeAdvice&) const = default;
};

namespace advice {

// Changes what is said of the pages that [address, address + bytes) touches. Requires: inside the allocation.
template <class Change>
void update(const alloc::Record& record, uintptr_t address, size_t bytes, Change change);
// What holds for every page of the range: where pages differ, nothing is said.
RangeAdvice common(const alloc::Record& record, uintptr_t address, size_t bytes);

namespace detail {
void update(const alloc::Record& record, uintptr_t address, size_t bytes,
            void (*change)(RangeAdvice& advice, void* data), void* data);
}

template <class Change>
void update(const alloc::Record& record, uintptr_t address, size_t bytes, Change change) {
  detail::update(
      record, address, bytes, [](RangeAdvice& advice, void* data) { (*static_cast<Change*>(data))(advice); }, &change);
}

}  // namespace advice
}  // namespace vg::core::memory
