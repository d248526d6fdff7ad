#include "arrays/requirements.h"

#include <algorithm>
#include <bit>

namespace vg::arrays {
namespace {

size_t roundUp(size_t value, size_t multiple) { return (value + multiple - 1) / multiple * multiple; }

constexpr size_t kBlockWidth = 64, kBlockRows = 8;        // bytes and rows of the smallest block
constexpr size_t kMostBlockRows = 128, kMostSlices = 16;  // of the largest

// Blocks grow with what they hold, in planes by rows, in boxes by slices.
size_t blockRows(const Level& level, Kind kind) {
  if (kind == Kind::Box) return kBlockRows;
  return std::clamp(std::bit_ceil(level.rows), kBlockRows, kMostBlockRows);
}
size_t blockSlices(const Level& level) { return std::min(std::bit_ceil(level.slices), kMostSlices); }

// One layer of a level.
size_t bytesOf(const Level& level, Kind kind) {
  const size_t slices = kind == Kind::Box ? roundUp(level.slices, blockSlices(level)) : 1;
  return roundUp(level.rowBytes, kBlockWidth) * roundUp(level.rows, blockRows(level, kind)) * slices;
}

}  // namespace

size_t requiredBytes(const Layout& layout, size_t first, size_t layers) {
  size_t bytes = 0;
  for (size_t i = first; i < layout.levels.size(); ++i) bytes += bytesOf(layout.levels[i], layout.kind);
  // Each layer begins with a block of its first level.
  if (layered(layout.kind)) bytes = roundUp(bytes, kBlockWidth * blockRows(layout.levels[first], layout.kind));
  return roundUp(bytes * layers, kTileBytes);
}

}  // namespace vg::arrays
