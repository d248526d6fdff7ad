// Every copy and fill in one normal form: boxes of bytes with pitches. What CUDA's copy structures mean is decided
// above; here only geometry is left. Trivially copyable.
#pragma once

#include <cstddef>
#include <cstdint>

#include "copy/tiling.h"

namespace vg::copy {

// One side of a copy: address of the first byte of the box, distance between rows and between slices in bytes. Of
// block-linear memory: where its tiling begins, and the position of the box in it in place of the pitches.
struct Side {
  std::byte* base = nullptr;
  size_t rowPitch = 0;
  size_t slicePitch = 0;
  const Tiling* tiling = nullptr;  // of kept()

  static Side tiled(std::byte* base, const Tiling& tiling, size_t x, size_t row, size_t slice) {
    return {base, x | row << 32, slice, &tiling};
  }
  // Require a tiling; x in bytes.
  size_t x() const { return rowPitch & 0xffffffff; }
  size_t row() const { return rowPitch >> 32; }
  size_t slice() const { return slicePitch; }

  // The side of a box that begins further on.
  Side moved(size_t columns, size_t rows, size_t slices) const {
    if (tiling) return tiled(base, *tiling, x() + columns, row() + rows, slice() + slices);
    return {base + slices * slicePitch + rows * rowPitch + columns, rowPitch, slicePitch, nullptr};
  }
};

struct Shape {
  Side destination, source;  // source is only read
  size_t width = 0;          // bytes in a row
  size_t height = 1;         // rows in a slice
  size_t depth = 1;          // slices
  bool locked = false;       // no side is pageable: the host's protection does not stop a device (copy/protected.h)
  bool streamed = false;     // past the caches, however little it is: one of the pieces of a large copy
  size_t bytes() const { return width * height * depth; }
  bool tiled() const { return destination.tiling || source.tiling; }
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

// The bytes from the first that a side has to the end of the last.
inline size_t extent(const Side& side, const Shape& shape) {
  if (side.tiling) return side.tiling->totalBytes();
  return side.slicePitch * (shape.depth - 1) + side.rowPitch * (shape.height - 1) + shape.width;
}
inline size_t extent(const Fill& fill) { return fill.pitch * (fill.height - 1) + fill.width; }

// Whether the sides may have bytes in common.
inline bool overlap(const Shape& shape) {
  const std::byte *const to = shape.destination.base, *const from = shape.source.base;
  return to < from + extent(shape.source, shape) && from < to + extent(shape.destination, shape);
}

}  // namespace vg::copy
