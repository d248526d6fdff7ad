// The 128 bytes of a tensor map (CUtensorMap): what cuTensorMapEncode* writes, kernels read, and Hopper's copy engine
// of each multiprocessor takes apart. The layout is the hardware's, as an H200's driver was seen to write it.
#pragma once

#include <cstdint>

namespace vg::ptx {

// What `elements` elements of the innermost dimension take, in bytes, in memory and in a piece of shared memory.
struct TensorUnit {
  uint32_t elements, memory, shared;
};

struct TensorMap {
  static constexpr uint32_t kMostDimensions = 5, kMostPixelDimensions = 3;

  uint8_t rank = 0;
  uint8_t type = 0;        // CUtensorMapDataType
  uint8_t interleave = 0;  // CUtensorMapInterleave
  uint8_t swizzle = 0;     // CUtensorMapSwizzle
  uint8_t promotion = 0;   // CUtensorMapL2promotion
  uint64_t address = 0;
  uint64_t strides[kMostDimensions - 1] = {};  // bytes, of dimensions 1 and up; multiples of 16 below 2^40
  uint32_t lastIndex[kMostDimensions] = {};    // elements less one
  uint16_t box[kMostDimensions] = {};          // elements, 1 to 256; tiles
  uint8_t elementStrides[kMostDimensions] = {};
  uint8_t nanFill = 0;  // what lies outside reads as NaN
  uint8_t im2col = 0;   // made for im2col
  int16_t lowerCorner[kMostPixelDimensions] = {}, upperCorner[kMostPixelDimensions] = {};  // w, h, d
  uint16_t channels = 0, pixels = 0;                                                       // of a column

  bool packed() const;            // elements of 4 or 6 bits
  bool tensorFloat() const;       // f32 that is rounded to tf32
  uint32_t elementBytes() const;  // 1 of packed elements: unit() says more
  // Interleaved maps count slices of 16 or 32 bytes where others count elements.
  TensorUnit unit() const;
  // Dimensions of images: channels, w, h, d, images; of interleaved ones w, h, d, slices of channels, images.
  uint32_t firstImageAxis() const { return interleave ? 0 : 1; }
  uint32_t sliceBytes() const { return interleave ? 8u << interleave : 0; }
  uint64_t size(uint32_t dimension) const { return uint64_t{lastIndex[dimension]} + 1; }
};

struct alignas(64) TensorMapBits {
  uint32_t words[32] = {};

  // Whether cuTensorMapEncode* wrote these, rather than nobody.
  bool encoded() const { return words[18] != 0; }
  uint32_t pieceBytes() const { return words[16]; }
};
static_assert(sizeof(TensorMapBits) == 128);

TensorMapBits encode(const TensorMap& map);
// Any bits are some map; a type that does not exist gives rank 0.
TensorMap decode(const TensorMapBits& bits);

}  // namespace vg::ptx
