#include "core/textures/tensor_map.h"

#include <cstring>

#include "base/raw_enum.h"
#include "core/contexts/context.h"
#include "core/process/device.h"
#include "core/process/thread_state.h"
#include "ptx/operations/tensor_map.h"

// The limits are the real driver's (580.159.04): tests/conformance/probe/tensor_maps.c asked an H200 for each of them.
// The manual is stricter: it wants maps at multiples of 64 and addresses that are not null.
namespace vg::core::tensor_maps {
namespace {

using Map = ptx::TensorMap;

constexpr uint64_t kAlignment = 16,
                   kWideAlignment = 32;  // of addresses and strides; the latter where slices are 32 bytes
constexpr uint64_t kMostAddress = uint64_t{1} << 57;
constexpr uint64_t kMostElements = uint64_t{1} << 32, kMostStride = uint64_t{1} << 40;
constexpr unsigned kMostBox = 256, kMostElementStride = 8, kMostPixels = 1024;
constexpr unsigned kLeastImageRank = 3;
constexpr unsigned kSwizzleBytes[] = {0, 32, 64, 128, 128, 128, 128};
constexpr unsigned kPackedBox = 128;  // elements
constexpr int kWiderKinds = 100;      // compute capability that has packed elements and the later swizzles

static_assert(sizeof(ptx::TensorMapBits) == sizeof(CUtensorMap));

const backend::Traits& device() { return (threadState.current ? threadState.current->device() : deviceAt(0)).traits(); }

bool isFloat(int type) {
  return type >= CU_TENSOR_MAP_DATA_TYPE_FLOAT16 && type <= CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ;
}

CUresult checkKinds(const Tensor& tensor) {
  const int type = rawValue(tensor.type), interleave = rawValue(tensor.interleave), swizzle = rawValue(tensor.swizzle),
            promotion = rawValue(tensor.promotion), fill = rawValue(tensor.fill);
  const bool wider = device().computeCapability >= kWiderKinds;
  const int lastType = wider ? CU_TENSOR_MAP_DATA_TYPE_16U6_ALIGN16B : CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ;
  const int lastSwizzle = wider ? CU_TENSOR_MAP_SWIZZLE_128B_ATOM_64B : CU_TENSOR_MAP_SWIZZLE_128B;
  if (type < 0 || type > lastType || interleave < 0 || interleave > CU_TENSOR_MAP_INTERLEAVE_32B || swizzle < 0 ||
      swizzle > lastSwizzle || promotion < 0 || promotion > CU_TENSOR_MAP_L2_PROMOTION_L2_256B || fill < 0 ||
      fill > CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA)
    return fail(CUDA_ERROR_INVALID_VALUE, "tensor map of type %d, interleave %d, swizzle %d, promotion %d, fill %d",
                type, interleave, swizzle, promotion, fill);
  if (fill && !isFloat(type)) return fail(CUDA_ERROR_INVALID_VALUE, "elements of type %d have no NaN", type);
  const bool newer = type > CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ || swizzle > CU_TENSOR_MAP_SWIZZLE_128B;
  if (newer && device().nativeCode) return unsupported("tensor maps of the kinds that GPUs after Hopper have");
  return CUDA_SUCCESS;
}

// Packed elements between which a piece in shared memory has gaps.
bool hasGaps(int type) {
  return type == CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN16B || type == CU_TENSOR_MAP_DATA_TYPE_16U6_ALIGN16B;
}

// What the manual wants of packed elements; of no hardware that was seen. `row`: elements of a piece's row.
CUresult checkPacked(const Tensor& tensor, uint64_t row) {
  const int type = rawValue(tensor.type), swizzle = rawValue(tensor.swizzle);
  if (type <= CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ) return CUDA_SUCCESS;
  const uint64_t step = hasGaps(type) ? kPackedBox : 2;
  if (tensor.dimensions[0] % step || (hasGaps(type) && row != kPackedBox))
    return fail(CUDA_ERROR_INVALID_VALUE, "rows of %llu packed elements, pieces of %llu, of type %d",
                static_cast<unsigned long long>(tensor.dimensions[0]), static_cast<unsigned long long>(row), type);
  const bool turned = swizzle && swizzle != CU_TENSOR_MAP_SWIZZLE_128B &&
                      swizzle != CU_TENSOR_MAP_SWIZZLE_128B_ATOM_32B &&
                      (swizzle != CU_TENSOR_MAP_SWIZZLE_128B_ATOM_64B || type != CU_TENSOR_MAP_DATA_TYPE_16U6_ALIGN16B);
  if (hasGaps(type) && (rawValue(tensor.interleave) || turned))
    return fail(CUDA_ERROR_INVALID_VALUE, "interleave %d or swizzle %d of packed elements of type %d",
                rawValue(tensor.interleave), swizzle, type);
  return CUDA_SUCCESS;
}

uint64_t alignment(const Tensor& tensor) {
  const bool wide = rawValue(tensor.interleave) == CU_TENSOR_MAP_INTERLEAVE_32B || hasGaps(rawValue(tensor.type));
  return wide ? kWideAlignment : kAlignment;
}

CUresult checkAddress(const Tensor& tensor) {
  const auto address = reinterpret_cast<uint64_t>(tensor.address);
  if (address % alignment(tensor) == 0 && address < kMostAddress) return CUDA_SUCCESS;
  return fail(CUDA_ERROR_INVALID_VALUE, "a tensor at %p, which is not a multiple of %llu, or too high", tensor.address,
              static_cast<unsigned long long>(alignment(tensor)));
}

CUresult checkShape(const Tensor& tensor, unsigned leastRank) {
  if (rawValue(tensor.interleave)) leastRank = 3;
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
    if (d && (tensor.strides[d - 1] % alignment(tensor) || tensor.strides[d - 1] >= kMostStride))
      return fail(CUDA_ERROR_INVALID_VALUE, "stride %u of a tensor is %llu bytes", d - 1,
                  static_cast<unsigned long long>(tensor.strides[d - 1]));
  }
  return CUDA_SUCCESS;
}

CUresult check(const CUtensorMap* map, const Tensor& tensor, unsigned leastRank) {
  if (!map) return fail(CUDA_ERROR_INVALID_VALUE, "tensorMap is null");
  VG_CHECK(checkAddress(tensor));
  VG_CHECK(checkKinds(tensor));
  return checkShape(tensor, leastRank);
}

Map describe(const Tensor& tensor) {
  Map map;
  map.rank = static_cast<uint8_t>(tensor.rank);
  map.type = static_cast<uint8_t>(rawValue(tensor.type));
  map.interleave = static_cast<uint8_t>(rawValue(tensor.interleave));
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
  const uint64_t bytes =
      map.packed() ? elements * map.unit().shared / map.unit().elements : elements * map.elementBytes();
  if (bytes % kAlignment)
    return fail(CUDA_ERROR_INVALID_VALUE, "pieces of a tensor have rows of %llu bytes, not a multiple of 16",
                static_cast<unsigned long long>(bytes));
  if (map.swizzle && !map.interleave && bytes > kSwizzleBytes[map.swizzle])
    return fail(CUDA_ERROR_INVALID_VALUE, "rows of %llu bytes are more than the swizzle's %u",
                static_cast<unsigned long long>(bytes), kSwizzleBytes[map.swizzle]);
  return CUDA_SUCCESS;
}

// A piece must fit the shared memory of a multiprocessor.
CUresult write(CUtensorMap* map, const Map& made) {
  const ptx::TensorMapBits bits = encode(made);
  const int most = device().attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
  if (bits.pieceBytes() > static_cast<uint64_t>(most))
    return fail(CUDA_ERROR_INVALID_VALUE, "pieces of a tensor have %llu bytes, more than the %d of shared memory",
                static_cast<unsigned long long>(bits.pieceBytes()), most);
  std::memcpy(static_cast<void*>(map), &bits, sizeof bits);
  return CUDA_SUCCESS;
}

CUresult setColumns(Map& made, unsigned channels, unsigned pixels) {
  if (!channels || channels > kMostBox || !pixels || pixels > kMostPixels)
    return fail(CUDA_ERROR_INVALID_VALUE, "columns of %u pixels with %u channels", pixels, channels);
  made.im2col = 1;
  made.channels = static_cast<uint16_t>(channels);
  made.pixels = static_cast<uint16_t>(pixels);
  return checkRow(made, channels);
}

// Corners share 16 bits, and the box between them has pixels.
CUresult setCorner(Map& made, unsigned axis, int lower, int upper) {
  const int limit = 1 << (16 / (made.rank - 2) - 1);
  for (const int corner : {lower, upper})
    if (corner < -limit || corner >= limit)
      return fail(CUDA_ERROR_INVALID_VALUE, "a corner of the pixel box is at %d along axis %u", corner, axis);
  if (static_cast<int64_t>(made.size(made.firstImageAxis() + axis)) + upper - lower <= 0)
    return fail(CUDA_ERROR_INVALID_VALUE, "the corners %d and %d of axis %u leave no pixel between them", lower, upper,
                axis);
  made.lowerCorner[axis] = static_cast<int16_t>(lower);
  made.upperCorner[axis] = static_cast<int16_t>(upper);
  return CUDA_SUCCESS;
}

}  // namespace

CUresult encodeTiled(CUtensorMap* map, const Tensor& tensor, const cuuint32_t* box) {
  VG_CHECK(check(map, tensor, 1));
  if (!box) return fail(CUDA_ERROR_INVALID_VALUE, "boxDim is null");
  Map made = describe(tensor);
  for (unsigned d = 0; d < tensor.rank; ++d) {
    if (!box[d] || box[d] > kMostBox) return fail(CUDA_ERROR_INVALID_VALUE, "boxDim[%u] is %u", d, box[d]);
    made.box[d] = static_cast<uint16_t>(box[d]);
  }
  VG_CHECK(checkPacked(tensor, box[0]));
  VG_CHECK(checkRow(made, box[0]));
  return write(map, made);
}

CUresult encodeIm2col(CUtensorMap* map, const Tensor& tensor, const int* lowerCorner, const int* upperCorner,
                      unsigned channels, unsigned pixels) {
  VG_CHECK(check(map, tensor, kLeastImageRank));
  if (!lowerCorner || !upperCorner) return fail(CUDA_ERROR_INVALID_VALUE, "a corner of the pixel box is null");
  Map made = describe(tensor);
  VG_CHECK(checkPacked(tensor, channels));
  VG_CHECK(setColumns(made, channels, pixels));
  for (unsigned axis = 0; axis + 2 < tensor.rank; ++axis)
    VG_CHECK(setCorner(made, axis, lowerCorner[axis], upperCorner[axis]));
  return write(map, made);
}

CUresult encodeIm2colWide(CUtensorMap* map, const Tensor& tensor, int lowerWidth, int upperWidth, unsigned channels,
                          unsigned pixels, CUtensorMapIm2ColWideMode mode) {
  VG_CHECK(check(map, tensor, kLeastImageRank));
  if (rawValue(mode) < 0 || rawValue(mode) > CU_TENSOR_MAP_IM2COL_WIDE_MODE_W128)
    return fail(CUDA_ERROR_INVALID_VALUE, "wide columns of mode %d", rawValue(mode));
  Map made = describe(tensor);
  VG_CHECK(checkPacked(tensor, channels));
  VG_CHECK(setColumns(made, channels, pixels));
  VG_CHECK(setCorner(made, 0, lowerWidth, upperWidth));
  return write(map, made);
}

CUresult replaceAddress(CUtensorMap* map, void* address) {
  const auto place = reinterpret_cast<uint64_t>(address);
  if (!map || place % kAlignment || place >= kMostAddress)
    return fail(CUDA_ERROR_INVALID_VALUE, "tensor map at %p, tensor at %p", static_cast<void*>(map), address);
  ptx::TensorMapBits present;
  std::memcpy(present.words, map, sizeof present);
  if (!present.encoded()) return fail(CUDA_ERROR_INVALID_VALUE, "the tensor map was never encoded");
  present.words[0] = static_cast<uint32_t>(place);
  present.words[1] = static_cast<uint32_t>(place >> 32);
  std::memcpy(static_cast<void*>(map), &present, sizeof present);
  return CUDA_SUCCESS;
}

}  // namespace vg::core::tensor_maps
