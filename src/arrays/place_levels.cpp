#include "arrays/place_levels.h"

#include <algorithm>
#include <bit>

#include "arrays/requirements.h"
#include "base/raw_enum.h"
#include "base/round.h"

namespace vg::arrays {
namespace {

constexpr size_t kRowAlignment = 64;  // a cache line, and what vectors like

Level measure(const CUDA_ARRAY3D_DESCRIPTOR& descriptor, const Unit& unit, unsigned level) {
  Level made;
  made.extent = extentOfLevel(descriptor, level);
  made.rowBytes = unit.across(made.extent.width) * unit.bytes;
  made.rows = std::max<size_t>(unit.across(made.extent.height), 1);
  made.slices = std::max<size_t>(made.extent.depth, 1);
  return made;
}

// Places a level at `offset`; returns the bytes up to its end.
size_t placeLinear(Level& level, size_t offset) {
  level.offset = offset;
  level.rowPitch = roundUp(level.rowBytes, kRowAlignment);
  level.slicePitch = level.rowPitch * level.rows;
  return offset + level.slicePitch * level.slices;
}

size_t placeTiled(Level& level, const Layout& layout, size_t offset) {
  level.offset = offset;
  level.tileRowBytes = size_t{layout.tile.width} / layout.unit.edge * layout.unit.bytes;
  level.tileRows = layout.tile.height / layout.unit.edge;
  level.tileSlices = layout.tile.depth;
  level.tilesAcross = (level.rowBytes + level.tileRowBytes - 1) / level.tileRowBytes;
  level.tilesDown = (level.rows + level.tileRows - 1) / level.tileRows;
  const size_t deep = (level.slices + level.tileSlices - 1) / level.tileSlices;
  return offset + level.tilesAcross * level.tilesDown * deep * kTileBytes;
}

bool smallerThanTile(const Extent& extent, const TileExtent& tile, Kind kind) {
  return extent.width < tile.width || extent.height < tile.height || (kind == Kind::Box && extent.depth < tile.depth);
}

// The levels of one tail, packed. Each layer has a tail of its own.
void placeTails(Layout& layout) {
  size_t used = 0;
  for (size_t i = layout.firstTailLevel; i < layout.levels.size(); ++i) {
    Level& level = layout.levels[i];
    const size_t end = placeLinear(level, used);
    used = layered(layout.kind) ? used + level.slicePitch : end;
    level.offset += layout.tailOffset;
  }
  layout.tailBytes = requiredBytes(layout, layout.firstTailLevel, 1);
  for (size_t i = layout.firstTailLevel; layered(layout.kind) && i < layout.levels.size(); ++i)
    layout.levels[i].slicePitch = layout.tailBytes;
  layout.tailPitch = layout.tailBytes;
  layout.bytes += layout.tailBytes * layout.layers();
}

Layout measured(const CUDA_ARRAY3D_DESCRIPTOR& descriptor, unsigned levels) {
  Layout layout;
  layout.unit = unitOf(rawValue(descriptor.Format), descriptor.NumChannels);
  layout.kind = kindOf(descriptor);
  layout.video = descriptor.Flags & CUDA_ARRAY3D_VIDEO_ENCODE_DECODE;
  for (unsigned i = 0; i < levels; ++i) layout.levels.push_back(measure(descriptor, layout.unit, i));
  return layout;
}

}  // namespace

// 2^n units a tile: as nearly a square or a cube as powers of two can be, first wider, then higher.
TileExtent tileExtentOf(const Unit& unit, bool box) {
  const auto n = static_cast<unsigned>(std::countr_zero(kTileBytes / unit.bytes));
  const unsigned width = box ? (n + 2) / 3 : (n + 1) / 2;
  const unsigned height = box ? (n - width + 1) / 2 : n - width;
  return {unit.edge << width, unit.edge << height, 1u << (n - width - height)};
}

namespace {

void makeLinear(Layout& layout) {
  for (Level& level : layout.levels) layout.bytes = placeLinear(level, layout.bytes);
}

void makeDeferred(Layout& layout) {
  makeLinear(layout);
  layout.bytes = requiredBytes(layout, 0, layout.layers());
}

// What is smaller than a tile is all tail, made by `make`; false for the rest.
bool madeOfTail(Layout& layout, void (*make)(Layout& layout)) {
  layout.tile = tileExtentOf(layout.unit, layout.kind == Kind::Box);
  if (!smallerThanTile(layout.levels[0].extent, layout.tile, layout.kind)) return false;
  make(layout);
  layout.tailBytes = layout.tailPitch = layout.bytes;
  layout.singleTail = true;
  return true;
}

void makeTiled(Layout& layout) {
  if (madeOfTail(layout, makeDeferred)) return;
  while (layout.firstTailLevel < layout.levels.size()) {
    Level& level = layout.levels[layout.firstTailLevel];
    if (smallerThanTile(level.extent, layout.tile, layout.kind)) break;
    layout.bytes = placeTiled(level, layout, layout.bytes);
    ++layout.firstTailLevel;
  }
  layout.tailOffset = layout.bytes;
  if (layout.firstTailLevel < layout.levels.size()) placeTails(layout);
}

// In blocks of so many rows of gobs and slices, as powers of two.
copy::Tiling tilingOf(const Level& level, const Layout& layout, unsigned blockRows, unsigned blockSlices) {
  copy::Tiling tiling;
  tiling.rowBytes = static_cast<uint32_t>(level.rowBytes);
  tiling.rows = static_cast<uint32_t>(level.rows);
  tiling.slices = layered(layout.kind) ? 1 : static_cast<uint32_t>(level.slices);
  tiling.blockRows = static_cast<uint8_t>(blockRows);
  tiling.blockSlices = static_cast<uint8_t>(blockSlices);
  return tiling;
}

// The same in blocks that the texture units clamp for levels that are smaller.
copy::Tiling clampedTilingOf(const Level& level, const Layout& layout, unsigned blockRows, unsigned blockSlices) {
  const auto blocksFor = [](size_t count) { return static_cast<unsigned>(std::countr_zero(std::bit_ceil(count))); };
  const size_t gobs = (level.rows + copy::Tiling::kGobRows - 1) / copy::Tiling::kGobRows;
  const size_t slices = layered(layout.kind) ? 1 : level.slices;
  return tilingOf(level, layout, std::min(blockRows, blocksFor(gobs)), std::min(blockSlices, blocksFor(slices)));
}

// Layers begin with whole blocks of the first level, or tiles.
void keepTilings(Layout& layout, std::vector<copy::Tiling>& tilings, size_t layer) {
  for (size_t i = 0; i < tilings.size(); ++i) {
    if (layered(layout.kind)) {
      tilings[i].layerPitch = layer;
      tilings[i].slices = static_cast<uint32_t>(layout.levels[i].slices);
    }
    layout.levels[i].tiling = &copy::kept(tilings[i]);
  }
  layout.bytes = layer * layout.layers();
}

// All levels of a layer, then all of the next, which begins with a whole block of the first level: this is how the
// texture units find levels and layers. Slices of a layered array are tiled each for itself.
void makeBlockLinear(Layout& layout) {
  std::vector<copy::Tiling> tilings;
  size_t layer = 0;
  for (Level& level : layout.levels) {
    const BlockExtent block = blockOf(level, layout);
    const copy::Tiling tiling =
        tilingOf(level, layout, static_cast<unsigned>(std::countr_zero(block.rows / copy::Tiling::kGobRows)),
                 static_cast<unsigned>(std::countr_zero(block.slices)));
    level.offset = layer;
    layer += tiling.bytes();
    tilings.push_back(tiling);
  }
  if (layered(layout.kind)) layer = roundUp(layer, tilings[0].blockBytes());
  keepTilings(layout, tilings, layer);
}

// The application brings the memory, in pages.
void makeBlockLinearOfPages(Layout& layout) {
  makeBlockLinear(layout);
  layout.bytes = roundUp(layout.bytes, kTileBytes);
}

// A tile is as high and deep as a block, and some blocks wide; the rows of blocks are whole tiles. The tail follows the
// tiles of its layer, in blocks of that size or less.
void makeBlockLinearTiles(Layout& layout) {
  if (madeOfTail(layout, makeBlockLinearOfPages)) return;
  const size_t tileGobs = layout.tile.height / layout.unit.edge / copy::Tiling::kGobRows;
  const auto blockRows = static_cast<unsigned>(std::countr_zero(tileGobs)),
             blockSlices = static_cast<unsigned>(std::countr_zero(layout.tile.depth));
  std::vector<copy::Tiling> tilings;
  size_t layer = 0;
  for (Level& level : layout.levels) {
    copy::Tiling tiling = clampedTilingOf(level, layout, blockRows, blockSlices);
    level.offset = layer;
    if (tilings.size() == layout.firstTailLevel && !smallerThanTile(level.extent, layout.tile, layout.kind)) {
      placeTiled(level, layout, layer);
      tiling.rowBytes = static_cast<uint32_t>(level.tilesAcross * level.tileRowBytes);
      ++layout.firstTailLevel;
      layout.tailOffset = layer + tiling.bytes();
    }
    layer += tiling.bytes();
    tilings.push_back(tiling);
  }
  layer = roundUp(layer, kTileBytes);
  layout.tailBytes = layer - layout.tailOffset;
  layout.tailPitch = layer;
  keepTilings(layout, tilings, layer);
}

Layout onePlane(const CUDA_ARRAY3D_DESCRIPTOR& descriptor, unsigned levels, Storage storage) {
  Layout layout = measured(descriptor, levels);
  const bool blocks = storage == Storage::BlockLinear;
  if (descriptor.Flags & CUDA_ARRAY3D_SPARSE)
    blocks ? makeBlockLinearTiles(layout) : makeTiled(layout);
  else if (descriptor.Flags & CUDA_ARRAY3D_DEFERRED_MAPPING)
    blocks ? makeBlockLinearOfPages(layout) : makeDeferred(layout);
  else
    blocks ? makeBlockLinear(layout) : makeLinear(layout);
  return layout;
}

CUDA_ARRAY3D_DESCRIPTOR describePlane(CUDA_ARRAY3D_DESCRIPTOR descriptor, const Plane& plane) {
  descriptor.Width >>= plane.widthShift;
  descriptor.Height >>= plane.heightShift;
  descriptor.Format = plane.format;
  descriptor.NumChannels = plane.channels;
  return descriptor;
}

}  // namespace

Layout layoutOf(const CUDA_ARRAY3D_DESCRIPTOR& descriptor, unsigned levels, Storage storage) {
  const std::span<const Plane> planes = planesOf(rawValue(descriptor.Format));
  if (planes.empty()) return onePlane(descriptor, levels, storage);
  Layout whole = onePlane(describePlane(descriptor, planes[0]), levels, storage);
  whole.bytes = 0;
  for (const Plane& plane : planes) {
    const CUDA_ARRAY3D_DESCRIPTOR described = describePlane(descriptor, plane);
    Layout one = onePlane(described, levels, storage);
    one.levels[0].offset += whole.bytes;
    whole.bytes += roundUp(one.bytes, one.levels[0].tiling ? copy::Tiling::kGob : kRowAlignment);
    whole.planes.push_back({described, one.levels[0]});
  }
  if (whole.singleTail) whole.tailBytes = whole.tailPitch = whole.bytes;
  Level& level = whole.levels[0];
  level.rowBytes = level.rows = level.slices = 0;
  return whole;
}

}  // namespace vg::arrays
