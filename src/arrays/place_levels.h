// Makes the layout of an array: puts its levels, layers and planes one behind another.
#pragma once

#include <cuda.h>

#include "arrays/layout.h"

namespace vg::arrays {

// The size of a tile of a sparse array.
TileExtent tileExtentOf(const Unit& unit, bool box);

// How arrays lie whose memory the device itself allocates.
enum class Storage : unsigned char { Linear, BlockLinear };

// Sparse arrays in tiles, and those of deferred mapping with room for all that the vendor's devices take, because the
// application brings the memory. Requires: checkDescriptor() succeeded, 1 <= levels <= mostLevels().
Layout layoutOf(const CUDA_ARRAY3D_DESCRIPTOR& descriptor, unsigned levels, Storage storage = Storage::Linear);

}  // namespace vg::arrays
