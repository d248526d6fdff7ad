#include "copy/tiling.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "base/mutex.h"
#include "base/undying.h"
#include "copy/shape.h"

namespace vg::copy {
namespace {

size_t across(size_t value, size_t unit) { return (value + unit - 1) / unit; }

// In a GOB, as Turing and all that came after it have them: sectors of 32 bytes, two rows of half a sector each.
size_t offsetInGob(size_t x, size_t row) {
  return x / 32 * 256 + row / 4 * 128 + x % 32 / 16 * 64 + row % 4 / 2 * 32 + row % 2 * 16 + x % 16;
}

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

size_t Tiling::bytes() const {
  const size_t high = across(rows, kGobRows << blockRows),
               deep = layerPitch ? 1 : across(slices, size_t{1} << blockSlices);
  return across(rowBytes, kGobBytes) * high * deep * blockBytes();
}

size_t Tiling::totalBytes() const { return layerPitch ? layerPitch * (slices - 1) + bytes() : bytes(); }

size_t Tiling::offset(size_t x, size_t row, size_t slice) const {
  const size_t layer = layerPitch ? slice : 0, z = slice - layer;
  const size_t gobRow = row / kGobRows;
  const size_t block =
      ((z >> blockSlices) * across(rows, kGobRows << blockRows) + (gobRow >> blockRows)) * across(rowBytes, kGobBytes) +
      x / kGobBytes;
  const size_t gob = ((z & ((size_t{1} << blockSlices) - 1)) << blockRows) + (gobRow & ((size_t{1} << blockRows) - 1));
  return layer * layerPitch + block * blockBytes() + gob * kGob + offsetInGob(x % kGobBytes, row % kGobRows);
}

const Tiling& kept(const Tiling& tiling) {
  static constinit Mutex mutex;
  const MutexLock guard(mutex);
  return *undying<std::set<Tiling>, Tiling>().insert(tiling).first;
}

void copyTiled(const Shape& shape) {
  for (size_t slice = 0; slice < shape.depth; ++slice)
    for (size_t row = 0; row < shape.height; ++row) copyRow(shape, row, slice);
}

}  // namespace vg::copy
