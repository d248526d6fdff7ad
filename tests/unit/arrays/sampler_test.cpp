// Sampling against a scalar model, and every format there and back.
#include "arrays/reading/sampler.h"
#include "arrays/half_float.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "arrays/reading/cubemap.h"
#include "arrays/reading/footprint.h"
#include "arrays/reading/surface.h"

namespace vg::arrays {
namespace {

// A texture of floats in memory of its own.
struct Image {
  Image(Kind kind, size_t width, size_t height, size_t slices)
      : elements(width * std::max<size_t>(height, 1) * slices) {
    Level level;
    level.extent = {width, height, kind == Kind::Line || kind == Kind::Plane ? 0 : slices};
    level.rowBytes = level.rowPitch = 4 * width;
    level.rows = std::max<size_t>(height, 1);
    level.slices = slices;
    level.slicePitch = level.rowPitch * level.rows;
    view.kind = kind;
    view.format = CU_AD_FORMAT_FLOAT;
    view.unit = unitOf(view.format, 1);
    view.base = reinterpret_cast<std::byte*>(elements.data());
    view.levels = {level};
    view.layers = layered(kind) ? slices : 1;
  }
  std::vector<float> elements;
  TextureView view;
};

float value(const Texel& texel) { return std::bit_cast<float>(texel.words[0]); }

TEST(Sampler, LinesMixByTheNearest256th) {
  Image line(Kind::Line, 16, 0, 1);
  std::mt19937 random(1);
  for (float& e : line.elements) e = static_cast<float>(random() % 4096);
  SamplerState state;
  state.linear = true;
  for (int round = 0; round < 5000; ++round) {
    SamplePoint point;
    point.position[0] = static_cast<float>(random() % 20000) / 1024 - 1;
    const double at = std::floor((double{point.position[0]} - 0.5) * 256 + 0.5) / 256;
    const int first = static_cast<int>(std::floor(at));
    const double share = at - first;
    const auto element = [&](int i) { return double{line.elements[static_cast<size_t>(std::clamp(i, 0, 15))]}; };
    EXPECT_NEAR(value(sample(line.view, state, point)), (1 - share) * element(first) + share * element(first + 1),
                1e-2);
  }
}

TEST(Sampler, BoxesMixEightElements) {
  Image box(Kind::Box, 5, 4, 3);
  std::mt19937 random(2);
  for (float& e : box.elements) e = static_cast<float>(random() % 256);
  SamplerState state;
  state.linear = true;
  for (Addressing& a : state.addressing) a = Addressing::Border;
  state.border[0] = 7;
  const auto element = [&](int x, int y, int z) -> double {
    if (x < 0 || y < 0 || z < 0 || x >= 5 || y >= 4 || z >= 3) return 7;
    return box.elements[static_cast<size_t>((z * 4 + y) * 5 + x)];
  };
  for (int round = 0; round < 5000; ++round) {
    SamplePoint point;
    double at[3], share[3];
    int first[3];
    for (int a = 0; a < 3; ++a) {
      point.position[a] = static_cast<float>(random() % 2048) / 256 - 1;
      at[a] = point.position[a] - 0.5;
      first[a] = static_cast<int>(std::floor(at[a]));
      share[a] = at[a] - first[a];
    }
    double model = 0;
    for (int corner = 0; corner < 8; ++corner) {
      double weight = 1;
      for (int a = 0; a < 3; ++a) weight *= corner >> a & 1 ? share[a] : 1 - share[a];
      model += weight * element(first[0] + (corner & 1), first[1] + (corner >> 1 & 1), first[2] + (corner >> 2));
    }
    EXPECT_NEAR(value(sample(box.view, state, point)), model, 4);  // weights are whole 256ths
  }
}

// What an H200 reads from boxes, where weights that are rounded in another order give something else.
TEST(Sampler, BoxesRoundTheirWeightsAsTheDevice) {
  Image box(Kind::Box, 8, 8, 6);
  for (size_t i = 0; i < box.elements.size(); ++i) box.elements[i] = static_cast<float>(i);
  SamplerState state;
  state.linear = true;
  SamplePoint point;
  point.position[0] = 2.3f, point.position[1] = 4.1f, point.position[2] = 3.7f;
  EXPECT_EQ(value(sample(box.view, state, point)), 60261 / 256.0f);
}

TEST(Sampler, WeightsAddUpToOne) {
  Image box(Kind::Box, 5, 4, 3);
  std::fill(box.elements.begin(), box.elements.end(), 3.0f);
  SamplerState state;
  state.linear = true;
  std::mt19937 random(5);
  for (int round = 0; round < 5000; ++round) {
    SamplePoint point;
    for (float& at : point.position) at = static_cast<float>(random() % 4096) / 1024;
    EXPECT_EQ(value(sample(box.view, state, point)), 3);
  }
}

TEST(Sampler, DiagonalGradientsAreShorterThanTheirEllipse) {
  Image plane(Kind::Plane, 16, 16, 1);
  SamplerState state;
  state.normalized = true;
  const float at[3] = {0.5f, 0.5f, 0};
  const auto steps = [&](const float(&dx)[3], const float(&dy)[3]) {
    return footprintOf(plane.view, state, at, dx, dy).level * 256;
  };
  EXPECT_EQ(steps({0.125f, 0, 0}, {0, 0.125f, 0}), 256);
  EXPECT_EQ(steps({0.25f, 0.125f, 0}, {0.125f, 0.25f, 0}), 632);
  EXPECT_EQ(steps({0.1f, 0.03f, 0}, {0.03f, 0.1f, 0}), 241);
}

TEST(Sampler, SumsRoundToTheNearestHalfOfAllAroundTies) {
  for (int n = 0; n < 3072; ++n) {  // the smallest halves and some that are not subnormal
    const float step = n < 2048 ? 0x1p-24f : 0x1p-23f;
    const float tie = (n < 2048 ? static_cast<float>(n) + 0.5f : static_cast<float>(n - 1024) + 0.5f) * step;
    for (const float x : {std::nextafter(tie, 0.0f), tie, std::nextafter(tie, 1.0f)}) {
      const auto nearest = static_cast<float>(std::round(static_cast<double>(x) / step) * step);
      EXPECT_EQ(roundedToHalf(x), nearest) << x;
      EXPECT_EQ(roundedToHalf(-x), -nearest) << -x;
    }
  }
}

TEST(Sampler, SumsKeepTheWidthOfTheirFormat) {
  EXPECT_EQ(stepsOf(CU_AD_FORMAT_UNSIGNED_INT8).kept, 65535);
  EXPECT_EQ(stepsOf(CU_AD_FORMAT_UNSIGNED_INT16).summed, 65535);
  EXPECT_EQ(stepsOf(CU_AD_FORMAT_SIGNED_INT8).kept, 32767);
  EXPECT_EQ(stepsOf(CU_AD_FORMAT_SIGNED_INT8).summed, 127);
  EXPECT_EQ(stepsOf(CU_AD_FORMAT_UNSIGNED_INT32).kept, 0);
  EXPECT_EQ(stepsOf(CU_AD_FORMAT_FLOAT).kept, 0);
  EXPECT_EQ(roundedToHalf(14131.859f), 14128);
  // Two words, of which a quarter of the second counts: a whole number of steps.
  const uint16_t words[] = {17226, 17229};
  TextureView view;
  view.format = CU_AD_FORMAT_UNSIGNED_INT16;
  view.unit = unitOf(view.format, 1);
  view.asIntegers = false;
  Level level;
  level.extent = {2, 0, 0};
  level.rowBytes = level.rowPitch = level.slicePitch = sizeof words;
  level.rows = level.slices = 1;
  view.levels = {level};
  view.base = const_cast<std::byte*>(reinterpret_cast<const std::byte*>(words));
  view.sampler.linear = true;
  SamplePoint point;
  point.position[0] = 0.75f;
  EXPECT_EQ(std::bit_cast<float>(sample(view, view.sampler, point).words[0]), 17227.0f / 65535);
}

struct Sum {
  CUarray_format format;
  unsigned flags;
  int64_t first, second;
  int share;
  uint32_t bits;
};
constexpr Sum kSums[] = {
#include "sums_h200.inc"
};

TEST(Sampler, SumsOfTwoElementsAreTheDevices) {
  for (const Sum& sum : kSums) {
    TextureView view;
    view.format = sum.format;
    view.unit = unitOf(view.format, 1);
    view.asIntegers = sum.flags & CU_TRSF_READ_AS_INTEGER;
    view.srgb = sum.flags & CU_TRSF_SRGB;
    std::byte elements[8];
    std::memcpy(elements, &sum.first, view.unit.bytes);
    std::memcpy(elements + view.unit.bytes, &sum.second, view.unit.bytes);
    Level level;
    level.extent = {2, 0, 0};
    level.rowBytes = level.rowPitch = level.slicePitch = 2 * view.unit.bytes;
    level.rows = level.slices = 1;
    view.levels = {level};
    view.base = elements;
    view.sampler.linear = true;
    SamplePoint point;
    point.position[0] = 0.5f + static_cast<float>(sum.share) / 256;
    EXPECT_EQ(sample(view, view.sampler, point).words[0], sum.bits)
        << "format " << sum.format << " flags " << sum.flags << ": " << sum.first << " and " << sum.second << " by "
        << sum.share;
  }
}

struct LevelMix {
  CUarray_format format;
  bool linear;
  float x, y, level;
  int64_t value;
};
constexpr LevelMix kLevelMixes[] = {
#include "level_mixes_h200.inc"
};

// Three levels of a square of 8 x 8, of noise between the numbers that the recording program took.
struct Levels {
  std::vector<std::byte> bytes;
  TextureView view;

  Levels(CUarray_format format, int64_t least, int64_t most) {
    view.kind = Kind::Plane;
    view.format = format;
    view.unit = unitOf(format, 1);
    view.asIntegers = view.whole = true;
    view.layers = 1;
    uint32_t state = 12345;
    for (size_t edge = 8; edge >= 2; edge /= 2) {
      Level level;
      level.extent = {edge, edge, 0};
      level.rowBytes = level.rowPitch = edge * view.unit.bytes;
      level.rows = edge, level.slices = 1;
      level.slicePitch = level.rowPitch * edge;
      level.offset = bytes.size();
      view.levels.push_back(level);
      for (size_t i = 0; i < edge * edge; ++i) {
        state = state * 1664525 + 1013904223;
        const int64_t value = least + (state >> 8) % static_cast<uint32_t>(most - least + 1);
        const auto* const from = reinterpret_cast<const std::byte*>(&value);
        bytes.insert(bytes.end(), from, from + view.unit.bytes);
      }
    }
    view.base = bytes.data();
    view.sampler.normalized = view.sampler.linearLevels = view.sampler.blendsWidely = true;
    view.sampler.maxLevel = 2;
  }
};
Levels levelsOf(CUarray_format format) {
  switch (format) {
    case CU_AD_FORMAT_UNSIGNED_INT8:
      return {format, 0, 255};
    case CU_AD_FORMAT_SIGNED_INT8:
      return {format, -128, 127};
    case CU_AD_FORMAT_UNSIGNED_INT16:
      return {format, 0, 65535};
    case CU_AD_FORMAT_SIGNED_INT16:
      return {format, -32768, 32767};
    case CU_AD_FORMAT_UNSIGNED_INT32:
      return {format, 0, 1 << 30};
    default:
      return {format, -(1 << 29), 1 << 29};
  }
}

TEST(Sampler, LevelsOfIntegersAreMixed) {
  for (const LevelMix& mix : kLevelMixes) {
    Levels levels = levelsOf(mix.format);
    levels.view.sampler.linear = mix.linear;
    SamplePoint point;
    point.position[0] = mix.x, point.position[1] = mix.y, point.level = mix.level;
    const uint32_t word = sample(levels.view, levels.view.sampler, point).words[0];
    EXPECT_EQ(word, static_cast<uint32_t>(mix.value))
        << "format " << mix.format << (mix.linear ? ", linear" : ", point");
  }
}

// Coordinates in 4096ths, which are exact near and far.
TEST(Sampler, WholePeriodsChangeNothing) {
  std::mt19937 random(3);
  for (const size_t width : {1, 3, 100, 5000, 16384}) {
    Image plane(Kind::Plane, width, 5, 1);
    for (float& e : plane.elements) e = static_cast<float>(random() % 4096);
    for (int round = 0; round < 4000; ++round) {
      SamplerState state;
      state.normalized = true, state.linear = random() % 2 != 0;
      SamplePoint near, far;
      for (int axis = 0; axis < 2; ++axis) {
        const bool mirror = random() % 2 != 0;
        const int periods = static_cast<int>(random() % 2048) - 1024;
        state.addressing[axis] = mirror ? Addressing::Mirror : Addressing::Wrap;
        near.position[axis] = static_cast<float>(random() % (mirror ? 8192 : 4096)) / 4096;
        far.position[axis] = near.position[axis] + static_cast<float>(mirror ? 2 * periods : periods);
      }
      EXPECT_EQ(value(sample(plane.view, state, far)), value(sample(plane.view, state, near)))
          << far.position[0] << ' ' << far.position[1] << ", width " << width;
      EXPECT_EQ(value(gather(plane.view, state, far, 0)), value(gather(plane.view, state, near, 0)));
    }
  }
}

TEST(Sampler, CoordinatesThatAreNoNumbersStayInside) {
  Image plane(Kind::Plane, 4, 4, 1);
  for (const float odd : {NAN, INFINITY, -INFINITY, 1e30f, -1e30f})
    for (const bool linear : {false, true})
      for (const bool normalized : {false, true})
        for (const Addressing mode : {Addressing::Wrap, Addressing::Clamp, Addressing::Mirror, Addressing::Border}) {
          SamplerState state;
          state.linear = linear, state.normalized = normalized;
          for (Addressing& a : state.addressing) a = mode;
          SamplePoint point;
          point.position[0] = point.position[1] = odd;
          point.level = odd;
          EXPECT_EQ(value(sample(plane.view, state, point)), 0) << odd;
          EXPECT_EQ(value(gather(plane.view, state, point, 0)), 0) << odd;
        }
}

TEST(Cubemap, DirectionsThatAreNoneStayInside) {
  Image cube(Kind::Cube, 4, 4, 6);
  for (const float odd : {0.0f, NAN, INFINITY, -INFINITY})
    for (const bool linear : {false, true})
      for (const float other : {0.0f, odd, 1e38f}) {
        SamplerState state;
        state.linear = linear;
        cube.view.seamless = linear;
        SamplePoint point;
        point.cube = true;
        point.position[0] = odd, point.position[1] = other, point.position[2] = -other;
        EXPECT_EQ(value(sample(cube.view, state, point)), 0);
      }
}

TEST(Cubemap, TheElementsOfAFaceAreWhereTheirDirectionsPoint) {
  for (const float s : {-0.9f, -0.3f, 0.4f, 0.8f})
    for (const float t : {-0.7f, 0.2f, 0.95f}) {
      const float directions[6][3] = {{1, -t, -s}, {-1, -t, s}, {s, 1, t}, {s, -1, -t}, {s, -t, 1}, {-s, -t, -1}};
      for (unsigned face = 0; face < 6; ++face) {
        const FacePoint point = faceOf(directions[face]);
        EXPECT_EQ(point.face, face);
        EXPECT_NEAR(point.s, (s + 1) / 2, 1e-6);
        EXPECT_NEAR(point.t, (t + 1) / 2, 1e-6);
      }
    }
}

TEST(Cubemap, CrossingAnEdgeLandsAtAnEdgeOfANeighbour) {
  constexpr int64_t kEdge = 8;
  for (unsigned face = 0; face < 6; ++face)
    for (int64_t along = 0; along < kEdge; ++along)
      for (const auto& [x, y] : {std::pair{int64_t{-1}, along}, {kEdge, along}, {along, int64_t{-1}}, {along, kEdge}}) {
        const FaceElement beyond = acrossEdge(face, x, y, kEdge);
        EXPECT_NE(beyond.face, face);
        EXPECT_TRUE(beyond.x == 0 || beyond.x == kEdge - 1 || beyond.y == 0 || beyond.y == kEdge - 1);
      }
}

TEST(Texel, HalvesAndBack) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float wide = floatOfHalf(static_cast<uint16_t>(bits));
    if (wide != wide) continue;
    EXPECT_EQ(halfOfFloat(wide), bits);
  }
  EXPECT_EQ(halfOfFloat(65519.9f), 0x7bff);
  EXPECT_EQ(halfOfFloat(65520.0f), 0x7c00);
  EXPECT_EQ(halfOfFloat(0x1p-25f), 0);
  EXPECT_EQ(halfOfFloat(0x1.8p-25f), 1);
  EXPECT_EQ(halfOfFloat(1 + 0x1p-11f), 0x3c00);
  EXPECT_EQ(halfOfFloat(1 + 0x1.8p-10f), 0x3c02);
}

TEST(Texel, EncodingIsUndoneByDecoding) {
  const int formats[] = {CU_AD_FORMAT_UNSIGNED_INT8,
                         CU_AD_FORMAT_SIGNED_INT8,
                         CU_AD_FORMAT_UNSIGNED_INT16,
                         CU_AD_FORMAT_SIGNED_INT16,
                         CU_AD_FORMAT_UNSIGNED_INT32,
                         CU_AD_FORMAT_SIGNED_INT32,
                         CU_AD_FORMAT_HALF,
                         CU_AD_FORMAT_FLOAT,
                         CU_AD_FORMAT_UNORM_INT8X4,
                         CU_AD_FORMAT_SNORM_INT16X4,
                         CU_AD_FORMAT_UNORM_INT_101010_2};
  std::mt19937 random(5);
  for (const int format : formats)
    for (int round = 0; round < 1000; ++round) {
      std::byte element[16], again[16];
      const Unit unit = unitOf(format, 4);
      ASSERT_NE(unit.bytes, 0u) << format;
      for (unsigned i = 0; i < unit.bytes; ++i) element[i] = static_cast<std::byte>(random() % 120);  // no NaN, no -128
      const Texel texel = decode(element, format, 4, true, false, 0, 0);
      encode(texel, again, format, 4);
      ASSERT_EQ(std::memcmp(element, again, unit.bytes), 0) << format;
    }
}

TEST(Texel, StoresSaturate) {
  std::byte bytes[4];
  encode({{300, static_cast<uint32_t>(-5), 7, 255}}, bytes, CU_AD_FORMAT_UNSIGNED_INT8, 4);
  EXPECT_EQ(static_cast<int>(bytes[0]), 255);
  EXPECT_EQ(static_cast<int>(bytes[2]), 7);
  encode({{300, static_cast<uint32_t>(-500), 7, 0}}, bytes, CU_AD_FORMAT_SIGNED_INT8, 4);
  EXPECT_EQ(static_cast<int8_t>(bytes[0]), 127);
  EXPECT_EQ(static_cast<int8_t>(bytes[1]), -128);
  const auto word = [](float f) { return std::bit_cast<uint32_t>(f); };
  encode({{word(2), word(-1), word(0.5f), word(NAN)}}, bytes, CU_AD_FORMAT_UNORM_INT8X4, 4);
  EXPECT_EQ(static_cast<int>(bytes[0]), 255);
  EXPECT_EQ(static_cast<int>(bytes[1]), 0);
  EXPECT_EQ(static_cast<int>(bytes[2]), 128);
  EXPECT_EQ(static_cast<int>(bytes[3]), 0);
}

TEST(Surface, EdgesTrapClampOrVanish) {
  Image plane(Kind::Plane, 4, 3, 1);
  plane.view.surface = true;
  const auto where = [&](int64_t x, int64_t y, Edge edge) { return locate(plane.view, {x, y, 0}, 4, edge); };
  using Is = SurfaceBytes::Is;
  EXPECT_EQ(where(12, 2, Edge::Trap).memory, plane.view.base + 2 * 16 + 12);
  EXPECT_EQ(where(16, 2, Edge::Trap).is, Is::Outside);
  EXPECT_EQ(where(0, -1, Edge::Zero).is, Is::Nothing);
  EXPECT_EQ(where(400, -7, Edge::Clamp).memory, plane.view.base + 12);
  EXPECT_EQ(where(2, 0, Edge::Clamp).is, Is::Misaligned);
}

}  // namespace
}  // namespace vg::arrays
