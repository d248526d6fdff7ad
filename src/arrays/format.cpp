#include "arrays/format.h"

namespace vg::arrays {
namespace {

struct Format {
  int first, last;       // CUarray_format
  unsigned channels;     // the only number of channels; 0: 1, 2 or 4
  unsigned bytes, edge;  // of a unit; of one channel when the number of channels is free
};

constexpr Format kFormats[] = {
    {CU_AD_FORMAT_UNSIGNED_INT8, CU_AD_FORMAT_UNSIGNED_INT8, 0, 1, 1},
    {CU_AD_FORMAT_UNSIGNED_INT16, CU_AD_FORMAT_UNSIGNED_INT16, 0, 2, 1},
    {CU_AD_FORMAT_UNSIGNED_INT32, CU_AD_FORMAT_UNSIGNED_INT32, 0, 4, 1},
    {CU_AD_FORMAT_SIGNED_INT8, CU_AD_FORMAT_SIGNED_INT8, 0, 1, 1},
    {CU_AD_FORMAT_SIGNED_INT16, CU_AD_FORMAT_SIGNED_INT16, 0, 2, 1},
    {CU_AD_FORMAT_SIGNED_INT32, CU_AD_FORMAT_SIGNED_INT32, 0, 4, 1},
    {CU_AD_FORMAT_HALF, CU_AD_FORMAT_HALF, 0, 2, 1},
    {CU_AD_FORMAT_FLOAT, CU_AD_FORMAT_FLOAT, 0, 4, 1},
    {CU_AD_FORMAT_UNORM_INT_101010_2, CU_AD_FORMAT_UNORM_INT_101010_2, 4, 4, 1},
    {CU_AD_FORMAT_UINT8_PACKED_422, CU_AD_FORMAT_UINT8_PACKED_444, 4, 4, 1},
    {CU_AD_FORMAT_UINT8_SEMIPLANAR_420, CU_AD_FORMAT_UINT8_SEMIPLANAR_420, 3, 1, 1},
    {CU_AD_FORMAT_UINT16_SEMIPLANAR_420, CU_AD_FORMAT_UINT16_SEMIPLANAR_420, 3, 2, 1},
    {CU_AD_FORMAT_UINT8_SEMIPLANAR_422, CU_AD_FORMAT_UINT8_SEMIPLANAR_422, 3, 1, 1},
    {CU_AD_FORMAT_UINT16_SEMIPLANAR_422, CU_AD_FORMAT_UINT16_SEMIPLANAR_422, 3, 2, 1},
    {CU_AD_FORMAT_UINT8_SEMIPLANAR_444, CU_AD_FORMAT_UINT8_SEMIPLANAR_444, 3, 1, 1},
    {CU_AD_FORMAT_UINT16_SEMIPLANAR_444, CU_AD_FORMAT_UINT16_SEMIPLANAR_444, 3, 2, 1},
    {CU_AD_FORMAT_UINT8_PLANAR_420, CU_AD_FORMAT_UINT8_PLANAR_420, 3, 1, 1},
    {CU_AD_FORMAT_UINT16_PLANAR_420, CU_AD_FORMAT_UINT16_PLANAR_420, 3, 2, 1},
    {CU_AD_FORMAT_UINT8_PLANAR_422, CU_AD_FORMAT_UINT8_PLANAR_422, 3, 1, 1},
    {CU_AD_FORMAT_UINT16_PLANAR_422, CU_AD_FORMAT_UINT16_PLANAR_422, 3, 2, 1},
    {CU_AD_FORMAT_UINT8_PLANAR_444, CU_AD_FORMAT_UINT8_PLANAR_444, 3, 1, 1},
    {CU_AD_FORMAT_UINT16_PLANAR_444, CU_AD_FORMAT_UINT16_PLANAR_444, 3, 2, 1},
    {CU_AD_FORMAT_BC1_UNORM, CU_AD_FORMAT_BC1_UNORM_SRGB, 4, 8, 4},
    {CU_AD_FORMAT_BC2_UNORM, CU_AD_FORMAT_BC3_UNORM_SRGB, 4, 16, 4},
    {CU_AD_FORMAT_BC4_UNORM, CU_AD_FORMAT_BC4_SNORM, 1, 8, 4},
    {CU_AD_FORMAT_BC5_UNORM, CU_AD_FORMAT_BC5_SNORM, 2, 16, 4},
    {CU_AD_FORMAT_BC6H_UF16, CU_AD_FORMAT_BC6H_SF16, 3, 16, 4},
    {CU_AD_FORMAT_BC7_UNORM, CU_AD_FORMAT_BC7_UNORM_SRGB, 4, 16, 4},
    // Video: where there are planes, the unit is that of the first.
    {CU_AD_FORMAT_P010, CU_AD_FORMAT_P010, 3, 2, 1},
    {CU_AD_FORMAT_P016, CU_AD_FORMAT_P016, 3, 2, 1},
    {CU_AD_FORMAT_NV16, CU_AD_FORMAT_NV16, 3, 1, 1},
    {CU_AD_FORMAT_P210, CU_AD_FORMAT_P216, 3, 2, 1},
    {CU_AD_FORMAT_YUY2, CU_AD_FORMAT_YUY2, 4, 4, 1},
    {CU_AD_FORMAT_Y210, CU_AD_FORMAT_Y216, 2, 4, 1},
    {CU_AD_FORMAT_AYUV, CU_AD_FORMAT_AYUV, 4, 4, 1},
    {CU_AD_FORMAT_Y410, CU_AD_FORMAT_Y410, 1, 4, 1},
    {CU_AD_FORMAT_NV12, CU_AD_FORMAT_NV12, 3, 1, 1},
    {CU_AD_FORMAT_Y416, CU_AD_FORMAT_Y416, 4, 8, 1},
    {CU_AD_FORMAT_Y444_PLANAR8, CU_AD_FORMAT_Y444_PLANAR8, 3, 1, 1},
    {CU_AD_FORMAT_Y444_PLANAR10, CU_AD_FORMAT_Y444_PLANAR10, 3, 2, 1},
    {CU_AD_FORMAT_YUV444_8bit_SemiPlanar, CU_AD_FORMAT_YUV444_8bit_SemiPlanar, 3, 1, 1},
    {CU_AD_FORMAT_YUV444_16bit_SemiPlanar, CU_AD_FORMAT_YUV444_16bit_SemiPlanar, 3, 2, 1},
    {CU_AD_FORMAT_UNORM_INT8X1, CU_AD_FORMAT_UNORM_INT8X1, 1, 1, 1},
    {CU_AD_FORMAT_UNORM_INT8X2, CU_AD_FORMAT_UNORM_INT8X2, 2, 2, 1},
    {CU_AD_FORMAT_UNORM_INT8X4, CU_AD_FORMAT_UNORM_INT8X4, 4, 4, 1},
    {CU_AD_FORMAT_UNORM_INT16X1, CU_AD_FORMAT_UNORM_INT16X1, 1, 2, 1},
    {CU_AD_FORMAT_UNORM_INT16X2, CU_AD_FORMAT_UNORM_INT16X2, 2, 4, 1},
    {CU_AD_FORMAT_UNORM_INT16X4, CU_AD_FORMAT_UNORM_INT16X4, 4, 8, 1},
    {CU_AD_FORMAT_SNORM_INT8X1, CU_AD_FORMAT_SNORM_INT8X1, 1, 1, 1},
    {CU_AD_FORMAT_SNORM_INT8X2, CU_AD_FORMAT_SNORM_INT8X2, 2, 2, 1},
    {CU_AD_FORMAT_SNORM_INT8X4, CU_AD_FORMAT_SNORM_INT8X4, 4, 4, 1},
    {CU_AD_FORMAT_SNORM_INT16X1, CU_AD_FORMAT_SNORM_INT16X1, 1, 2, 1},
    {CU_AD_FORMAT_SNORM_INT16X2, CU_AD_FORMAT_SNORM_INT16X2, 2, 4, 1},
    {CU_AD_FORMAT_SNORM_INT16X4, CU_AD_FORMAT_SNORM_INT16X4, 4, 8, 1},
};

}  // namespace

Unit unitOf(int format, unsigned channels) {
  for (const Format& f : kFormats) {
    if (format < f.first || format > f.last) continue;
    if (f.channels) return channels == f.channels ? Unit{f.bytes, f.edge} : Unit{};
    return channels == 1 || channels == 2 || channels == 4 ? Unit{f.bytes * channels, 1} : Unit{};
  }
  return {};
}

bool isVideo(int format) {
  return (format >= CU_AD_FORMAT_P010 && format <= CU_AD_FORMAT_YUV444_16bit_SemiPlanar) ||
         (format >= CU_AD_FORMAT_UINT8_PACKED_422 && format <= CU_AD_FORMAT_UINT16_PLANAR_444);
}

bool isPackedVideo(int format) { return isVideo(format) && planesOf(format).empty(); }

namespace {

constexpr auto k8 = CU_AD_FORMAT_UNSIGNED_INT8, k16 = CU_AD_FORMAT_UNSIGNED_INT16;
// Colour for each square of four pixels, for each pair of a row, for each pixel; in one array of pairs or in two.
constexpr Plane kSquare8[] = {{k8, 1, 0, 0}, {k8, 2, 1, 1}}, kSquare16[] = {{k16, 1, 0, 0}, {k16, 2, 1, 1}};
constexpr Plane kPair8[] = {{k8, 1, 0, 0}, {k8, 2, 1, 0}}, kPair16[] = {{k16, 1, 0, 0}, {k16, 2, 1, 0}};
constexpr Plane kFull8[] = {{k8, 1, 0, 0}, {k8, 2, 0, 0}}, kFull16[] = {{k16, 1, 0, 0}, {k16, 2, 0, 0}};
constexpr Plane kThree8[] = {{k8, 1, 0, 0}, {k8, 1, 0, 0}, {k8, 1, 0, 0}};
constexpr Plane kThree16[] = {{k16, 1, 0, 0}, {k16, 1, 0, 0}, {k16, 1, 0, 0}};
constexpr Plane kSquares8[] = {{k8, 1, 0, 0}, {k8, 1, 1, 1}, {k8, 1, 1, 1}};
constexpr Plane kSquares16[] = {{k16, 1, 0, 0}, {k16, 1, 1, 1}, {k16, 1, 1, 1}};
constexpr Plane kPairs8[] = {{k8, 1, 0, 0}, {k8, 1, 1, 0}, {k8, 1, 1, 0}};
constexpr Plane kPairs16[] = {{k16, 1, 0, 0}, {k16, 1, 1, 0}, {k16, 1, 1, 0}};

}  // namespace

std::span<const Plane> planesOf(int format) {
  switch (format) {
    case CU_AD_FORMAT_NV12:
    case CU_AD_FORMAT_UINT8_SEMIPLANAR_420:
      return kSquare8;
    case CU_AD_FORMAT_P010:
    case CU_AD_FORMAT_P016:
    case CU_AD_FORMAT_UINT16_SEMIPLANAR_420:
      return kSquare16;
    case CU_AD_FORMAT_NV16:
    case CU_AD_FORMAT_UINT8_SEMIPLANAR_422:
      return kPair8;
    case CU_AD_FORMAT_P210:
    case CU_AD_FORMAT_P216:
    case CU_AD_FORMAT_UINT16_SEMIPLANAR_422:
      return kPair16;
    case CU_AD_FORMAT_YUV444_8bit_SemiPlanar:
    case CU_AD_FORMAT_UINT8_SEMIPLANAR_444:
      return kFull8;
    case CU_AD_FORMAT_YUV444_16bit_SemiPlanar:
    case CU_AD_FORMAT_UINT16_SEMIPLANAR_444:
      return kFull16;
    case CU_AD_FORMAT_Y444_PLANAR8:
    case CU_AD_FORMAT_UINT8_PLANAR_444:
      return kThree8;
    case CU_AD_FORMAT_Y444_PLANAR10:
    case CU_AD_FORMAT_UINT16_PLANAR_444:
      return kThree16;
    case CU_AD_FORMAT_UINT8_PLANAR_420:
      return kSquares8;
    case CU_AD_FORMAT_UINT16_PLANAR_420:
      return kSquares16;
    case CU_AD_FORMAT_UINT8_PLANAR_422:
      return kPairs8;
    case CU_AD_FORMAT_UINT16_PLANAR_422:
      return kPairs16;
    default:
      return {};
  }
}

}  // namespace vg::arrays
