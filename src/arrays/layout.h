// Where the bytes of an array lie in its storage: what copies, textures and surfaces read it through. place_levels.h
// makes it.
//
// Two layouts of ours. Linear: rows of units one after another at a pitch, slices (or layers) after each other, levels
// after each other; copies of rows run at the speed of memory and a whole array is often one run of bytes. Tiled, for
// sparse arrays: tiles of 64 KiB, each a small linear box, so that a tile can be any page of memory; small levels form
// a linear tail.
//
// A third one is for devices that read arrays by themselves: block-linear (copy/tiling.h), as their texture units have
// it. A tile of a sparse array is then some blocks that lie beside each other, and so in a row of memory.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <vector>

#include "arrays/descriptor.h"
#include "arrays/format.h"
#include "copy/tiling.h"

namespace vg::arrays {

inline constexpr size_t kTileBytes = size_t{64} << 10;

// One level. Rows, slices and tiles are counted in units (format.h).
struct Level {
  Extent extent;                              // elements, as a descriptor says them
  size_t rowBytes = 0, rows = 0, slices = 0;  // what copies may address; slices are layers where there are layers
  size_t offset = 0;                          // of the first byte in the storage
  size_t rowPitch = 0, slicePitch = 0;        // linear
  size_t tileRowBytes = 0, tileRows = 0, tileSlices = 0;  // tiled; 0: not
  size_t tilesAcross = 0, tilesDown = 0;
  const copy::Tiling* tiling = nullptr;  // block-linear: what copies need besides the offset; span() does not know it

  struct Span {
    size_t offset, bytes;  // in the storage, and how many bytes of the row follow there
  };
  // Which page of 64 KiB a tile is. `slice`: the layer where there are layers, else counted in tiles.
  size_t pageOf(size_t column, size_t row, size_t slice) const {
    const size_t layer = tiling ? tiling->layerPitch : 0;
    const size_t inLayer = ((layer ? 0 : slice) * tilesDown + row) * tilesAcross + column;
    return (offset + (layer ? slice * layer : 0)) / kTileBytes + inLayer;
  }
  // Requires: inside the level; x in bytes.
  Span span(size_t x, size_t row, size_t slice) const {
    if (!tileRowBytes) return {offset + slice * slicePitch + row * rowPitch + x, rowBytes - x};
    const size_t tile = (slice / tileSlices * tilesDown + row / tileRows) * tilesAcross + x / tileRowBytes;
    const size_t inTile = (slice % tileSlices * tileRows + row % tileRows) * tileRowBytes + x % tileRowBytes;
    const size_t rest = tileRowBytes - x % tileRowBytes;
    return {offset + tile * kTileBytes + inTile, rest < rowBytes - x ? rest : rowBytes - x};
  }
};

// A tile of a sparse array in elements.
struct TileExtent {
  unsigned width, height, depth;
};

struct Layout {
  Unit unit;
  Kind kind = Kind::Line;
  std::vector<Level> levels;
  size_t bytes = 0;  // of all storage
  // Sparse arrays. The tail holds the levels from firstTailLevel on, for each layer one after another. Where even the
  // first level is smaller than a tile there is a single tail for everything.
  TileExtent tile{};
  unsigned firstTailLevel = 0;
  size_t tailOffset = 0, tailBytes = 0;  // tailBytes of one tail, 0: no tail
  size_t tailPitch = 0;                  // bytes from one layer's tail to the next one's
  bool singleTail = false;
  bool video = false;  // of a video format
  // Of a format with planes: each with its descriptor and its place. Then levels[0] has no bytes that copies may
  // address.
  struct PlanePlace {
    CUDA_ARRAY3D_DESCRIPTOR descriptor;
    Level level;
  };
  std::vector<PlanePlace> planes;

  size_t layers() const { return layered(kind) ? levels[0].slices : 1; }
};

}  // namespace vg::arrays
