// Tensor maps: tiles, image columns, wide image columns.
#include <algorithm>
#include <iterator>

#include "families.h"
#include "objects.h"

namespace calls {
namespace {

constexpr unsigned kMostDimensions = 6;  // one more than there may be

struct Tensor {
  CUtensorMapDataType type;
  unsigned rank;
  void* base;
  cuuint64_t extents[kMostDimensions], strides[kMostDimensions];
  cuuint32_t box[kMostDimensions], steps[kMostDimensions];
  CUtensorMapInterleave interleave;
  CUtensorMapSwizzle swizzle;
  CUtensorMapL2promotion promotion;
  CUtensorMapFloatOOBfill fill;
};

template <class T>
std::string numbers(const T* values, unsigned count) {
  std::string all;
  for (unsigned i = 0; i < std::min(count, kMostDimensions); ++i) all += text(uint64_t{values[i]}) + ",";
  return all;
}

unsigned elementBytes(int type) {
  constexpr unsigned kBytes[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4, 1, 1, 1};
  return type >= 0 && type < static_cast<int>(std::size(kBytes)) ? kBytes[type] : 4;
}

void drawExtents(Tensor& tensor, unsigned bytes) {
  for (unsigned i = 0; i < kMostDimensions; ++i) {
    const uint64_t usual = i ? 1 + below(200) : chance(80) ? 64 * (1 + below(8)) : 1 + below(300);
    tensor.extents[i] = chance(93) ? usual : oneOf<cuuint64_t>({0, 1ull << 32, (1ull << 32) + 1, 1ull << 40});
    const uint64_t row = chance(70) ? std::max(16 / bytes, 1u) * (1 + below(8)) : 1 + below(80);
    tensor.box[i] = chance(92) ? static_cast<unsigned>(i ? 1 + below(20) : row) : oneOf({0u, 256u, 257u, 128u, 64u});
    tensor.steps[i] = chance(85) ? 1 : static_cast<unsigned>(below(10));
  }
  if (tensor.type >= CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN16B && chance(60)) {
    tensor.extents[0] = 128 * (1 + below(4));
    tensor.box[0] = 128;
  }
}

void drawStrides(Tensor& tensor, unsigned bytes) {
  uint64_t stride = tensor.extents[0] * bytes;
  for (unsigned i = 0; i + 1 < kMostDimensions; ++i) {
    const uint64_t unit = chance(85) ? 32 : 16;
    stride = (stride + unit - 1) / unit * unit;
    if (chance(4))
      stride = oneOf<uint64_t>({0, 8, 16, stride + 4, 1ull << 40, (1ull << 40) - 16, 1ull << 41, stride / 2});
    tensor.strides[i] = stride;
    stride *= tensor.extents[i + 1];
  }
}

Tensor drawTensor() {
  Tensor tensor{};
  const int type = chance(95) ? belowInt(16) : oneOf({16, -1});
  tensor.type = static_cast<CUtensorMapDataType>(type);
  tensor.rank = mostly(92, {1u, 2u, 3u, 4u, 5u}, {0u, 6u, 100u});
  drawExtents(tensor, elementBytes(type));
  drawStrides(tensor, elementBytes(type));
  const uint64_t base = 0x7f0000000000 + (chance(92) ? 256 * below(10) : oneOf<uint64_t>({16, 8, 1, 32, 64}));
  tensor.base = reinterpret_cast<void*>(wrong("no base", 1) ? 0 : base);
  tensor.interleave = static_cast<CUtensorMapInterleave>(chance(70) ? 0 : mostly(95, {0, 1, 2}, {3}));
  tensor.swizzle = static_cast<CUtensorMapSwizzle>(mostly(90, {0, 1, 2, 3}, {4, 5, 6, 7}));
  tensor.promotion = static_cast<CUtensorMapL2promotion>(mostly(96, {0, 1, 2, 3}, {4}));
  tensor.fill = static_cast<CUtensorMapFloatOOBfill>(mostly(80, {0}, {1, 1, 1, 2}));
  return tensor;
}

void describeTensor(const Tensor& tensor) {
  describe("type", text(tensor.type));
  describe("base", text(reinterpret_cast<uint64_t>(tensor.base) & 0xfff));
  describe("extents", numbers(tensor.extents, tensor.rank));
  describe("strides", numbers(tensor.strides, tensor.rank ? tensor.rank - 1 : 0));
  describe("steps", numbers(tensor.steps, tensor.rank));
  describe("modes", list(tensor.interleave, tensor.swizzle, tensor.promotion, tensor.fill));
}

alignas(64) CUtensorMap made;

CUresult encodeTiles(const Tensor& tensor) {
  describeTensor(tensor);
  describe("box", numbers(tensor.box, tensor.rank));
  return RECORD(cuTensorMapEncodeTiled, out("map", &made, 1), tensor.type, given("rank", tensor.rank), tensor.base,
                out("extents", tensor.extents, 1), out("strides", tensor.strides, 1), out("box", tensor.box, 1),
                out("steps", tensor.steps, 1), tensor.interleave, tensor.swizzle, tensor.promotion, tensor.fill);
}

struct Columns {
  int lower[3], upper[3];
  unsigned channels, pixels;
};
Columns drawColumns(Tensor& tensor) {
  if (tensor.rank < 3 && chance(85)) tensor.rank = 3 + static_cast<unsigned>(below(3));
  Columns columns;
  for (int i = 0; i < 3; ++i) {
    columns.lower[i] =
        chance(90) ? belowInt(6) - 3 : oneOf({-32768, 32767, -32769, 127, -128, 128, -129, 15, -16, 16, -17});
    columns.upper[i] = chance(90) ? belowInt(6) - 3 : oneOf({40, 20, 10});
  }
  columns.channels = mostly(90, {8u, 16u, 32u, 64u}, {0u, 1u, 256u, 257u, 100u});
  columns.pixels = chance(90) ? 1 + static_cast<unsigned>(below(128)) : oneOf({0u, 1024u, 1025u, 256u});
  describe("lower", list(columns.lower[0], columns.lower[1], columns.lower[2]));
  describe("upper", list(columns.upper[0], columns.upper[1], columns.upper[2]));
  return columns;
}

CUresult encodeColumns(Tensor tensor) {
  const Columns columns = drawColumns(tensor);
  describeTensor(tensor);
  return RECORD(cuTensorMapEncodeIm2col, out("map", &made, 1), tensor.type, given("rank", tensor.rank), tensor.base,
                out("extents", tensor.extents, 1), out("strides", tensor.strides, 1), columns.lower, columns.upper,
                given("channels", columns.channels), given("pixels", columns.pixels), out("steps", tensor.steps, 1),
                tensor.interleave, tensor.swizzle, tensor.promotion, tensor.fill);
}

CUresult encodeWideColumns(Tensor tensor) {
  const Columns columns = drawColumns(tensor);
  describeTensor(tensor);
  return RECORD(cuTensorMapEncodeIm2colWide, out("map", &made, 1), tensor.type, given("rank", tensor.rank), tensor.base,
                out("extents", tensor.extents, 1), out("strides", tensor.strides, 1), columns.lower[0],
                columns.upper[0], given("channels", columns.channels), given("pixels", columns.pixels),
                out("steps", tensor.steps, 1), tensor.interleave,
                givenAs<CUtensorMapIm2ColWideMode>("mode", belowInt(3)), tensor.swizzle, tensor.promotion, tensor.fill);
}

}  // namespace

void callTensorMaps() {
  const Tensor tensor = drawTensor();
  const uint64_t how = below(4);
  const CUresult result = how < 2 ? encodeTiles(tensor) : how == 2 ? encodeColumns(tensor) : encodeWideColumns(tensor);
  if (result != CUDA_SUCCESS) return;
  const uint64_t other = 0x7e0000000000 + (chance(80) ? 256 * below(10) : oneOf<uint64_t>({8, 16, 1}));
  output("new base", other & 0xfff);
  output("replaced", CALL(cuTensorMapReplaceAddress, &made, reinterpret_cast<void*>(other)));
}

}  // namespace calls
