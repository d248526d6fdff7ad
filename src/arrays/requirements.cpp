#include "arrays/requirements.h"

#include <algorithm>
#include <bit>

#include "base/round.h"

namespace vg::arrays {
namespace {

constexpr size_t kBlockWidth = 64, kBlockRows = 8;        // bytes and rows of the smallest block
constexpr size_t kMostBlockRows = 128, kMostSlices = 16;  // of the largest
constexpr size_t kVideoBlockRows = 32;                    // of every block that video engines use

// Blocks grow with what they hold, in planes by rows, in boxes by slices; in sparse arrays not beyond a tile. Behind
// levels in tiles the blocks are those of a tile, in every direction.
size_t blockRows(const Level& level, const Layout& layout) {
  const bool behindTiles = layout.firstTailLevel > 0;
  if (layout.kind == Kind::Box && !behindTiles) return kBlockRows;
  if (layout.video) return kVideoBlockRows;
  const size_t tileRows = layout.tile.height / layout.unit.edge;
  const size_t most = behindTiles ? tileRows : tileRows ? std::min(tileRows, kMostBlockRows) : kMostBlockRows;
  return std::clamp(std::bit_ceil(level.rows), kBlockRows, most);
}
size_t blockSlices(const Level& level, const Layout& layout) {
  return std::min(std::bit_ceil(level.slices), layout.firstTailLevel ? size_t{layout.tile.depth} : kMostSlices);
}

// One layer of a level.
size_t bytesOf(const Level& level, const Layout& layout) {
  const size_t slices = layout.kind == Kind::Box ? roundUp(level.slices, blockSlices(level, layout)) : 1;
  return roundUp(level.rowBytes, kBlockWidth) * roundUp(level.rows, blockRows(level, layout)) * slices;
}

}  // namespace

BlockExtent blockOf(const Level& level, const Layout& layout) {
  return {blockRows(level, layout), layout.kind == Kind::Box ? blockSlices(level, layout) : 1};
}

size_t requiredBytes(const Layout& layout, size_t first, size_t layers) {
  size_t bytes = 0;
  for (size_t i = first; i < layout.levels.size(); ++i) bytes += bytesOf(layout.levels[i], layout);
  // Each layer begins with a block of its first level.
  if (layered(layout.kind)) bytes = roundUp(bytes, kBlockWidth * blockRows(layout.levels[first], layout));
  return roundUp(bytes * layers, kTileBytes);
}

}  // namespace vg::arrays
