// Reading by vectors against reading lane by lane: every format, kind and sampler, on every instruction set at hand.
#include "arrays/reading/row_sampler.h"
#include "arrays/half_float.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "arrays/reading/sampler.h"

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
  Image(const Format& format, Kind kind, std::mt19937& random, unsigned levels = 1) {
    const size_t width = 1 + random() % 19, height = isCube(kind) ? width
                                                     : kind == Kind::Line || kind == Kind::LineLayers
                                                         ? 1
                                                         : 1 + random() % 9;
    const size_t faces = isCube(kind) ? 6 : 1;
    const size_t slices = (kind == Kind::Box || layered(kind) ? 1 + random() % 5 : 1) * faces;
    view.kind = kind;
    view.format = format.format;
    view.channels = format.channels;
    view.asIntegers = format.asIntegers;
    view.unit = unitOf(format.format, format.channels);
    view.whole = levels > 1;
    size_t bytes = 32;
    for (unsigned n = 0; n < levels; ++n) {
      const auto part = [&](size_t extent) { return std::max<size_t>(extent >> n, 1); };
      Level level;
      level.slices = kind == Kind::Box ? part(slices) : slices;
      level.extent = {part(width), part(height), slices > 1 || kind == Kind::Box ? level.slices : 0};
      level.rowBytes = part(width) * view.unit.bytes;
      level.rowPitch = level.rowBytes + 16 * (random() % 3);
      level.rows = part(height);
      level.slicePitch = level.rowPitch * part(height) + 16 * (random() % 2);
      level.offset = bytes;
      bytes += level.slicePitch * level.slices;
      view.levels.push_back(level);
    }
    if (layered(kind)) {
      view.firstLayer = slices > faces ? faces : 0;
      view.layers = slices - view.firstLayer;
    }
    bytes_.resize((bytes + 3) / 4 * 4);  // words are read where elements are narrow
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

// Of halves the NaN is the same one, too.
void expectSame(const RowTexels& row, unsigned lane, const Texel& texel, const std::string& what, bool halves = false) {
  for (int c = 0; c < 4; ++c) {
    const uint32_t got = row.words[c][lane], wanted = texel.words[c];
    const bool bothNan = std::isnan(std::bit_cast<float>(got)) && std::isnan(std::bit_cast<float>(wanted));
    EXPECT_TRUE(got == wanted || (bothNan && !halves))
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

constexpr Kind kKinds[] = {Kind::Line,        Kind::Plane, Kind::Box,       Kind::LineLayers,
                           Kind::PlaneLayers, Kind::Cube,  Kind::CubeLayers};

void chooseSampler(TextureView& view, std::mt19937& random) {
  SamplerState& sampler = view.sampler;
  sampler.normalized = random() % 2;
  sampler.linear = random() % 2;
  sampler.linearLevels = random() % 2;
  sampler.anisotropy = random() % 2 ? 1 : 4;
  sampler.blendsWidely = sampler.anisotropy == 1;
  sampler.bias = random() % 2 ? 0.3f : 0;
  sampler.minLevel = static_cast<float>(random() % 3) / 4;
  sampler.maxLevel = 2.5f;
  for (Addressing& how : sampler.addressing)
    how = sampler.normalized ? static_cast<Addressing>(random() % 4)
          : random() % 2     ? Addressing::Clamp
                             : Addressing::Border;
  for (float& b : sampler.border) b = static_cast<float>(random() % 8) / 4;
  view.seamless = random() % 2;
}

RowPoints pointsOn(const TextureView& view, std::mt19937& random) {
  RowPoints points{};
  points.active = static_cast<uint32_t>(random()) | 1;
  points.displaced = random() % 2;
  points.biased = random() % 2;
  for (unsigned i = 0; i < kRowLanes; ++i) {
    if (!(points.active >> i & 1)) {  // anything: here, not a number and far away
      points.whole[0][i] = points.whole[1][i] = points.whole[2][i] = -1;
      points.layer[i] = UINT32_MAX;
      points.wholeLevel[i] = random() % 2 ? -1 : INT32_MAX;
      continue;
    }
    points.layer[i] = static_cast<uint32_t>(random() % 8) - 2;
    points.level[i] = static_cast<float>(random() % 1200) / 256 - 0.5f;
    for (int axis = 0; axis < 3; ++axis) {
      points.position[axis][i] = isCube(view.kind) ? static_cast<float>(static_cast<int>(random() % 2001) - 1000) / 512
                                                   : coordinate(random, view.sampler.normalized, sizeAlong(view, axis));
      points.offset[axis][i] = static_cast<int>(random() % 3) - 1;
    }
  }
  return points;
}

SamplePoint laneOf(const RowPoints& points, unsigned i, const TextureView& view) {
  SamplePoint point;
  point.cube = isCube(view.kind);
  point.layer = points.layer[i];
  point.level = points.level[i];
  point.biased = points.biased;
  for (int axis = 0; axis < (point.cube ? 3 : axesOf(view.kind)); ++axis) {
    point.position[axis] = points.position[axis][i];
    if (points.displaced) point.offset[axis] = points.offset[axis][i];
  }
  return point;
}

// Counts the lanes that were left.
struct Answered {
  int lanes = 0, left = 0;
  void add(const RowPoints& points, uint32_t done) {
    EXPECT_EQ(done & ~points.active, 0u);
    lanes += std::popcount(points.active);
    left += std::popcount(points.active & ~done);
  }
};

TEST_P(RowSampler, SamplesAsLanesDo) {
  Answered answered;
  for (int round = 0; round < 6000; ++round) {
    const Format& format = kFormats[random() % std::size(kFormats)];
    Image image(format, kKinds[random() % std::size(kKinds)], random, 1 + random() % 2 * 3);
    chooseSampler(image.view, random);
    const SamplerState& sampler = image.view.sampler;
    image.view.buffer = image.view.kind == Kind::Line && !sampler.normalized && !image.view.whole && random() % 2;
    const RowPlan plan = planOf(image.view);
    if (!plan.usable) {  // a line whose missing second axis has a border
      ASSERT_TRUE(image.view.kind == Kind::Line && sampler.linear && sampler.addressing[1] == Addressing::Border);
      continue;
    }
    const RowPoints points = pointsOn(image.view, random);
    RowTexels texels;
    const uint32_t done = GetParam()->sample(plan, points, texels);
    answered.add(points, done);
    for (unsigned i = 0; i < kRowLanes; ++i)
      if (done >> i & 1)
        expectSame(
            texels, i, sample(image.view, sampler, laneOf(points, i, image.view)),
            "format " + std::to_string(format.format) + " kind " + std::to_string(static_cast<int>(image.view.kind)),
            format.format == CU_AD_FORMAT_HALF);
    if (HasFailure()) return;
  }
  EXPECT_LT(answered.left, answered.lanes / 8) << "it is there to be used";
}

TEST_P(RowSampler, GathersAsLanesDo) {
  Answered answered;
  for (int round = 0; round < 1000; ++round) {
    constexpr Kind kPlanes[] = {Kind::Plane, Kind::PlaneLayers, Kind::Cube, Kind::CubeLayers};
    Image image(kFormats[random() % std::size(kFormats)], kPlanes[random() % std::size(kPlanes)], random);
    chooseSampler(image.view, random);
    const RowPlan plan = planOf(image.view);
    ASSERT_TRUE(plan.usable);
    const RowPoints points = pointsOn(image.view, random);
    const auto channel = static_cast<unsigned>(random() % 4);
    RowTexels texels;
    const uint32_t done = GetParam()->gather(plan, points, channel, texels);
    answered.add(points, done);
    for (unsigned i = 0; i < kRowLanes; ++i)
      if (done >> i & 1)
        expectSame(texels, i, gather(image.view, image.view.sampler, laneOf(points, i, image.view), channel), "gather");
    if (HasFailure()) return;
  }
  EXPECT_LT(answered.left, answered.lanes / 4) << "it is there to be used";
}

TEST_P(RowSampler, FetchesAsLanesDo) {
  for (int round = 0; round < 2000; ++round) {
    Image image(kFormats[random() % std::size(kFormats)], kKinds[random() % 5], random, 1 + random() % 2 * 3);
    const RowPlan plan = planOf(image.view);
    ASSERT_TRUE(plan.usable);
    RowPoints points = pointsOn(image.view, random);
    points.levelGiven = random() % 2;
    for (unsigned i = 0; i < kRowLanes; ++i) {
      points.wholeLevel[i] = static_cast<int>(random() % 6) - 1;
      points.layer[i] = static_cast<uint32_t>(random() % 8) - 2;
      for (int axis = 0; axis < 3; ++axis) {
        points.whole[axis][i] = static_cast<int>(random() % (sizeAlong(image.view, axis) + 4)) - 2;
        if (random() % 64 == 0) points.whole[axis][i] = random() % 2 ? INT32_MIN : INT32_MAX;
      }
    }
    RowTexels texels;
    ASSERT_EQ(GetParam()->fetch(plan, points, texels), points.active);
    for (unsigned i = 0; i < kRowLanes; ++i) {
      if (!(points.active >> i & 1)) continue;
      FetchPoint point;
      point.layer = points.layer[i];
      point.level = points.wholeLevel[i];
      point.levelGiven = points.levelGiven;
      for (int axis = 0; axis < plan.axes; ++axis)
        point.position[axis] = int64_t{points.whole[axis][i]} + (points.displaced ? points.offset[axis][i] : 0);
      expectSame(texels, i, fetch(image.view, image.view.sampler, point), "fetch");
    }
    if (HasFailure()) return;
  }
}

TEST_P(RowSampler, LeavesWhatIsFarAway) {
  Image image(kFormats[0], Kind::Plane, random);
  for (const float far : {1e9f, -1e9f, std::numeric_limits<float>::infinity()}) {
    RowPoints points{};
    points.active = 7u << 8;
    points.position[0][9] = far;
    RowTexels texels;
    EXPECT_EQ(GetParam()->sample(planOf(image.view), points, texels), 5u << 8);
  }
}

TEST_P(RowSampler, MakesHalvesAsLanesDo) {
  for (int round = 0; round < 5000; ++round) {
    RowTexels given, halves;
    for (auto& channel : given.words)
      for (uint32_t& word : channel) {
        word = static_cast<uint32_t>(random());
        if (round % 2) word = (word & 0x80001fff) | (0x30000000 + (word & 0x1fffe000) % 0x20000000);
      }
    halves = given;
    GetParam()->toHalves(halves);
    for (int c = 0; c < 4; ++c)
      for (unsigned i = 0; i < kRowLanes; ++i)
        ASSERT_EQ(halves.words[c][i], halfOfFloat(std::bit_cast<float>(given.words[c][i])))
            << std::hex << given.words[c][i];
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
  EXPECT_FALSE(without([](TextureView& v) { v.levels.resize(kMostRowLevels + 1, v.levels[0]); }));
  EXPECT_FALSE(without([](TextureView& v) { v.levels[0].tileRowBytes = 256; }));
  EXPECT_FALSE(without([](TextureView& v) { v.levels[0].extent.width = 0; }));
  EXPECT_FALSE(without([](TextureView& v) { v.format = CU_AD_FORMAT_UNORM_INT8X1, v.unit = unitOf(v.format, 1); }));
  EXPECT_FALSE(without([](TextureView& v) { v.buffer = v.sampler.normalized = true; }));
  EXPECT_FALSE(without([](TextureView& v) { v.levels[0].rowPitch = size_t{5} << 30; }));
}

}  // namespace
}  // namespace vg::arrays
