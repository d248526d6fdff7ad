#include "ptx/operations/tensor_map.h"

#include <cuda.h>

#include <algorithm>
#include <iterator>

namespace vg::ptx {
namespace {

// Word 2, by bits.
struct Field {
  uint32_t low, bits;
  uint32_t mask() const { return (1u << bits) - 1; }
  uint32_t put(uint32_t value) const { return (value & mask()) << low; }
  uint32_t get(uint32_t word) const { return word >> low & mask(); }
};
constexpr Field kIm2col{0, 1}, kRank{4, 3}, kFormat{7, 4}, kInterleave{11, 2}, kSwizzle{13, 2}, kFill{15, 1},
    kTensorFloat{16, 1}, kPromotion{17, 2};
// Not of the hardware that was looked at, which refuses them: the later swizzles, by their distance from 128B.
constexpr Field kLaterSwizzle{19, 2};

constexpr uint32_t kStrideUnit = 16;

// The hardware's number of each CUtensorMapDataType; TFLOAT32 is FLOAT32 with a flag. Those of packed elements, which
// the hardware that was looked at has not, are made up.
constexpr uint8_t kFormats[] = {0, 1, 2, 3, 4, 5, 6, 7, 9, 10, 8, 7, 8, 11, 12, 13};

uint32_t swizzleBytes(uint32_t swizzle) {
  constexpr uint32_t kBytes[] = {16, 256, 512, 1024, 1024};  // that the place in shared memory is a multiple of
  return kBytes[std::min<uint32_t>(swizzle, 4)];
}

// Bits of a corner by the number of dimensions that have one.
uint32_t cornerBits(uint32_t axes) { return axes == 1 ? 16 : axes == 2 ? 8 : 5; }

uint32_t kinds(const TensorMap& map) {
  const uint32_t swizzle = std::min<uint32_t>(map.swizzle, CU_TENSOR_MAP_SWIZZLE_128B), later = map.swizzle - swizzle;
  return kIm2col.put(map.im2col) | kRank.put(map.rank - 1u) | kFormat.put(kFormats[map.type]) |
         kInterleave.put(map.interleave) | kSwizzle.put(swizzle) | kFill.put(map.nanFill) |
         kTensorFloat.put(map.tensorFloat()) | kPromotion.put(map.promotion) | kLaterSwizzle.put(later);
}

// Word 14 of im2col: the lower corners and then the upper ones.
uint32_t corners(const TensorMap& map) {
  const uint32_t axes = std::clamp(map.rank - 2, 1, 3), bits = cornerBits(axes), mask = (1u << bits) - 1;
  uint32_t word = 0;
  for (uint32_t a = 0; a < axes; ++a) {
    word |= (static_cast<uint32_t>(map.lowerCorner[a]) & mask) << a * bits;
    word |= (static_cast<uint32_t>(map.upperCorner[a]) & mask) << (16 + a * bits);
  }
  return word;
}

int16_t corner(uint32_t word, uint32_t low, uint32_t bits) {
  return static_cast<int16_t>(static_cast<int32_t>(word << (32 - low - bits)) >> (32 - bits));
}

uint8_t typeOf(uint32_t word) {
  const bool tensorFloat = kTensorFloat.get(word);
  const auto* const found = std::find(std::begin(kFormats), std::end(kFormats), kFormat.get(word));
  const auto type = static_cast<uint8_t>(found - kFormats);
  if (!tensorFloat) return type;
  return type == CU_TENSOR_MAP_DATA_TYPE_FLOAT32 ? CU_TENSOR_MAP_DATA_TYPE_TFLOAT32
                                                 : CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ;
}

// Bytes of a piece as the driver notes them behind what the hardware reads.
uint32_t pieceBytes(const TensorMap& map) {
  uint32_t bytes = map.elementBytes();
  const TensorUnit unit = map.packed() ? map.unit() : TensorUnit{1, 1, 1};
  if (map.im2col) return bytes * map.channels / unit.elements * unit.shared * map.pixels;
  for (uint32_t d = 0; d < map.rank; ++d)
    bytes *= (d ? map.box[d] : map.box[0] / unit.elements * unit.shared) / std::max<uint32_t>(map.elementStrides[d], 1);
  return bytes;
}

}  // namespace

uint32_t TensorMap::elementBytes() const {
  switch (type) {
    case CU_TENSOR_MAP_DATA_TYPE_UINT8:
    case CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN8B:
    case CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN16B:
    case CU_TENSOR_MAP_DATA_TYPE_16U6_ALIGN16B:
      return 1;
    case CU_TENSOR_MAP_DATA_TYPE_UINT16:
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT16:
    case CU_TENSOR_MAP_DATA_TYPE_BFLOAT16:
      return 2;
    case CU_TENSOR_MAP_DATA_TYPE_UINT64:
    case CU_TENSOR_MAP_DATA_TYPE_INT64:
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT64:
      return 8;
    default:
      return 4;
  }
}

bool TensorMap::tensorFloat() const {
  return type == CU_TENSOR_MAP_DATA_TYPE_TFLOAT32 || type == CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ;
}

bool TensorMap::packed() const { return type > CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ; }

TensorUnit TensorMap::unit() const {
  if (interleave) return {1, sliceBytes(), sliceBytes()};
  switch (type) {
    case CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN8B:
      return {2, 1, 1};
    case CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN16B:
      return {16, 8, 16};
    case CU_TENSOR_MAP_DATA_TYPE_16U6_ALIGN16B:
      return {16, 12, 16};
    default:
      return {1, elementBytes(), elementBytes()};
  }
}

TensorMapBits encode(const TensorMap& map) {
  TensorMapBits bits;
  uint32_t* const w = bits.words;
  w[0] = static_cast<uint32_t>(map.address);
  w[1] = static_cast<uint32_t>(map.address >> 32);
  w[2] = kinds(map);
  for (uint32_t d = 0; d + 1 < map.rank; ++d) {
    w[3 + d] = static_cast<uint32_t>(map.strides[d] / kStrideUnit);
    w[7] |= static_cast<uint32_t>(map.strides[d] / kStrideUnit >> 32 & 15) << 4 * d;
  }
  for (uint32_t d = 0; d < map.rank; ++d) {
    w[8 + d] = map.lastIndex[d];
    w[13] |= ((map.elementStrides[d] - 1u) & 7) << 3 * d;
  }
  w[13] |= (((map.im2col ? map.channels : map.box[0]) - 1u) & 255) << 24;
  if (map.im2col) {
    w[14] = corners(map);
    w[15] = map.pixels - 1u;
  } else {
    for (uint32_t d = 1; d < map.rank; ++d) w[14] |= ((map.box[d] - 1u) & 255) << 8 * (d - 1);
  }
  w[16] = pieceBytes(map);
  w[18] = swizzleBytes(map.swizzle);
  return bits;
}

TensorMap decode(const TensorMapBits& bits) {
  const uint32_t* const w = bits.words;
  TensorMap map;
  map.type = typeOf(w[2]);
  map.rank = static_cast<uint8_t>(kRank.get(w[2]) + 1);
  if (map.type >= std::size(kFormats) || map.rank > TensorMap::kMostDimensions) return {};
  map.address = uint64_t{w[1]} << 32 | w[0];
  map.im2col = static_cast<uint8_t>(kIm2col.get(w[2]));
  map.interleave = static_cast<uint8_t>(kInterleave.get(w[2]));
  map.swizzle = static_cast<uint8_t>(kSwizzle.get(w[2]) + kLaterSwizzle.get(w[2]));
  map.nanFill = static_cast<uint8_t>(kFill.get(w[2]));
  map.promotion = static_cast<uint8_t>(kPromotion.get(w[2]));
  for (uint32_t d = 0; d + 1 < TensorMap::kMostDimensions; ++d)
    map.strides[d] = (uint64_t{w[7] >> 4 * d & 15} << 32 | w[3 + d]) * kStrideUnit;
  for (uint32_t d = 0; d < TensorMap::kMostDimensions; ++d) {
    map.lastIndex[d] = w[8 + d];
    map.elementStrides[d] = static_cast<uint8_t>((w[13] >> 3 * d & 7) + 1);
    map.box[d] = static_cast<uint16_t>((d ? w[14] >> 8 * (d - 1) & 255 : w[13] >> 24) + 1);
  }
  if (!map.im2col) return map;
  map.channels = map.box[0];
  map.pixels = static_cast<uint16_t>((w[15] & 1023) + 1);
  const uint32_t axes = std::clamp(map.rank - 2, 1, 3), width = cornerBits(axes);
  for (uint32_t a = 0; a < axes; ++a) {
    map.lowerCorner[a] = corner(w[14], a * width, width);
    map.upperCorner[a] = corner(w[14], 16 + a * width, width);
  }
  return map;
}

}  // namespace vg::ptx
