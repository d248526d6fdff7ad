// The 128 bytes of a tensor map (CUtensorMap), in a layout of our own: what cuTensorMapEncode* writes and kernels read.
#pragma once

#include <cstdint>

namespace vg::ptx {

struct alignas(64) TensorMap {
  static constexpr uint32_t kMagic = 0x50414d54;  // "TMAP"
  static constexpr uint32_t kMostDimensions = 5, kMostPixelDimensions = 3;

  uint32_t magic = kMagic;
  uint8_t rank = 0;
  uint8_t type = 0;        // CUtensorMapDataType
  uint8_t interleave = 0;  // CUtensorMapInterleave
  uint8_t swizzle = 0;     // CUtensorMapSwizzle
  uint64_t address = 0;
  uint64_t strides[kMostDimensions - 1] = {};  // bytes, of dimensions 1 and up
  uint32_t lastIndex[kMostDimensions] = {};    // elements less one
  uint16_t box[kMostDimensions] = {};          // elements; tiles
  uint8_t elementStrides[kMostDimensions] = {};
  uint8_t nanFill = 0;  // what lies outside reads as NaN
  uint8_t im2col = 0;   // made for im2col
  uint8_t reserved = 0;
  int16_t lowerCorner[kMostPixelDimensions] = {}, upperCorner[kMostPixelDimensions] = {};  // w, h, d
  uint16_t channels = 0, pixels = 0;                                                       // of a column
  uint8_t unused[16] = {};

  uint32_t elementBytes() const;
  uint64_t size(uint32_t dimension) const { return uint64_t{lastIndex[dimension]} + 1; }
};
static_assert(sizeof(TensorMap) == 128);

}  // namespace vg::ptx
