// Copies between a tensor in memory and a dense, perhaps swizzled, piece of shared memory: tiles, and columns of
// images.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ptx/facts/async_form.h"
#include "ptx/operations/tensor_map.h"

namespace vg::ptx {

// Which part of the tensor: the first element's coordinates, and where im2col looks from each pixel (w, h, d). With
// `rows`, of a tensor of two dimensions: the column and the numbers of so many rows.
struct TensorPlace {
  int32_t coordinates[TensorMap::kMostDimensions] = {};
  uint32_t rows = 0;
  uint32_t offsets[TensorMap::kMostPixelDimensions] = {};
};

// False when the map cannot be used for copies of this mode and number of dimensions.
bool canCopyTensor(const TensorMap& map, TensorMode mode, uint32_t dimensions);
// False for places and boxes of pixels that begin before the tensor or end behind it: stores and reductions must not.
bool canStoreTensor(const TensorMap& map, const TensorPlace& place);
// Bytes that a copy moves, elements outside of the tensor included; and bytes of shared memory from the first of them
// to the last.
uint64_t tensorBytes(const TensorMap& map, const TensorPlace& place);
uint64_t tensorSpan(const TensorMap& map, const TensorPlace& place);
// Requires: canCopyTensor(). Elements outside are filled as the map says.
void loadTensor(const TensorMap& map, const TensorPlace& place, std::byte* shared);
// Requires: canStoreTensor(). Elements outside are left out, but those in the 16 bytes in which a row ends.
void storeTensor(const TensorMap& map, const TensorPlace& place, std::byte* shared);
// The reductions that the map's element type has; false for others.
bool reduceTensor(const TensorMap& map, const TensorPlace& place, std::byte* shared, AsyncReduction operation);

}  // namespace vg::ptx
