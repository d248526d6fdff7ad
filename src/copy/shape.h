// Every copy and fill in one normal form: boxes of bytes with pitches. What CUDA's copy structures mean is decided
// above; here only geometry is left. Trivially copyable.
#pragma once

#include <cstddef>
#include <cstdint>

namespace vg::copy {

// One side of a copy: address of the first byte of the box, distance between rows and between slices in bytes.
struct Side {
  std::byte* base = nullptr;
  size_t rowPitch = 0;
  size_t slicePitch = 0;
};

struct Shape {
  Side destination, source;  // source is only read
  size_t width = 0;          // bytes in a row
  size_t height = 1;         // rows in a slice
  size_t depth = 1;          // slices
  bool locked = false;       // no side is pageable: the host's protection does not stop a device (copy/protected.h)
  size_t bytes() const { return width * height * depth; }
};

// A fill of `height` rows of `width` bytes with an element of 1, 2 or 4 bytes repeated.
struct Fill {
  std::byte* base = nullptr;
  size_t pitch = 0;  // bytes between rows
  size_t width = 0;  // bytes in a row, a multiple of elementSize
  size_t height = 1;
  uint32_t pattern = 0;      // the element, in the low bytes
  uint32_t elementSize = 1;  // 1, 2 or 4
};

}  // namespace vg::copy
