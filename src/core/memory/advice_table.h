// What the application has said of ranges of managed memory: advice and the last prefetch, page by page.
//
// An allocation of which nothing was said has no entry. Entries of ended allocations go when the table has grown to
// twice its living ones. Thread-safe; one lock, held for as long as the pieces of one allocation are walked.
#pragma once

#include <cuda.h>

#include <bitset>
#include <cstdint>

#include "alloc/record.h"

namespace vg::core::memory {

// Who is expected to access a range: devices by their numbers, and the host.
class Accessors {
 public:
  static constexpr unsigned kHost = 256;  // more than there are devices (core/memory/memory_heaps.cpp)

  void set(unsigned accessor, bool on) { bits_.set(accessor, on); }
  bool has(unsigned accessor) const { return bits_[accessor]; }
  Accessors& operator&=(const Accessors& other) {
    bits_ &= other.bits_;
    return *this;
  }
  bool operator==(const Accessors&) const = default;

 private:
  std::bitset<kHost + 1> bits_;
};

struct RangeAdvice {
  bool readMostly = false;
  CUmemLocationType preferredType = CU_MEM_LOCATION_TYPE_INVALID;
  int preferredId = CU_DEVICE_INVALID;
  CUmemLocationType prefetchType = CU_MEM_LOCATION_TYPE_INVALID;
  int prefetchId = CU_DEVICE_INVALID;
  Accessors accessors;

  bool operator==(const RangeAdvice&) const = default;
};

namespace advice {

// Changes what is said of the pages that [address, address + bytes) touches; nothing when the allocation has ended and
// its record is another's. Requires: inside the allocation that the caller has found. Throws std::bad_alloc, and has
// changed nothing then.
template <class Change>
void update(const alloc::Record& record, uintptr_t address, size_t bytes, Change change);
// What holds for every page of the range: where pages differ, nothing is said.
RangeAdvice common(const alloc::Record& record, uintptr_t address, size_t bytes);

// How many allocations have an entry, and how many pieces they have: for tests.
struct Size {
  size_t entries, pieces;
};
Size size();

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
