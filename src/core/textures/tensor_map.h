// Tensor maps: the shape of a tensor in memory and of the pieces that kernels copy in bulk, in 128 opaque bytes.
#pragma once

#include <cuda.h>

#include "base/result.h"

namespace vg::core::tensor_maps {

// What both kinds of map say of the tensor. Arrays have `rank` entries, strides one less.
struct Tensor {
  CUtensorMapDataType type;
  unsigned rank;
  void* address;
  const cuuint64_t* dimensions;  // elements
  const cuuint64_t* strides;     // bytes, from the second dimension
  const cuuint32_t* elementStrides;
  CUtensorMapInterleave interleave;
  CUtensorMapSwizzle swizzle;
  CUtensorMapL2promotion promotion;
  CUtensorMapFloatOOBfill fill;
};

// Pieces are boxes of `box` elements along each dimension.
CUresult encodeTiled(CUtensorMap* map, const Tensor& tensor, const cuuint32_t* box);
// Pieces are columns of pixels, with so many channels each. The corners have rank - 2 entries.
CUresult encodeIm2col(CUtensorMap* map, const Tensor& tensor, const int* lowerCorner, const int* upperCorner,
                      unsigned channels, unsigned pixels);
// The same with corners along the width only, for kernels that copy with im2col::w.
CUresult encodeIm2colWide(CUtensorMap* map, const Tensor& tensor, int lowerWidth, int upperWidth, unsigned channels,
                          unsigned pixels, CUtensorMapIm2ColWideMode mode);
CUresult replaceAddress(CUtensorMap* map, void* address);

}  // namespace vg::core::tensor_maps
