// Copies between a tensor in memory and a dense, perhaps swizzled, piece of shared memory: tiles, and columns of
// images.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ptx/async_form.h"
#include "ptx/tensor_map.h"

namespace vg::ptx {

// Which part of the tensor: the first element's coordinates, and where im2col looks from each pixel (w, h, d).
struct TensorPlace {
  int32_t coordinates[TensorMap::kMostDimensions] = {};
  uint32_t offsets[TensorMap::kMostPixelDimensions] = {};
};

// False when the map cannot be used for copies of this mode and number of dimensions.
bool canCopyTensor(const TensorMap& map, TensorMode mode, uint32_t dimensions);
// Bytes of shared memory that a copy fills, elements outside of the tensor included.
uint64_t tensorBytes(const TensorMap& map, TensorMode mode);
// Requires: canCopyTensor(). Elements outside are filled as the map says.
void loadTensor(const TensorMap& map, TensorMode mode, const TensorPlace& place, std::byte* shared);
// Elements outside are left out.
void storeTensor(const TensorMap& map, TensorMode mode, const TensorPlace& place, std::byte* shared);
// The reductions that the map's element type has; false for others.
bool reduceTensor(const TensorMap& map, TensorMode mode, const TensorPlace& place, std::byte* shared,
                  AsyncReduction operation);

}  // namespace vg::ptx
