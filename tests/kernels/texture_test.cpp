// Textures in kernels, against a model of our own in double arithmetic.
#include <atomic>
#include <cmath>
#include <cstring>
#include <random>
#include <thread>

#include "kernels/texture_fixture.h"

namespace kernels {
namespace {

constexpr char kPlane[] = "tex.2d.v4.f32.f32 {%r21, %r22, %r23, %r24}, [%rd10, {%f1, %f2}];";
constexpr int kWidth = 13, kHeight = 7;

std::vector<float> image() {
  std::mt19937 random(7);
  std::vector<float> elements(kWidth * kHeight);
  for (float& e : elements) e = static_cast<float>(random() % 1000) / 8;
  return elements;
}

// The element at a whole position that may lie outside; the border is 5.
constexpr float kBorder = 5;
int inside(int i, int n, CUaddress_mode mode) {
  if (i >= 0 && i < n) return i;
  if (mode == CU_TR_ADDRESS_MODE_CLAMP) return i < 0 ? 0 : n - 1;
  if (mode == CU_TR_ADDRESS_MODE_BORDER) return -1;
  const int period = mode == CU_TR_ADDRESS_MODE_WRAP ? n : 2 * n;
  const int rest = ((i % period) + period) % period;
  return rest < n ? rest : period - 1 - rest;
}
double element(const std::vector<float>& image, int x, int y, CUaddress_mode mode) {
  const int ix = inside(x, kWidth, mode), iy = inside(y, kHeight, mode);
  return ix < 0 || iy < 0 ? kBorder : image[iy * kWidth + ix];
}

double pointModel(const std::vector<float>& image, double x, double y, CUaddress_mode mode) {
  return element(image, static_cast<int>(std::floor(x)), static_cast<int>(std::floor(y)), mode);
}
// Weights are whole 256ths, the far one rounded.
double linearModel(const std::vector<float>& image, double x, double y, CUaddress_mode mode) {
  const int fx = static_cast<int>(std::floor((x - 0.5) * 256 + 0.5));
  const int fy = static_cast<int>(std::floor((y - 0.5) * 256 + 0.5));
  const int ix = fx >> 8, iy = fy >> 8, a = fx & 255, b = fy & 255, both = (a * b + 128) >> 8;
  return ((256 - a - b + both) * element(image, ix, iy, mode) + (a - both) * element(image, ix + 1, iy, mode) +
          (b - both) * element(image, ix, iy + 1, mode) + both * element(image, ix + 1, iy + 1, mode)) /
         256;
}

// Positions whose products with the extents are exact.
std::vector<Coordinates> around(float width, float height) {
  std::mt19937 random(3);
  std::vector<Coordinates> points;
  for (int i = 0; i < 500; ++i)
    points.push_back(at(width * (static_cast<float>(random() % 12288) / 4096 - 1),
                        height * (static_cast<float>(random() % 12288) / 4096 - 1)));
  return points;
}

TEST_F(TextureTest, EveryAddressingAndFilterIsAsTheModel) {
  const std::vector<float> elements = image();
  const CUarray array = arrayOf(described(kWidth, kHeight, 0, CU_AD_FORMAT_FLOAT, 1), elements);
  for (const CUaddress_mode mode :
       {CU_TR_ADDRESS_MODE_WRAP, CU_TR_ADDRESS_MODE_CLAMP, CU_TR_ADDRESS_MODE_MIRROR, CU_TR_ADDRESS_MODE_BORDER})
    for (const CUfilter_mode filter : {CU_TR_FILTER_MODE_POINT, CU_TR_FILTER_MODE_LINEAR}) {
      CUDA_TEXTURE_DESC d = sampling(mode, filter, CU_TRSF_NORMALIZED_COORDINATES);
      for (float& c : d.borderColor) c = kBorder;
      const CUtexObject texture = textureOf(resourceOf(array), d);
      const std::vector<Coordinates> points = around(1, 1);
      const std::vector<Four> found = access(kPlane, texture, points);
      for (size_t i = 0; i < points.size(); ++i) {
        const double x = std::bit_cast<float>(points[i].words[0]) * double{kWidth};
        const double y = std::bit_cast<float>(points[i].words[1]) * double{kHeight};
        const double model =
            filter == CU_TR_FILTER_MODE_POINT ? pointModel(elements, x, y, mode) : linearModel(elements, x, y, mode);
        ASSERT_NEAR(found[i].real(0), model, 1e-3) << x << ", " << y << " mode " << mode << " filter " << filter;
      }
      EXPECT_EQ(cuTexObjectDestroy(texture), CUDA_SUCCESS);
    }
}

TEST_F(TextureTest, WithoutNormalisedCoordinatesWrappingClamps) {
  const std::vector<float> elements = image();
  const CUarray array = arrayOf(described(kWidth, kHeight, 0, CU_AD_FORMAT_FLOAT, 1), elements);
  const CUtexObject texture =
      textureOf(resourceOf(array), sampling(CU_TR_ADDRESS_MODE_WRAP, CU_TR_FILTER_MODE_LINEAR, 0));
  const std::vector<Coordinates> points = around(kWidth, kHeight);
  const std::vector<Four> found = access(kPlane, texture, points);
  for (size_t i = 0; i < points.size(); ++i)
    ASSERT_NEAR(found[i].real(0),
                linearModel(elements, std::bit_cast<float>(points[i].words[0]),
                            std::bit_cast<float>(points[i].words[1]), CU_TR_ADDRESS_MODE_CLAMP),
                1e-3);
}

TEST_F(TextureTest, BytesAreIntegersOrFractions) {
  const std::vector<uint32_t> elements = {0xff804000u, 0x01020304u};
  const CUarray array = arrayOf(described(2, 0, 0, CU_AD_FORMAT_UNSIGNED_INT8, 4), elements);
  const char line[] = "tex.1d.v4.u32.s32 {%r21, %r22, %r23, %r24}, [%rd10, {%r11}];";
  const CUtexObject whole = textureOf(
      resourceOf(array), sampling(CU_TR_ADDRESS_MODE_CLAMP, CU_TR_FILTER_MODE_POINT, CU_TRSF_READ_AS_INTEGER));
  const std::vector<Four> integers = access(line, whole, {atWhole(0), atWhole(1)});
  EXPECT_EQ(integers[0].words[1], 0x40u);
  EXPECT_EQ(integers[0].words[3], 0xffu);
  EXPECT_EQ(integers[1].words[0], 4u);
  const CUtexObject fractions =
      textureOf(resourceOf(array), sampling(CU_TR_ADDRESS_MODE_CLAMP, CU_TR_FILTER_MODE_POINT, 0));
  const std::vector<Four> reals = access(line, fractions, {atWhole(0)});
  EXPECT_FLOAT_EQ(reals[0].real(2), 128 / 255.0f);
  EXPECT_EQ(reals[0].real(3), 1);
  const CUtexObject eye =
      textureOf(resourceOf(array), sampling(CU_TR_ADDRESS_MODE_CLAMP, CU_TR_FILTER_MODE_POINT, CU_TRSF_SRGB));
  EXPECT_EQ(access(line, eye, {atWhole(0)})[0].real(2), 221 / 1024.0f);  // 0.21586 with 8 bits
}

TEST_F(TextureTest, SignedAndHalfChannels) {
  const std::vector<int16_t> numbers = {-32768, 32767, 16384, -1};
  const CUarray array = arrayOf(described(4, 0, 0, CU_AD_FORMAT_SIGNED_INT16, 1), numbers);
  const char line[] = "tex.1d.v4.f32.f32 {%r21, %r22, %r23, %r24}, [%rd10, {%f1}];";
  const CUtexObject texture =
      textureOf(resourceOf(array), sampling(CU_TR_ADDRESS_MODE_CLAMP, CU_TR_FILTER_MODE_POINT, 0));
  const std::vector<Four> found = access(line, texture, {at(0.5f), at(1.5f), at(2.5f)});
  EXPECT_EQ(found[0].real(0), -1);
  EXPECT_EQ(found[1].real(0), 1);
  EXPECT_FLOAT_EQ(found[2].real(0), 16384 / 32767.0f);
  const std::vector<uint16_t> halves = {0x3c00, 0xc000, 0x3555, 0x0001};
  const CUarray second = arrayOf(described(4, 0, 0, CU_AD_FORMAT_HALF, 1), halves);
  const CUtexObject ofHalves =
      textureOf(resourceOf(second), sampling(CU_TR_ADDRESS_MODE_CLAMP, CU_TR_FILTER_MODE_POINT, 0));
  const std::vector<Four> reals = access(line, ofHalves, {at(0), at(1), at(2), at(3)});
  EXPECT_EQ(reals[0].real(0), 1);
  EXPECT_EQ(reals[1].real(0), -2);
  EXPECT_EQ(reals[3].real(0), 0x1p-24f);
  const std::vector<Four> narrow =
      access(".reg .b16 %h<5>;\ntex.1d.v4.f16.f32 {%h1, %h2, %h3, %h4}, [%rd10, {%f1}];\nmov.b32 %r21, {%h1, %h2};",
             ofHalves, {at(2)});
  EXPECT_EQ(narrow[0].words[0] & 0xffff, 0x3555u);
}

TEST_F(TextureTest, LevelsMixBetweenThem) {
  const CUDA_ARRAY3D_DESCRIPTOR d = described(16, 16, 0, CU_AD_FORMAT_FLOAT, 1);
  CUmipmappedArray array = nullptr;
  ASSERT_EQ(cuMipmappedArrayCreate(&array, &d, 5), CUDA_SUCCESS);
  for (unsigned l = 0; l < 5; ++l) {
    CUarray level = nullptr;
    ASSERT_EQ(cuMipmappedArrayGetLevel(&level, array, l), CUDA_SUCCESS);
    const std::vector<float> constant(256 >> (2 * l), static_cast<float>(10 * l));
    fill(level, described(16 >> l, 16 >> l, 0, CU_AD_FORMAT_FLOAT, 1), constant.data(), 4);
  }
  CUDA_RESOURCE_DESC resource{};
  resource.resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
  resource.res.mipmap.hMipmappedArray = array;
  CUDA_TEXTURE_DESC t = sampling(CU_TR_ADDRESS_MODE_WRAP, CU_TR_FILTER_MODE_LINEAR, CU_TRSF_NORMALIZED_COORDINATES);
  t.mipmapFilterMode = CU_TR_FILTER_MODE_LINEAR;
  t.maxMipmapLevelClamp = 3;
  const char level[] = "tex.level.2d.v4.f32.f32 {%r21, %r22, %r23, %r24}, [%rd10, {%f1, %f2}], %f3;";
  const std::vector<Coordinates> points = {at(.5f, .5f, 0),    at(.5f, .5f, 0.5f), at(.5f, .5f, 1.25f),
                                           at(.5f, .5f, 2.6f), at(.5f, .5f, 9),    at(.5f, .5f, -3)};
  const float mixed[] = {0, 5, 12.5f, 26, 30, 0}, near[] = {0, 10, 10, 30, 30, 0};
  const std::vector<Four> found = access(level, textureOf(resource, t), points);
  for (size_t i = 0; i < points.size(); ++i) EXPECT_NEAR(found[i].real(0), mixed[i], 0.04) << i;
  t.mipmapFilterMode = CU_TR_FILTER_MODE_POINT;
  const std::vector<Four> whole = access(level, textureOf(resource, t), points);
  for (size_t i = 0; i < points.size(); ++i) EXPECT_EQ(whole[i].real(0), near[i]) << i;
  t.mipmapLevelBias = 1;
  EXPECT_EQ(access(level, textureOf(resource, t), points)[0].real(0), 10);
  // A step of 4 elements a pixel is level 2.
  const char gradient[] =
      "tex.grad.2d.v4.f32.f32 {%r21, %r22, %r23, %r24}, [%rd10, {%f1, %f2}], {%f3, %f4}, {%f4, %f3};";
  t.mipmapLevelBias = 0;
  EXPECT_EQ(access(gradient, textureOf(resource, t), {at(.5f, .5f, 0.25f, 0)})[0].real(0), 20);
  const char queries[] =
      "txq.width.b32 %r21, [%rd10];\ntxq.num_mipmap_levels.b32 %r22, [%rd10];\n"
      "txq.level.height.b32 %r23, [%rd10], %r11;";
  const std::vector<Four> asked = access(queries, textureOf(resource, t), {atWhole(2)});
  EXPECT_EQ(asked[0].words[0], 16u);
  EXPECT_EQ(asked[0].words[1], 5u);
  EXPECT_EQ(asked[0].words[2], 4u);
}

TEST_F(TextureTest, LayersBoxesAndFaces) {
  std::vector<float> elements(4 * 4 * 6);
  for (size_t i = 0; i < elements.size(); ++i) elements[i] = static_cast<float>(i);
  const CUDA_TEXTURE_DESC point = sampling(CU_TR_ADDRESS_MODE_CLAMP, CU_TR_FILTER_MODE_POINT, 0);
  const CUarray layers = arrayOf(described(4, 4, 6, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_LAYERED), elements);
  const std::vector<Four> layered =
      access("tex.a2d.v4.f32.f32 {%r21, %r22, %r23, %r24}, [%rd10, {%r11, %f2, %f3, %f4}];",
             textureOf(resourceOf(layers), point),
             {{{2, std::bit_cast<uint32_t>(1.5f), std::bit_cast<uint32_t>(3.5f), 0}},
              {{9, std::bit_cast<uint32_t>(0.5f), 0, 0}}});
  EXPECT_EQ(layered[0].real(0), 2 * 16 + 3 * 4 + 1);
  EXPECT_EQ(layered[1].real(0), 5 * 16);
  const CUarray box = arrayOf(described(4, 4, 6, CU_AD_FORMAT_FLOAT, 1), elements);
  const CUDA_TEXTURE_DESC linear = sampling(CU_TR_ADDRESS_MODE_CLAMP, CU_TR_FILTER_MODE_LINEAR, 0);
  const std::vector<Four> inBox = access("tex.3d.v4.f32.f32 {%r21, %r22, %r23, %r24}, [%rd10, {%f1, %f2, %f3, %f4}];",
                                         textureOf(resourceOf(box), linear), {at(2, 1.5f, 3), at(0.5f, 0.5f, 5.5f)});
  EXPECT_FLOAT_EQ(inBox[0].real(0), 1.5f + 4 + 2.5f * 16);
  EXPECT_FLOAT_EQ(inBox[1].real(0), 80);
  const CUarray faces = arrayOf(described(4, 4, 6, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_CUBEMAP), elements);
  const CUDA_TEXTURE_DESC normalized =
      sampling(CU_TR_ADDRESS_MODE_CLAMP, CU_TR_FILTER_MODE_POINT, CU_TRSF_NORMALIZED_COORDINATES);
  const std::vector<Four> onFaces =
      access("tex.cube.v4.f32.f32 {%r21, %r22, %r23, %r24}, [%rd10, {%f1, %f2, %f3, %f4}];",
             textureOf(resourceOf(faces), normalized),
             {at(1, .1f, .1f), at(-1, .1f, .1f), at(.1f, 1, .1f), at(.1f, -1, .1f), at(.1f, .1f, 1), at(.1f, .1f, -1)});
  // s, t of (1, .1, .1) are below a half: column 1, row 1; and so on by the table of the programming guide.
  const float corners[] = {5, 16 + 6, 32 + 10, 48 + 6, 64 + 6, 80 + 5};
  for (int f = 0; f < 6; ++f) EXPECT_EQ(onFaces[f].real(0), corners[f]) << f;
}

TEST_F(TextureTest, SeamlessCubemapsGoOnBeyondTheEdge) {
  std::vector<float> elements(4 * 4 * 6);
  for (size_t i = 0; i < elements.size(); ++i) elements[i] = static_cast<float>(i / 16);
  const CUarray faces = arrayOf(described(4, 4, 6, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_CUBEMAP), elements);
  const char cube[] = "tex.cube.v4.f32.f32 {%r21, %r22, %r23, %r24}, [%rd10, {%f1, %f2, %f3, %f4}];";
  const unsigned flags = CU_TRSF_NORMALIZED_COORDINATES;
  const Coordinates edge = at(1, 0, 0.9999f);  // of +x, where +z begins
  const CUDA_TEXTURE_DESC apart = sampling(CU_TR_ADDRESS_MODE_CLAMP, CU_TR_FILTER_MODE_LINEAR, flags);
  EXPECT_EQ(access(cube, textureOf(resourceOf(faces), apart), {edge})[0].real(0), 0);
  const CUDA_TEXTURE_DESC joined =
      sampling(CU_TR_ADDRESS_MODE_CLAMP, CU_TR_FILTER_MODE_LINEAR, flags | CU_TRSF_SEAMLESS_CUBEMAP);
  EXPECT_NEAR(access(cube, textureOf(resourceOf(faces), joined), {edge})[0].real(0), 2, 0.02);
}

TEST_F(TextureTest, LinearMemoryIsZeroBeyondItsEnd) {
  const CUdeviceptr memory = allocate(4096);
  std::vector<float> elements(100);
  for (size_t i = 0; i < elements.size(); ++i) elements[i] = static_cast<float>(i) + 1;
  ASSERT_EQ(cuMemcpyHtoD(memory, elements.data(), 400), CUDA_SUCCESS);
  CUDA_RESOURCE_DESC resource{};
  resource.resType = CU_RESOURCE_TYPE_LINEAR;
  resource.res.linear = {memory, CU_AD_FORMAT_FLOAT, 1, 400};
  const CUtexObject texture = textureOf(resource, sampling(CU_TR_ADDRESS_MODE_CLAMP, CU_TR_FILTER_MODE_POINT, 0));
  const std::vector<Four> found = access("tex.1d.v4.f32.s32 {%r21, %r22, %r23, %r24}, [%rd10, {%r11}];", texture,
                                         {atWhole(0), atWhole(99), atWhole(100), atWhole(-1), atWhole(0x7fffffff)});
  EXPECT_EQ(found[0].real(0), 1);
  EXPECT_EQ(found[1].real(0), 100);
  for (int i : {2, 3, 4}) EXPECT_EQ(found[i].words[0], 0u);
}

TEST_F(TextureTest, LinearMemoryMayBeNothingOrLongerThanItsAllocation) {
  CUDA_RESOURCE_DESC resource{};
  resource.resType = CU_RESOURCE_TYPE_LINEAR;
  resource.res.linear = {allocate(4096), CU_AD_FORMAT_FLOAT, 1, 0};
  const CUDA_TEXTURE_DESC plain = sampling(CU_TR_ADDRESS_MODE_CLAMP, CU_TR_FILTER_MODE_POINT, 0);
  const char kWhole[] = "tex.1d.v4.f32.s32 {%r21, %r22, %r23, %r24}, [%rd10, {%r11}];";
  EXPECT_EQ(access(kWhole, textureOf(resource, plain), {atWhole(0)})[0].words[0], 0u);
  CUDA_RESOURCE_DESC plane{};
  plane.resType = CU_RESOURCE_TYPE_PITCH2D;
  const size_t extents[][2] = {{0, 4}, {4, 0}};
  for (const CUaddress_mode mode : {CU_TR_ADDRESS_MODE_WRAP, CU_TR_ADDRESS_MODE_CLAMP, CU_TR_ADDRESS_MODE_MIRROR})
    for (const auto& [width, height] : extents)
      for (const unsigned flags : {0u, unsigned{CU_TRSF_NORMALIZED_COORDINATES}}) {
        plane.res.pitch2D = {allocate(4096), CU_AD_FORMAT_FLOAT, 1, width, height, 64};
        const CUtexObject texture = textureOf(plane, sampling(mode, CU_TR_FILTER_MODE_LINEAR, flags));
        EXPECT_EQ(access(kPlane, texture, {at(0.5f, 0.5f)})[0].words[0], 0u);
      }
  resource.res.linear.sizeInBytes = size_t{1} << 29;
  expectFault(CUDA_ERROR_ILLEGAL_ADDRESS, kWhole, textureOf(resource, plain), atWhole(1 << 26));
}

TEST_F(TextureTest, PitchedMemoryAndOffsets) {
  const CUdeviceptr memory = allocate(8 * 64);
  std::vector<float> elements(8 * 16);
  for (size_t i = 0; i < elements.size(); ++i) elements[i] = static_cast<float>(i);
  ASSERT_EQ(cuMemcpyHtoD(memory, elements.data(), 8 * 64), CUDA_SUCCESS);
  CUDA_RESOURCE_DESC resource{};
  resource.resType = CU_RESOURCE_TYPE_PITCH2D;
  resource.res.pitch2D = {memory, CU_AD_FORMAT_FLOAT, 1, 10, 8, 64};
  const CUtexObject texture = textureOf(resource, sampling(CU_TR_ADDRESS_MODE_CLAMP, CU_TR_FILTER_MODE_POINT, 0));
  EXPECT_EQ(access(kPlane, texture, {at(9.5f, 7.5f)})[0].real(0), 7 * 16 + 9);
  EXPECT_EQ(access(kPlane, texture, {at(20, 7.5f)})[0].real(0), 7 * 16 + 9);
  EXPECT_EQ(access("tex.2d.v4.f32.f32 {%r21, %r22, %r23, %r24}, [%rd10, {%f1, %f2}], {%r13, %r14};", texture,
                   {{{std::bit_cast<uint32_t>(4.5f), std::bit_cast<uint32_t>(4.5f), static_cast<uint32_t>(-2), 1}}})[0]
                .real(0),
            5 * 16 + 2);
}

// As an H200 answers: there are no depths and one sample.
TEST_F(TextureTest, ComparisonsChangeNothingAndThereIsOneSample) {
  const std::vector<float> elements = image();
  const CUarray array = arrayOf(described(kWidth, kHeight, 0, CU_AD_FORMAT_FLOAT, 1), elements);
  const CUtexObject texture =
      textureOf(resourceOf(array), sampling(CU_TR_ADDRESS_MODE_CLAMP, CU_TR_FILTER_MODE_POINT, 0));
  const std::vector<Coordinates> points = {at(3.5f, 2.5f), at(8.25f, 0.5f)};
  const std::vector<Four> plain = access(kPlane, texture, points);
  for (const char* compared : {"tex.2d.v4.f32.f32 {%r21, %r22, %r23, %r24}, [%rd10, {%f1, %f2}], 0f3F000000;",
                               "tex.2d.v4.f32.f32 {%r21, %r22, %r23, %r24}, [%rd10, {%f1, %f2}], {0, 0}, %f1;",
                               "tex.level.2d.v4.f32.f32 {%r21, %r22, %r23, %r24}, [%rd10, {%f1, %f2}], %f1, %f2;"}) {
    const std::vector<Four> found = access(compared, texture, points);
    for (size_t i = 0; i < points.size(); ++i) EXPECT_EQ(found[i].words[0], plain[i].words[0]) << compared;
  }
  EXPECT_EQ(plain[0].real(0), elements[2 * kWidth + 3]);
  // Coordinates are in %r11 on: here the sample, x and y.
  const char sampled[] = "tex.2dms.v4.f32.s32 {%r21, %r22, %r23, %r24}, [%rd10, {%r11, %r12, %r13, %r13}];";
  const std::vector<Four> found = access(
      sampled, texture, {atWhole(0, 3, 2), atWhole(1, 3, 2), atWhole(0, 12, 6), atWhole(0, 13, 6), atWhole(-1, 0, 0)});
  EXPECT_EQ(found[0].real(0), elements[2 * kWidth + 3]);
  EXPECT_EQ(found[1].real(0), 0);
  EXPECT_EQ(found[2].real(0), elements[6 * kWidth + 12]);
  EXPECT_EQ(found[3].real(0), 0);
  EXPECT_EQ(found[4].real(0), 0);
}

// The line of samples along x sees no edge between rows; without it the second level is read.
TEST_F(TextureTest, GradientsReadLinesOfSamples) {
  std::vector<float> stripes(64 * 64);
  for (size_t i = 0; i < stripes.size(); ++i) stripes[i] = static_cast<float>(i / 64 % 2 ? 1 : i % 64);
  const CUarray array = arrayOf(described(64, 64, 0, CU_AD_FORMAT_FLOAT, 1), stripes);
  CUDA_TEXTURE_DESC d = sampling(CU_TR_ADDRESS_MODE_CLAMP, CU_TR_FILTER_MODE_POINT, CU_TRSF_NORMALIZED_COORDINATES);
  const char graded[] =
      "tex.grad.2d.v4.f32.f32 {%r21, %r22, %r23, %r24}, [%rd10, {%f1, %f2}], {0f3D800000, 0f00000000}, {0f00000000, "
      "0f3C800000};";  // four elements by one
  const std::vector<Coordinates> middle = {at(20.25f / 64, 10.5f / 64)};
  EXPECT_EQ(access(graded, textureOf(resourceOf(array), d), middle)[0].real(0), 20);
  d.maxAnisotropy = 4;  // at 18.75, 19.75, 20.75 and 21.75
  EXPECT_EQ(access(graded, textureOf(resourceOf(array), d), middle)[0].real(0), (18 + 19 + 20 + 21) / 4.0f);
}

TEST_F(TextureTest, GathersGiveFourNeighbours) {
  std::vector<float> elements(8 * 8 * 2);
  for (size_t i = 0; i < elements.size(); ++i) elements[i] = static_cast<float>(i);
  struct Pair {
    float a, b;
  };
  std::vector<Pair> pairs(64);
  std::memcpy(pairs.data(), elements.data(), sizeof(Pair) * 64);
  const CUarray array = arrayOf(described(8, 8, 0, CU_AD_FORMAT_FLOAT, 2, CUDA_ARRAY3D_TEXTURE_GATHER), pairs);
  const CUtexObject texture =
      textureOf(resourceOf(array), sampling(CU_TR_ADDRESS_MODE_CLAMP, CU_TR_FILTER_MODE_POINT, 0));
  const Four found =
      access("tld4.g.2d.v4.f32.f32 {%r21, %r22, %r23, %r24}, [%rd10, {%f1, %f2}];", texture, {at(3.2f, 5.9f)})[0];
  const auto second = [&](int x, int y) { return pairs[y * 8 + x].b; };
  EXPECT_EQ(found.real(0), second(2, 6));
  EXPECT_EQ(found.real(1), second(3, 6));
  EXPECT_EQ(found.real(2), second(3, 5));
  EXPECT_EQ(found.real(3), second(2, 5));
}

TEST_F(TextureTest, BlocksAreDecoded) {
  // BC1: red and blue, and what lies between; BC4: a ramp.
  const std::vector<uint64_t> block = {0xe4e4e4e4'001ff800ull};
  CUDA_ARRAY3D_DESCRIPTOR d = described(4, 4, 0, CU_AD_FORMAT_BC1_UNORM, 4);
  CUarray array = nullptr;
  ASSERT_EQ(cuArray3DCreate(&array, &d), CUDA_SUCCESS);
  fill(array, described(1, 1, 0, CU_AD_FORMAT_BC1_UNORM, 4), block.data(), 8);
  const CUtexObject texture =
      textureOf(resourceOf(array), sampling(CU_TR_ADDRESS_MODE_CLAMP, CU_TR_FILTER_MODE_POINT, 0));
  const std::vector<Four> found = access(kPlane, texture, {at(0, 0), at(1, 0), at(2, 0), at(3, 3)});
  EXPECT_EQ(found[0].real(0), 1);
  EXPECT_EQ(found[0].real(2), 0);
  EXPECT_EQ(found[1].real(2), 1);
  EXPECT_NEAR(found[2].real(0), 2.0 / 3, 1e-6);
  EXPECT_NEAR(found[3].real(2), 2.0 / 3, 1e-6);
  EXPECT_EQ(found[3].real(3), 1);
}

TEST_F(TextureTest, TexturesDivergeLaneByLane) {
  const std::vector<float> elements = image();
  const CUarray array = arrayOf(described(kWidth, kHeight, 0, CU_AD_FORMAT_FLOAT, 1), elements);
  const CUtexObject texture =
      textureOf(resourceOf(array), sampling(CU_TR_ADDRESS_MODE_CLAMP, CU_TR_FILTER_MODE_POINT, 0));
  std::vector<Coordinates> points;
  for (int i = 0; i < 77; ++i) points.push_back(at(static_cast<float>(i % kWidth), static_cast<float>(i % kHeight)));
  const std::vector<Four> found = access(
      "and.b32 %r30, %r2, 1;\nsetp.eq.u32 %p1, %r30, 0;\nmov.u32 %r21, 77;\n"
      "@%p1 tex.2d.v4.f32.f32 {%r21, %r22, %r23, %r24}, [%rd10, {%f1, %f2}];",
      texture, points);
  for (int i = 0; i < 77; ++i) {
    if (i % 2)
      EXPECT_EQ(found[i].words[0], 77u);
    else
      EXPECT_EQ(found[i].real(0), elements[i % kHeight * kWidth + i % kWidth]);
  }
}

TEST_F(TextureTest, ReferencesAreReadByName) {
  const std::string text = textureModule("tex.2d.v4.f32.f32 {%r21, %r22, %r23, %r24}, [picture, {%f1, %f2}];",
                                         ".visible .global .texref picture;\n");
  const CUmodule loaded = load(text);
  CUtexref reference = nullptr, absent = nullptr;
  ASSERT_EQ(cuModuleGetTexRef(&reference, loaded, "picture"), CUDA_SUCCESS);
  EXPECT_EQ(cuModuleGetTexRef(&absent, loaded, "paint"), CUDA_ERROR_NOT_FOUND);
  CUdeviceptr pointer = 0;
  EXPECT_EQ(cuModuleGetGlobal(&pointer, nullptr, loaded, "picture"), CUDA_ERROR_INVALID_VALUE);
  const std::vector<float> elements = image();
  const CUarray array = arrayOf(described(kWidth, kHeight, 0, CU_AD_FORMAT_FLOAT, 1), elements);
  ASSERT_EQ(cuTexRefSetArray(reference, array, CU_TRSA_OVERRIDE_FORMAT), CUDA_SUCCESS);
  CUfunction kernel = nullptr;
  ASSERT_EQ(cuModuleGetFunction(&kernel, loaded, "kernel"), CUDA_SUCCESS);
  std::vector<Four> found;
  ASSERT_EQ(tryAccess(kernel, 0, {at(3, 4)}, found), CUDA_SUCCESS);
  EXPECT_EQ(found[0].real(0), elements[4 * kWidth + 3]);
  ASSERT_EQ(cuTexRefSetFlags(reference, CU_TRSF_NORMALIZED_COORDINATES), CUDA_SUCCESS);
  ASSERT_EQ(tryAccess(kernel, 0, {at(0.999f, 0.999f)}, found), CUDA_SUCCESS);
  EXPECT_EQ(found[0].real(0), elements.back());
  EXPECT_EQ(cuModuleUnload(loaded), CUDA_SUCCESS);
  EXPECT_EQ(cuTexRefSetFlags(reference, 0), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(TextureTest, SamplersOfTheirOwn) {
  const std::string text = textureModule("tex.2d.v4.f32.f32 {%r21, %r22, %r23, %r24}, [%rd10, smooth, {%f1, %f2}];",
                                         ".global .samplerref smooth = { addr_mode_0 = clamp_to_edge, addr_mode_1 = "
                                         "clamp_to_edge, filter_mode = linear };\n",
                                         "sm_75, texmode_independent");
  const std::vector<float> elements = image();
  const CUarray array = arrayOf(described(kWidth, kHeight, 0, CU_AD_FORMAT_FLOAT, 1), elements);
  const CUtexObject texture =
      textureOf(resourceOf(array), sampling(CU_TR_ADDRESS_MODE_BORDER, CU_TR_FILTER_MODE_POINT, 0));
  std::vector<Four> found;
  ASSERT_EQ(tryAccess(function(text), texture, {at(4.25f, 2.75f), at(-3, 0.5f)}, found), CUDA_SUCCESS);
  EXPECT_NEAR(found[0].real(0), linearModel(elements, 4.25, 2.75, CU_TR_ADDRESS_MODE_CLAMP), 1e-3);
  EXPECT_EQ(found[1].real(0), elements[0]);
}

TEST_F(TextureTest, LinesInLayersAndCubesInLayers) {
  std::vector<float> elements(4 * 4 * 12);
  for (size_t i = 0; i < elements.size(); ++i) elements[i] = static_cast<float>(i);
  const std::vector<float> lines(elements.begin(), elements.begin() + 32);
  const CUarray layers = arrayOf(described(8, 0, 4, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_LAYERED), lines);
  const CUDA_TEXTURE_DESC point = sampling(CU_TR_ADDRESS_MODE_CLAMP, CU_TR_FILTER_MODE_POINT, 0);
  EXPECT_EQ(access("tex.a1d.v4.f32.f32 {%r21, %r22, %r23, %r24}, [%rd10, {%r11, %f2}];",
                   textureOf(resourceOf(layers), point), {{{3, std::bit_cast<uint32_t>(5.5f), 0, 0}}})[0]
                .real(0),
            3 * 8 + 5);
  const CUarray cubes =
      arrayOf(described(4, 4, 12, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_CUBEMAP), elements);
  const CUDA_TEXTURE_DESC normalized =
      sampling(CU_TR_ADDRESS_MODE_CLAMP, CU_TR_FILTER_MODE_POINT, CU_TRSF_NORMALIZED_COORDINATES);
  const uint32_t one = std::bit_cast<uint32_t>(1.0f), little = std::bit_cast<uint32_t>(0.1f);
  EXPECT_EQ(access("tex.acube.v4.f32.f32 {%r21, %r22, %r23, %r24}, [%rd10, {%r11, %f2, %f3, %f4}];",
                   textureOf(resourceOf(cubes), normalized), {{{1, one, little, little}}})[0]
                .real(0),
            6 * 16 + 5);
}

TEST_F(TextureTest, ViewsShowOtherFormatsLevelsAndLayers) {
  const CUDA_ARRAY3D_DESCRIPTOR d = described(4, 4, 3, CU_AD_FORMAT_UNSIGNED_INT32, 1, CUDA_ARRAY3D_LAYERED);
  std::vector<uint32_t> elements(48);
  for (size_t i = 0; i < elements.size(); ++i) elements[i] = static_cast<uint32_t>(i) << 16 | 0x3f;
  const CUDA_RESOURCE_DESC resource = resourceOf(arrayOf(d, elements));
  const CUDA_TEXTURE_DESC whole = sampling(CU_TR_ADDRESS_MODE_CLAMP, CU_TR_FILTER_MODE_POINT, CU_TRSF_READ_AS_INTEGER);
  CUDA_RESOURCE_VIEW_DESC view{};
  view.format = CU_RES_VIEW_FORMAT_UINT_2X16;
  view.width = view.height = 4;
  view.depth = 3;
  view.firstLayer = 1, view.lastLayer = 2;
  CUtexObject texture = 0;
  ASSERT_EQ(cuTexObjectCreate(&texture, &resource, &whole, &view), CUDA_SUCCESS);
  const std::vector<Four> found = access("tex.a2d.v4.u32.f32 {%r21, %r22, %r23, %r24}, [%rd10, {%r11, %f2, %f3, %f4}];",
                                         texture, {{{0, std::bit_cast<uint32_t>(2.5f), 0, 0}}, {{7, 0, 0, 0}}});
  EXPECT_EQ(found[0].words[0], 0x3fu);
  EXPECT_EQ(found[0].words[1], 16u + 2);
  EXPECT_EQ(found[1].words[1], 32u);
}

TEST_F(TextureTest, SparseArraysAreZeroWhereNothingIsMapped) {
  CUDA_ARRAY3D_DESCRIPTOR d = described(512, 512, 0, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_SPARSE);
  CUarray array = nullptr;
  ASSERT_EQ(cuArray3DCreate(&array, &d), CUDA_SUCCESS);
  const CUtexObject texture =
      textureOf(resourceOf(array), sampling(CU_TR_ADDRESS_MODE_CLAMP, CU_TR_FILTER_MODE_LINEAR, 0));
  EXPECT_EQ(access(kPlane, texture, {at(100, 300)})[0].real(0), 0);
  const CUsurfObject surface = surfaceOf(array);
  access("sust.b.2d.b32.trap [%rd10, {%r11, %r12}], %r13;", surface, {atWhole(8, 300, 5)});
  EXPECT_EQ(access("suld.b.2d.b32.trap %r21, [%rd10, {%r11, %r12}];", surface, {atWhole(8, 300)})[0].words[0], 0u);
}

TEST_F(TextureTest, HandlesGoThroughCallsAndLoops) {
  const std::string text = module(
      ".func (.param .b32 out) read(.param .b64 handle, .param .f32 where)\n{\n.reg .b64 %h;\n.reg .f32 %w;\n"
      ".reg .f32 %v<4>;\nld.param.b64 %h, [handle];\nld.param.f32 %w, [where];\n"
      "tex.1d.v4.f32.f32 {%v0, %v1, %v2, %v3}, [%h, {%w}];\nst.param.f32 [out], %v0;\nret;\n}\n" +
      entry("kernel", {".u64", ".u64"},
            std::string(kIndices) +
                "ld.param.u64 %rd10, [p1];\nmov.f32 %f1, 0f00000000;\nmov.u32 %r6, 0;\ncvt.rn.f32.u32 %f2, %r2;\n"
                "LOOP:\n{\n.param .b64 a;\n.param .f32 b;\n.param .b32 c;\nst.param.b64 [a], %rd10;\n"
                "st.param.f32 [b], %f2;\ncall.uni (c), read, (a, b);\nld.param.f32 %f3, [c];\n}\n"
                "add.f32 %f1, %f1, %f3;\nadd.f32 %f2, %f2, 0f3F800000;\nadd.u32 %r6, %r6, 1;\n"
                "setp.le.u32 %p1, %r6, %r2;\n@%p1 bra LOOP;\nmov.b32 %r5, %f1;\n" +
                kStore));
  std::vector<float> elements(64);
  for (size_t i = 0; i < elements.size(); ++i) elements[i] = static_cast<float>(i);
  const CUtexObject texture = textureOf(resourceOf(arrayOf(described(64, 0, 0, CU_AD_FORMAT_FLOAT, 1), elements)),
                                        sampling(CU_TR_ADDRESS_MODE_CLAMP, CU_TR_FILTER_MODE_POINT, 0));
  const CUdeviceptr out = allocate(20 * 4);
  ASSERT_EQ(run(function(text), 1, 20, out, texture), CUDA_SUCCESS);
  const std::vector<uint32_t> sums = read(out, 20);
  for (uint32_t t = 0; t < 20; ++t) {  // t + (t + 1) + ... + 2 t
    float sum = 0;
    for (uint32_t i = t; i <= 2 * t; ++i) sum += static_cast<float>(i);
    EXPECT_EQ(std::bit_cast<float>(sums[t]), sum) << t;
  }
}

TEST_F(TextureTest, MadeUpHandlesAreFaultsOfTheContext) {
  for (const unsigned long long handle : {12345ull, 0x10ull, ~0ull, 0x1234567890ull})
    expectFault(CUDA_ERROR_ILLEGAL_ADDRESS, kPlane, handle, at(0, 0));
}

TEST_F(TextureTest, TextureZeroReadsZeros) {
  const Four zeros = access(kPlane, 0, {at(0, 0)})[0];
  for (const uint32_t word : zeros.words) EXPECT_EQ(word, 0u);
}

// A GPU reads what the handle named before; here it is a fault, so that somebody notices.
TEST_F(TextureTest, HandlesOfDestroyedTexturesAreFaultsToo) {
  const CUarray array = arrayOf(described(kWidth, kHeight, 0, CU_AD_FORMAT_FLOAT, 1), image());
  const CUtexObject texture =
      textureOf(resourceOf(array), sampling(CU_TR_ADDRESS_MODE_CLAMP, CU_TR_FILTER_MODE_POINT, 0));
  ASSERT_EQ(cuTexObjectDestroy(texture), CUDA_SUCCESS);
  expectFault(CUDA_ERROR_ILLEGAL_ADDRESS, kPlane, texture, at(0, 0));
}

TEST_F(TextureTest, KernelsLaunchedBeforeStillReadDestroyedTextures) {
  const std::vector<float> elements = image();
  const CUarray array = arrayOf(described(kWidth, kHeight, 0, CU_AD_FORMAT_FLOAT, 1), elements);
  const CUtexObject texture =
      textureOf(resourceOf(array), sampling(CU_TR_ADDRESS_MODE_CLAMP, CU_TR_FILTER_MODE_POINT, 0));
  const CUfunction kernel = function(textureModule(kPlane));
  const Coordinates where = at(3.5f, 2.5f);
  CUdeviceptr in = allocate(sizeof where), out = allocate(sizeof(Four));
  ASSERT_EQ(cuMemcpyHtoD(in, &where, sizeof where), CUDA_SUCCESS);
  CUstream stream = nullptr;
  ASSERT_EQ(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  std::atomic<bool> go{false};
  const auto wait = [](void* raw) {
    while (!static_cast<std::atomic<bool>*>(raw)->load()) std::this_thread::yield();
  };
  ASSERT_EQ(cuLaunchHostFunc(stream, wait, &go), CUDA_SUCCESS);
  unsigned long long handle = texture;
  void* parameters[] = {&out, &handle, &in};
  ASSERT_EQ(cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, stream, parameters, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(cuTexObjectDestroy(texture), CUDA_SUCCESS);
  for (int i = 0; i < 300; ++i)  // new ones do not take its place
    EXPECT_EQ(cuTexObjectDestroy(
                  textureOf(resourceOf(array), sampling(CU_TR_ADDRESS_MODE_CLAMP, CU_TR_FILTER_MODE_POINT, 0))),
              CUDA_SUCCESS);
  go = true;
  ASSERT_EQ(cuStreamSynchronize(stream), CUDA_SUCCESS);
  Four found{};
  ASSERT_EQ(cuMemcpyDtoH(&found, out, sizeof found), CUDA_SUCCESS);
  EXPECT_EQ(found.real(0), elements[2 * kWidth + 3]);
  EXPECT_EQ(cuStreamDestroy(stream), CUDA_SUCCESS);
}

}  // namespace
}  // namespace kernels
