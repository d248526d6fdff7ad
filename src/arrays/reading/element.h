// One element of a level of a texture, wherever its bytes are.
#pragma once

#include "arrays/reading/texel.h"
#include "arrays/reading/texture.h"

namespace vg::arrays {

// The bytes at (x, row, slice) of a level, x in bytes, in memory that kernels may touch; null where nothing is mapped.
// Requires: inside the level.
inline std::byte* bytesAt(const TextureView& view, const Level& level, size_t x, size_t row, size_t slice) {
  const size_t offset = level.span(x, row, slice).offset;
  return view.base ? view.base + offset : view.pages->atForKernels(offset).memory;
}

// Requires: inside the level; z is a slice or layer. `forSums`: see decode().
inline Texel decodeElement(const TextureView& view, const Level& level, size_t x, size_t y, size_t z, bool forSums) {
  static constexpr std::byte kNothing[16] = {};
  const unsigned edge = view.unit.edge;
  const std::byte* bytes = bytesAt(view, level, x / edge * view.unit.bytes, y / edge, z);
  return decode(bytes ? bytes : kNothing, view.format, view.channels, view.asIntegers, view.srgb,
                static_cast<unsigned>(x % edge), static_cast<unsigned>(y % edge), forSums);
}

}  // namespace vg::arrays
