// Reading by vectors against reading lane by lane: every format, kind and sampler, on every instruction set at hand.
#include "arrays/row_sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "arrays/sampler.h"

namespace vg::arrays {
namespace {

struct Format {
  int format;
  unsigned channels;
  bool asIntegers;
};
constexpr Format kFormats[] = {
    {CU_AD_FORMAT_FLOAT, 1, true},           {CU_AD_FORMAT_FLOAT, 2, true},
    {CU_AD_FORMAT_FLOAT, 4, true},           {CU_AD_FORMAT_UNSIGNED_INT8, 1, true},
    {CU_AD_FORMAT_UNSIGNED_INT8, 1, false},  {CU_AD_FORMAT_UNSIGNED_INT8, 4, false},
    {CU_AD_FORMAT_SIGNED_INT8, 2, true},     {CU_AD_FORMAT_SIGNED_INT8, 4, false},
    {CU_AD_FORMAT_UNSIGNED_INT16, 4, false}, {CU_AD_FORMAT_SIGNED_INT16, 1, false},
    {CU_AD_FORMAT_SIGNED_INT16, 2, true},    {CU_AD_FORMAT_UNSIGNED_INT32, 4, true},
    {CU_AD_FORMAT_SIGNED_INT32, 1, true},    {CU_AD_FORMAT_HALF, 1, true},
    {CU_AD_FORMAT_HALF, 2, false},           {CU_AD_FORMAT_HALF, 4, false},
};

// A texture in memory of its own, of random bytes (random numbers where they are floats) with pitches of their own.
class Image {
 public:
  Image(const Format& format, Kind kind, std::mt19937& random) {
    const size_t width = 1 + random() % 19,
                 height = kind == Kind::Line || kind == Kind::LineLayers ? 1 : 1 + random() % 9;
    const size_t slices = kind == Kind::Box || layered(kind) ? 1 + random() % 5 : 1;
    view.kind = kind;
    view.format = format.format;
    view.channels = format.channels;
    view.asIntegers = format.asIntegers;
    view.unit = unitOf(format.format, format.channels);
    Level level;
    level.extent = {width, height, kind == Kind::Box || layered(kind) ? slices : 0};
    level.rowBytes = width * view.unit.bytes;
    level.rowPitch = level.rowBytes + 16 * (random() % 3);
    level.rows = height;
    level.slices = slices;
    level.slicePitch = level.rowPitch * height + 16 * (random() % 2);
    level.offset = 32;
    view.levels = {level};
    if (layered(kind)) {
      view.firstLayer = slices > 1 ? 1 : 0;
      view.layers = slices - view.firstLayer;
    }
    bytes_.resize(level.offset + level.slicePitch * slices);
    for (std::byte& b : bytes_) b = static_cast<std::byte>(random());
    if (format.format == CU_AD_FORMAT_FLOAT)
      for (size_t k = 0; k + 4 <= bytes_.size(); k += 4) {
        float value = std::ldexp(static_cast<float>(static_cast<int>(random())), static_cast<int>(random() % 40) - 40);
        if (random() % 64 == 0) value = std::numeric_limits<float>::infinity();
        std::memcpy(&bytes_[k], &value, 4);
      }
    view.base = bytes_.data();
  }

  TextureView view;

 private:
  std::vector<std::byte> bytes_;
};

float coordinate(std::mt19937& random, bool normalized, size_t size) {
  switch (random() % 40) {
    case 0:
      return std::numeric_limits<float>::quiet_NaN();
    case 1:
      return -0.0f;
    case 2:
      return static_cast<float>(random() % 4);
    default:
      break;
  }
  const float share = static_cast<float>(random() % 5000) / 4096 - 0.1f;
  return normalized ? share : share * static_cast<float>(size);
}

void expectSame(const RowTexels& row, unsigned lane, const Texel& texel, const std::string& what) {
  for (int c = 0; c < 4; ++c) {
    const uint32_t got = row.words[c][lane], wanted = texel.words[c];
    const bool bothNan = std::isnan(std::bit_cast<float>(got)) && std::isnan(std::bit_cast<float>(wanted));
    EXPECT_TRUE(got == wanted || bothNan)
        << what << " lane " << lane << " channel " << c << ": " << std::hex << got << ", not " << wanted;
  }
}

size_t sizeAlong(const TextureView& view, int axis) {
  const Extent& extent = view.levels[0].extent;
  return std::max<size_t>(axis == 0 ? extent.width : axis == 1 ? extent.height : extent.depth, 1);
}

class RowSampler : public testing::TestWithParam<const arrays::RowSampler*> {
 protected:
  void SetUp() override {
    if (!GetParam()->supported()) GTEST_SKIP() << "this processor has no " << GetParam()->name;
  }
  std::mt19937 random{7};
};

constexpr Kind kKinds[] = {Kind::Line, Kind::Plane, Kind::Box, Kind::LineLayers, Kind::PlaneLayers};

TEST_P(RowSampler, SamplesAsLanesDo) {
  uint32_t rows = 0, declined = 0;
  for (int round = 0; round < 4000; ++round) {
    const Format& format = kFormats[random() % std::size(kFormats)];
    Image image(format, kKinds[random() % std::size(kKinds)], random);
    SamplerState& sampler = image.view.sampler;
    sampler.normalized = random() % 2;
    sampler.linear = random() % 2;
    for (Addressing& how : sampler.addressing)
      how = sampler.normalized ? static_cast<Addressing>(random() % 4)
            : random() % 2     ? Addressing::Clamp
                               : Addressing::Border;
    for (float& b : sampler.border) b = static_cast<float>(random() % 8) / 4;
    image.view.buffer = image.view.kind == Kind::Line && !sampler.normalized && random() % 2;
    const RowPlan plan = planOf(image.view);
    if (!plan.usable) {  // a line whose missing second axis has a border
      ASSERT_TRUE(image.view.kind == Kind::Line && sampler.linear && sampler.addressing[1] == Addressing::Border);
      continue;
    }
    RowPoints points;
    points.active = random() | 1;
    for (unsigned i = 0; i < kRowLanes; ++i) {
      if (!(points.active >> i & 1)) {  // anything: here, not a number and far away
        points.whole[0][i] = points.whole[1][i] = points.whole[2][i] = -1;
        points.layer[i] = UINT32_MAX;
        continue;
      }
      points.layer[i] = static_cast<uint32_t>(random() % 8) - 2;
      for (int axis = 0; axis < 3; ++axis)
        points.position[axis][i] = coordinate(random, sampler.normalized, sizeAlong(image.view, axis));
    }
    RowTexels texels;
    ++rows;
    if (!GetParam()->sample(plan, points, texels)) {
      ++declined;
      continue;
    }
    for (unsigned i = 0; i < kRowLanes; ++i) {
      if (!(points.active >> i & 1)) continue;
      SamplePoint point;
      point.layer = points.layer[i];
      for (int axis = 0; axis < plan.axes; ++axis) point.position[axis] = points.position[axis][i];
      expectSame(texels, i, sample(image.view, sampler, point), "format " + std::to_string(format.format));
    }
    if (HasFailure()) return;
  }
  EXPECT_LT(declined, rows / 4) << "it is there to be used";
}

TEST_P(RowSampler, FetchesAsLanesDo) {
  for (int round = 0; round < 2000; ++round) {
    Image image(kFormats[random() % std::size(kFormats)], kKinds[random() % std::size(kKinds)], random);
    const RowPlan plan = planOf(image.view);
    ASSERT_TRUE(plan.usable);
    RowPoints points;
    points.active = random() | 1;
    for (unsigned i = 0; i < kRowLanes; ++i) {
      points.layer[i] = static_cast<uint32_t>(random() % 8) - 2;
      for (int axis = 0; axis < 3; ++axis) {
        points.whole[axis][i] = static_cast<int>(random() % (sizeAlong(image.view, axis) + 4)) - 2;
        if (random() % 64 == 0) points.whole[axis][i] = random() % 2 ? INT32_MIN : INT32_MAX;
      }
    }
    RowTexels texels;
    GetParam()->fetch(plan, points, texels);
    for (unsigned i = 0; i < kRowLanes; ++i) {
      if (!(points.active >> i & 1)) continue;
      FetchPoint point;
      point.layer = points.layer[i];
      for (int axis = 0; axis < plan.axes; ++axis) point.position[axis] = points.whole[axis][i];
      expectSame(texels, i, fetch(image.view, image.view.sampler, point), "fetch");
    }
    if (HasFailure()) return;
  }
}

TEST_P(RowSampler, DeclinesWhatIsFarAway) {
  Image image(kFormats[0], Kind::Plane, random);
  for (const float far : {1e9f, -1e9f, std::numeric_limits<float>::infinity()}) {
    RowPoints points{};
    points.active = 1u << 9;
    points.position[0][9] = far;
    RowTexels texels;
    EXPECT_FALSE(GetParam()->sample(planOf(image.view), points, texels));
    points.active = 1u << 8;  // another lane's business
    EXPECT_TRUE(GetParam()->sample(planOf(image.view), points, texels));
  }
}

INSTANTIATE_TEST_SUITE_P(All, RowSampler, testing::ValuesIn(kAllRowSamplers),
                         [](const auto& parameter) { return std::string(parameter.param->name); });

TEST(RowPlan, LeavesOutWhatOnlyLanesKnow) {
  std::mt19937 random(3);
  const Image usual(kFormats[0], Kind::Plane, random);
  EXPECT_TRUE(planOf(usual.view).usable);
  const auto without = [&](auto change) {
    TextureView view = usual.view;
    change(view);
    return planOf(view).usable;
  };
  EXPECT_FALSE(without([](TextureView& v) { v.surface = true; }));
  EXPECT_FALSE(without([](TextureView& v) { v.srgb = true; }));
  EXPECT_FALSE(without([](TextureView& v) { v.base = nullptr; }));
  EXPECT_FALSE(without([](TextureView& v) { v.levels.push_back(v.levels[0]); }));
  EXPECT_FALSE(without([](TextureView& v) { v.levels[0].tileRowBytes = 256; }));
  EXPECT_FALSE(without([](TextureView& v) { v.levels[0].extent.width = 0; }));
  EXPECT_FALSE(without([](TextureView& v) { v.format = CU_AD_FORMAT_UNORM_INT8X1, v.unit = unitOf(v.format, 1); }));
  EXPECT_FALSE(without([](TextureView& v) { v.kind = Kind::Cube; }));
  EXPECT_FALSE(without([](TextureView& v) { v.buffer = v.sampler.normalized = true; }));
  EXPECT_FALSE(without([](TextureView& v) { v.levels[0].rowPitch = size_t{5} << 30; }));
}

}  // namespace
}  // namespace vg::arrays
