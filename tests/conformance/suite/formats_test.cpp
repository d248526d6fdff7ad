// CUarray_format: the values of the enumeration, and which formats the three creation functions take.
#include "array_objects.h"
#include "suite.h"

namespace {

struct FormatRule {
  const char* rule;
  const char* name;
  int format;         // the enumerator of the header
  int value;          // what the rule says
  unsigned channels;  // bit n: the driver takes n channels
};

constexpr unsigned k1 = 1 << 1, k2 = 1 << 2, k3 = 1 << 3, k4 = 1 << 4, kPlain = k1 | k2 | k4, kNone = 0;

#define FORMAT(number, name, value, channels) \
  { "ARRFMT-" #number, #name, CU_AD_FORMAT_##name, value, channels }
constexpr FormatRule kFormats[] = {
    FORMAT(001, UNSIGNED_INT8, 0x01, kPlain),
    FORMAT(002, UNSIGNED_INT16, 0x02, kPlain),
    FORMAT(003, UNSIGNED_INT32, 0x03, kPlain),
    FORMAT(004, SIGNED_INT8, 0x08, kPlain),
    FORMAT(005, SIGNED_INT16, 0x09, kPlain),
    FORMAT(006, SIGNED_INT32, 0x0a, kPlain),
    FORMAT(007, HALF, 0x10, kPlain),
    FORMAT(008, FLOAT, 0x20, kPlain),
    FORMAT(009, NV12, 0xb0, kNone),
    FORMAT(010, UNORM_INT8X1, 0xc0, k1),
    FORMAT(011, UNORM_INT8X2, 0xc1, k2),
    FORMAT(012, UNORM_INT8X4, 0xc2, k4),
    FORMAT(013, UNORM_INT16X1, 0xc3, k1),
    FORMAT(014, UNORM_INT16X2, 0xc4, k2),
    FORMAT(015, UNORM_INT16X4, 0xc5, k4),
    FORMAT(016, SNORM_INT8X1, 0xc6, k1),
    FORMAT(017, SNORM_INT8X2, 0xc7, k2),
    FORMAT(018, SNORM_INT8X4, 0xc8, k4),
    FORMAT(019, SNORM_INT16X1, 0xc9, k1),
    FORMAT(020, SNORM_INT16X2, 0xca, k2),
    FORMAT(021, SNORM_INT16X4, 0xcb, k4),
    FORMAT(022, BC1_UNORM, 0x91, k4),
    FORMAT(023, BC1_UNORM_SRGB, 0x92, k4),
    FORMAT(024, BC2_UNORM, 0x93, k4),
    FORMAT(025, BC2_UNORM_SRGB, 0x94, k4),
    FORMAT(026, BC3_UNORM, 0x95, k4),
    FORMAT(027, BC3_UNORM_SRGB, 0x96, k4),
    FORMAT(028, BC4_UNORM, 0x97, k1),
    FORMAT(029, BC4_SNORM, 0x98, k1),
    FORMAT(030, BC5_UNORM, 0x99, k2),
    FORMAT(031, BC5_SNORM, 0x9a, k2),
    FORMAT(032, BC6H_UF16, 0x9b, k3),
    FORMAT(033, BC6H_SF16, 0x9c, k3),
    FORMAT(034, BC7_UNORM, 0x9d, k4),
    FORMAT(035, BC7_UNORM_SRGB, 0x9e, k4),
    FORMAT(036, P010, 0x9f, kNone),
    FORMAT(037, P016, 0xa1, kNone),
    FORMAT(038, NV16, 0xa2, kNone),
    FORMAT(039, P210, 0xa3, kNone),
    FORMAT(040, P216, 0xa4, kNone),
    FORMAT(041, YUY2, 0xa5, kNone),
    FORMAT(042, Y210, 0xa6, kNone),
    FORMAT(043, Y216, 0xa7, kNone),
    FORMAT(044, AYUV, 0xa8, kNone),
    FORMAT(045, Y410, 0xa9, kNone),
    FORMAT(046, Y416, 0xb1, kNone),
    FORMAT(047, Y444_PLANAR8, 0xb2, kNone),
    FORMAT(048, Y444_PLANAR10, 0xb3, kNone),
    FORMAT(049, YUV444_8bit_SemiPlanar, 0xb4, kNone),
    FORMAT(050, YUV444_16bit_SemiPlanar, 0xb5, kNone),
    FORMAT(051, UNORM_INT_101010_2, 0x50, k4),
};
#undef FORMAT

class ArrayFormat : public Device, public testing::WithParamInterface<FormatRule> {};

bool taken(CUresult result) {
  EXPECT_TRUE(result == CUDA_SUCCESS || result == CUDA_ERROR_INVALID_VALUE) << testing::PrintToString(result);
  return result == CUDA_SUCCESS;
}

// Which numbers of channels each of the three functions takes for a 64 x 64 array, as bits.
struct Taken {
  unsigned plain = 0, three = 0, mipmapped = 0;
};

Taken channelsTaken(int format) {
  Taken bits;
  for (unsigned channels = 1; channels <= 4; ++channels) {
    const CUDA_ARRAY3D_DESCRIPTOR d = arrayOf(64, 64, 0, 0, static_cast<CUarray_format>(format), channels);
    const CUDA_ARRAY_DESCRIPTOR plain = {d.Width, d.Height, d.Format, d.NumChannels};
    bits.plain |= taken(creation2D(plain)) << channels;
    bits.three |= taken(creation(d)) << channels;
    bits.mipmapped |= taken(mipmappedCreation(d)) << channels;
  }
  return bits;
}

}  // namespace

// The manual does not say what is accepted: the driver makes the video formats only with the flag for a video codec.
TEST_P(ArrayFormat, HasItsValueAndTheSameChannelsInAllThreeFunctions) {
  const FormatRule& rule = GetParam();
  PROVES(rule.rule);
  EXPECT_EQ(rule.format, rule.value);
  const Taken bits = channelsTaken(rule.format);
  EXPECT_EQ(bits.plain, rule.channels);
  EXPECT_EQ(bits.three, rule.channels);
  EXPECT_EQ(bits.mipmapped, rule.channels);
}

INSTANTIATE_TEST_SUITE_P(Every, ArrayFormat, testing::ValuesIn(kFormats),
                         [](const testing::TestParamInfo<FormatRule>& info) { return std::string(info.param.name); });

using ArrayFormats = Device;

// The listings of a later release name these 14; driver 580 knows none of them.
TEST_F(ArrayFormats, OfALaterReleaseAreRefused) {
  PROVES("ARRFMT-052", "ARRFMT-053", "ARRFMT-054", "ARRFMT-055", "ARRFMT-056", "ARRFMT-057", "ARRFMT-058", "ARRFMT-059",
         "ARRFMT-060", "ARRFMT-061", "ARRFMT-062", "ARRFMT-063", "ARRFMT-064", "ARRFMT-065", "ARRFMT-066",
         "ARRFMT-067");
  for (const char* id :
       {"ARRFMT-052", "ARRFMT-053", "ARRFMT-054", "ARRFMT-055", "ARRFMT-056", "ARRFMT-057", "ARRFMT-058", "ARRFMT-059",
        "ARRFMT-060", "ARRFMT-061", "ARRFMT-062", "ARRFMT-063", "ARRFMT-064", "ARRFMT-065", "ARRFMT-067"})
    DIFFERS(id, "CUDA_ERROR_INVALID_VALUE from all three creation functions");
  for (int format = 0x51; format <= 0x5e; ++format) {
    const Taken bits = channelsTaken(format);
    EXPECT_EQ(bits.plain | bits.three | bits.mipmapped, 0u) << "format " << format;
  }
}

TEST_F(ArrayFormats, WithoutAMeaningAreRefused) {
  PROVES("ARRCREATE-005", "ARR3DCREATE-017", "MIPCREATE-017");
  for (int format : {0, 4, 7, 0x11, 0x21, 0x40, 0x90, 0xa0, 0xff, 0x7fffffff}) {
    const Taken bits = channelsTaken(format);
    EXPECT_EQ(bits.plain | bits.three | bits.mipmapped, 0u) << "format " << format;
  }
  for (CUarray_format format : {CU_AD_FORMAT_UNSIGNED_INT16, CU_AD_FORMAT_HALF, CU_AD_FORMAT_SNORM_INT8X1}) {
    Array array(arrayOf(8, 8, 0, 0, format));
    EXPECT_EQ(describe(array).Format, format);
    MipmappedArray levels(arrayOf(8, 8, 0, 0, format), 2);
    EXPECT_EQ(describe(levels.level(1)).Format, format);
  }
}

TEST_F(ArrayFormats, GiveTheSizeOfAnElement) {
  PROVES("ARRFMT-068", "ARRFMT-069", "ARR3DCREATE-016", "ARRCREATE-004", "MIPCREATE-016");
  Array halves(arrayOf(8, 0, 0, 0, CU_AD_FORMAT_HALF, 4));
  const Bytes content = pattern(64);
  EXPECT_OK(cuMemcpyHtoA(halves, 0, content.data(), 64));
  Bytes back(64);
  EXPECT_OK(cuMemcpyAtoH(back.data(), halves, 0, 64));
  EXPECT_EQ(back, content);
  EXPECT_INVALID_VALUE(cuMemcpyHtoA(halves, 0, pattern(72).data(), 72));

  const struct {
    CUarray_format format;
    unsigned channels;
    size_t bytes;
  } sizes[] = {{CU_AD_FORMAT_UNSIGNED_INT8, 2, 2}, {CU_AD_FORMAT_FLOAT, 4, 16},
               {CU_AD_FORMAT_SIGNED_INT16, 1, 2},  {CU_AD_FORMAT_UNSIGNED_INT32, 2, 8},
               {CU_AD_FORMAT_UNORM_INT8X4, 4, 4},  {CU_AD_FORMAT_SNORM_INT16X2, 2, 4}};
  for (const auto& size : sizes) {
    const CUDA_ARRAY3D_DESCRIPTOR d = arrayOf(64, 5, 0, 0, size.format, size.channels);
    const Box row{64 * size.bytes, 5};
    const Box tooWide{64 * size.bytes + size.bytes, 5};
    Array array(d);
    expectHolds(array, row);
    EXPECT_INVALID_VALUE(write(array, tooWide, Bytes(tooWide.bytes())));
    MipmappedArray levels(d, 1);
    expectHolds(levels.level(0), row);
  }
}
