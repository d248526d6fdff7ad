#include "core/tensor_map.h"

#include <cstring>

#include "base/raw_enum.h"
#include "ptx/tensor_map.h"

namespace vg::core::tensor_maps {
namespace {

using Map = ptx::TensorMap;

constexpr uint64_t kMapAlignment = 64, kAddressAlignment = 16;
constexpr uint64_t kMostElements = uint64_t{1} << 32, kMostStride = uint64_t{1} << 40;
constexpr unsigned kMostBox = 256, kMostElementStride = 8, kMostPixels = 1024;
constexpr unsigned kSwizzleBytes[] = {0, 32, 64, 128, 128};

static_assert(sizeof(ptx::TensorMapBits) == sizeof(CUtensorMap));

CUresult checkPlace(const CUtensorMap* map, const void* address) {
  if (!map || reinterpret_cast<uint64_t>(map) % kMapAlignment)
    return fail(CUDA_ERROR_INVALID_VALUE, "tensor map at %p, not a multiple of 64", static_cast<const void*>(map));
  if (!address || reinterpret_cast<uint64_t>(address) % kAddressAlignment)
    return fail(CUDA_ERROR_INVALID_VALUE, "tensor at %p, not a multiple of 16", address);
  return CUDA_SUCCESS;
}

bool isFloat(int type) {
  return type >= CU_TENSOR_MAP_DATA_TYPE_FLOAT16 && type <= CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ;
}

CUresult checkKinds(const Tensor& tensor) {
  const int type = rawValue(tensor.type), interleave = rawValue(tensor.interleave), swizzle = rawValue(tensor.swizzle),
            promotion = rawValue(tensor.promotion), fill = rawValue(tensor.fill);
  if (type < 0 || type > CU_TENSOR_MAP_DATA_TYPE_16U6_ALIGN16B || interleave < 0 ||
      interleave > CU_TENSOR_MAP_INTERLEAVE_32B || swizzle < 0 || swizzle > CU_TENSOR_MAP_SWIZZLE_128B_ATOM_64B ||
      promotion < 0 || promotion > CU_TENSOR_MAP_L2_PROMOTION_L2_256B || fill < 0 ||
      fill > CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA)
    return fail(CUDA_ERROR_INVALID_VALUE, "tensor map of type %d, interleave %d, swizzle %d, promotion %d, fill %d",
                type, interleave, swizzle, promotion, fill);
  if (fill && !isFloat(type)) return fail(CUDA_ERROR_INVALID_VALUE, "elements of type %d have no NaN", type);
  if (type > CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ) return unsupported("tensor maps of packed elements");
  if (interleave) return unsupported("interleaved tensor maps");
  if (swizzle > CU_TENSOR_MAP_SWIZZLE_128B_ATOM_32B) return unsupported("this swizzle of tensor maps");
  return CUDA_SUCCESS;
}

CUresult checkShape(const Tensor& tensor, unsigned leastRank) {
  if (tensor.rank < leastRank || tensor.rank > Map::kMostDimensions)
    return fail(CUDA_ERROR_INVALID_VALUE, "tensor of rank %u", tensor.rank);
  if (!tensor.dimensions || !tensor.elementStrides || !tensor.strides)
    return fail(CUDA_ERROR_INVALID_VALUE, "a tensor's dimensions or strides are null");
  for (unsigned d = 0; d < tensor.rank; ++d) {
    if (!tensor.dimensions[d] || tensor.dimensions[d] > kMostElements)
      return fail(CUDA_ERROR_INVALID_VALUE, "dimension %u of a tensor has %llu elements", d,
                  static_cast<unsigned long long>(tensor.dimensions[d]));
    if (!tensor.elementStrides[d] || tensor.elementStrides[d] > kMostElementStride)
      return fail(CUDA_ERROR_INVALID_VALUE, "element stride %u of a tensor is %u", d, tensor.elementStrides[d]);
    if (d && (tensor.strides[d - 1] % kAddressAlignment || tensor.strides[d - 1] >= kMostStride))
      return fail(CUDA_ERROR_INVALID_VALUE, "stride %u of a tensor is %llu bytes", d - 1,
                  static_cast<unsigned long long>(tensor.strides[d - 1]));
  }
  return CUDA_SUCCESS;
}

Map describe(const Tensor& tensor) {
  Map map;
  map.rank = static_cast<uint8_t>(tensor.rank);
  map.type = static_cast<uint8_t>(rawValue(tensor.type));
  map.swizzle = static_cast<uint8_t>(rawValue(tensor.swizzle));
  map.promotion = static_cast<uint8_t>(rawValue(tensor.promotion));
  map.nanFill = rawValue(tensor.fill) != 0;
  map.address = reinterpret_cast<uint64_t>(tensor.address);
  for (unsigned d = 0; d < tensor.rank; ++d) {
    map.lastIndex[d] = static_cast<uint32_t>(tensor.dimensions[d] - 1);
    map.elementStrides[d] = static_cast<uint8_t>(tensor.elementStrides[d]);
    if (d) map.strides[d - 1] = tensor.strides[d - 1];
  }
  return map;
}

// The innermost stretch of a piece is moved as a whole, and must fit what the swizzle turns.
CUresult checkRow(const Map& map, uint64_t elements) {
  const uint64_t bytes = elements * map.elementBytes();
  if (bytes % kAddressAlignment)
    return fail(CUDA_ERROR_INVALID_VALUE, "pieces of a tensor have rows of %llu bytes, not a multiple of 16",
                static_cast<unsigned long long>(bytes));
  if (map.swizzle && bytes > kSwizzleBytes[map.swizzle])
    return fail(CUDA_ERROR_INVALID_VALUE, "rows of %llu bytes are more than the swizzle's %u",
                static_cast<unsigned long long>(bytes), kSwizzleBytes[map.swizzle]);
  return CUDA_SUCCESS;
}

void write(CUtensorMap* map, const Map& made) {
  const ptx::TensorMapBits bits = encode(made);
  std::memcpy(static_cast<void*>(map), &bits, sizeof bits);
}

}  // namespace

CUresult encodeTiled(CUtensorMap* map, const Tensor& tensor, const cuuint32_t* box) {
  VG_CHECK(checkPlace(map, tensor.address));
  VG_CHECK(checkKinds(tensor));
  VG_CHECK(checkShape(tensor, 1));
  if (!box) return fail(CUDA_ERROR_INVALID_VALUE, "boxDim is null");
  Map made = describe(tensor);
  for (unsigned d = 0; d < tensor.rank; ++d) {
    if (!box[d] || box[d] > kMostBox) return fail(CUDA_ERROR_INVALID_VALUE, "boxDim[%u] is %u", d, box[d]);
    made.box[d] = static_cast<uint16_t>(box[d]);
  }
  VG_CHECK(checkRow(made, box[0]));
  write(map, made);
  return CUDA_SUCCESS;
}

CUresult encodeIm2col(CUtensorMap* map, const Tensor& tensor, const int* lowerCorner, const int* upperCorner,
                      unsigned channels, unsigned pixels) {
  VG_CHECK(checkPlace(map, tensor.address));
  VG_CHECK(checkKinds(tensor));
  VG_CHECK(checkShape(tensor, 3));
  if (!lowerCorner || !upperCorner) return fail(CUDA_ERROR_INVALID_VALUE, "a corner of the pixel box is null");
  if (!channels || channels > kMostBox || !pixels || pixels > kMostPixels)
    return fail(CUDA_ERROR_INVALID_VALUE, "columns of %u pixels with %u channels", pixels, channels);
  Map made = describe(tensor);
  made.im2col = 1;
  made.channels = static_cast<uint16_t>(channels);
  made.pixels = static_cast<uint16_t>(pixels);
  const unsigned axes = tensor.rank - 2;
  const int limit = 1 << (16 / axes - 1);
  for (unsigned axis = 0; axis < axes; ++axis) {
    for (const int corner : {lowerCorner[axis], upperCorner[axis]})
      if (corner < -limit || corner >= limit)
        return fail(CUDA_ERROR_INVALID_VALUE, "a corner of the pixel box is at %d along axis %u", corner, axis);
    made.lowerCorner[axis] = static_cast<int16_t>(lowerCorner[axis]);
    made.upperCorner[axis] = static_cast<int16_t>(upperCorner[axis]);
  }
  VG_CHECK(checkRow(made, channels));
  write(map, made);
  return CUDA_SUCCESS;
}

CUresult replaceAddress(CUtensorMap* map, void* address) {
  VG_CHECK(checkPlace(map, address));
  ptx::TensorMapBits present;
  std::memcpy(present.words, map, sizeof present);
  if (!present.encoded()) return fail(CUDA_ERROR_INVALID_VALUE, "the tensor map was never encoded");
  present.words[0] = static_cast<uint32_t>(reinterpret_cast<uint64_t>(address));
  present.words[1] = static_cast<uint32_t>(reinterpret_cast<uint64_t>(address) >> 32);
  std::memcpy(static_cast<void*>(map), &present, sizeof present);
  return CUDA_SUCCESS;
}

}  // namespace vg::core::tensor_maps
