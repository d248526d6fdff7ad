// Ranges of addresses with inaccessible ones on both sides, so that whoever leaves a range by a wrong index faults and
// does not reach what somebody else keeps beside it. Guards cost addresses only; where the system limits those, they
// are narrower, and at last there are none.
#pragma once

#include <cstddef>

namespace vg {

struct GuardedRange {
  // Bytes on each side. Wide: as far as the index of a kernel goes wrong in ordinary ways, 32 bits of elements of 16
  // bytes. Of shared memory, whose offsets are 32 bits. Narrow: a frame with large local arrays touches memory far
  // below its stack.
  static const size_t kWide;
  static constexpr size_t kOfOffsets = size_t{4} << 30, kNarrow = size_t{64} << 10;

  std::byte* start = nullptr;  // null: the system refused
  size_t bytes = 0;
  size_t guard = 0;

  // Inaccessible addresses whose start is a multiple of `alignment`, a power of two of at least a page.
  static GuardedRange reserve(size_t bytes, size_t guard = kWide, size_t alignment = 4096);
  // The same with guards of this width or not at all.
  static GuardedRange reserveExactly(size_t bytes, size_t guard, size_t alignment = 4096);
  // Gives range and guards back to the system.
  void release();
  explicit operator bool() const { return start; }
};

}  // namespace vg
