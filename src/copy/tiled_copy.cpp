#include "copy/tiled_copy.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace vg::copy {
namespace {

std::byte* at(const Side& side, size_t column, size_t row, size_t slice) {
  if (!side.tiling) return side.base + slice * side.slicePitch + row * side.rowPitch + column;
  return side.base + side.tiling->offset(side.x() + column, side.row() + row, side.slice() + slice);
}

// How many bytes of a row lie together from here on.
size_t run(const Side& side, size_t column) {
  return side.tiling ? Tiling::kTogether - (side.x() + column) % Tiling::kTogether : SIZE_MAX;
}

void copyRow(const Shape& shape, size_t row, size_t slice) {
  for (size_t column = 0; column < shape.width;) {
    const size_t piece = std::min({run(shape.destination, column), run(shape.source, column), shape.width - column});
    std::memcpy(at(shape.destination, column, row, slice), at(shape.source, column, row, slice), piece);
    column += piece;
  }
}

}  // namespace

void copyTiled(const Shape& shape) {
  for (size_t slice = 0; slice < shape.depth; ++slice)
    for (size_t row = 0; row < shape.height; ++row) copyRow(shape, row, slice);
}

}  // namespace vg::copy
