// Levels and lines of gradients against what an H200 answered.
#include "arrays/reading/footprint.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <vector>

#include "arrays/reading/sampler.h"

namespace vg::arrays {
namespace {

constexpr size_t kEdge = 4096;

struct LevelRow {
  unsigned samples;
  float a, b, c, d;
  int level;
};
constexpr LevelRow kLevels[] = {
#include "footprints_h200.inc"
};

TextureView planeOf(size_t edge, unsigned levels) {
  TextureView view;
  view.kind = Kind::Plane;
  view.format = CU_AD_FORMAT_FLOAT;
  view.unit = unitOf(view.format, 1);
  view.layers = 1;
  view.whole = levels > 1;
  size_t offset = 0;
  for (unsigned n = 0; n < levels; ++n) {
    const size_t size = std::max<size_t>(edge >> n, 1);
    Level level;
    level.extent = {size, size, 0};
    level.rowBytes = level.rowPitch = 4 * size;
    level.rows = size;
    level.slices = 1;
    level.slicePitch = level.rowPitch * size;
    level.offset = offset;
    offset += level.slicePitch;
    view.levels.push_back(level);
  }
  view.sampler.normalized = view.sampler.linear = true;
  view.sampler.maxLevel = 100;
  return view;
}

SamplerState allowing(SamplerState sampler, unsigned samples) {
  sampler.anisotropy = anisotropyOf(samples);
  sampler.blendsWidely = sampler.anisotropy == 1;
  return sampler;
}

// Beside the record: 256ths by which a level differs. Where the longest axis lies between the two gradients, its last
// bit is not always the device's.
TEST(Footprint, LevelsAreTheDevices) {
  const TextureView view = planeOf(kEdge, 13);
  std::map<unsigned, int> differing;
  for (const LevelRow& row : kLevels) {
    const SamplerState sampler = allowing(view.sampler, row.samples);
    const float at[3] = {0.5f, 0.5f, 0}, dx[3] = {row.a / kEdge, row.b / kEdge, 0},
                dy[3] = {row.c / kEdge, row.d / kEdge, 0};
    const int level = static_cast<int>(footprintOf(view, sampler, at, dx, dy).level * 256);
    const int ours = std::clamp(blended(level, blendingOf(sampler)), 0, 12 * 256);
    differing[row.samples] += ours != row.level;
    EXPECT_NEAR(ours, row.level, row.samples == 1 ? 2 : 8) << row.samples << " samples";
  }
  for (const auto& [samples, count] : differing) EXPECT_LE(count, 6) << "of 100 with " << samples << " samples";
}

struct BoxRow {
  float dx[3], dy[3];
  int level;
};
constexpr BoxRow kBoxes[] = {
#include "boxes_h200.inc"
};

TextureView boxOf(size_t edge, unsigned levels) {
  TextureView view = planeOf(edge, levels);
  view.kind = Kind::Box;
  for (Level& level : view.levels) level.extent.depth = level.extent.width;
  return view;
}

TEST(Footprint, LevelsOfBoxesAreTheDevices) {
  const TextureView view = boxOf(128, 8);
  const float at[3] = {0.5f, 0.5f, 0.5f};
  int differing = 0;
  for (const BoxRow& row : kBoxes) {
    const int level = static_cast<int>(footprintOf(view, allowing(view.sampler, 1), at, row.dx, row.dy).level * 256);
    const int ours = std::clamp(level, 0, 7 * 256);
    differing += ours != row.level;
    EXPECT_NEAR(ours, row.level, 2);
  }
  EXPECT_LE(differing, static_cast<int>(std::size(kBoxes)) / 33);
}

constexpr float kNone = std::numeric_limits<float>::quiet_NaN(), kEndless = std::numeric_limits<float>::infinity();
struct PlacedRow {
  float at[3], dx[3], dy[3];
  int level;
};
constexpr PlacedRow kOddBoxes[] = {
#include "odd_boxes_h200.inc"
};
constexpr PlacedRow kCubes[] = {
#include "cubes_h200.inc"
};

// One in fifty may be one 256th beside, as one in a hundred is.
template <size_t kCount>
void expectLevels(const TextureView& view, const PlacedRow (&rows)[kCount]) {
  const auto last = static_cast<int>(view.levels.size() - 1) * 256;
  int differing = 0;
  for (const PlacedRow& row : rows) {
    const int level =
        static_cast<int>(footprintOf(view, allowing(view.sampler, 1), row.at, row.dx, row.dy).level * 256);
    const int ours = std::clamp(level, 0, last);
    differing += ours != row.level;
    EXPECT_NEAR(ours, row.level, 2) << "row " << &row - rows;
  }
  EXPECT_LE(differing, static_cast<int>(kCount) / 50);
}

TEST(Footprint, BoxesOfOddChangesAreTheDevices) { expectLevels(boxOf(50, 6), kOddBoxes); }

// Within a face, over its edges, to the face behind.
TEST(Footprint, LevelsOfCubemapsAreTheDevices) {
  TextureView view = planeOf(50, 6);
  view.kind = Kind::Cube;
  expectLevels(view, kCubes);
}

// Where a coordinate is infinite, the change along its axis is; where it is no number, there is none. Where it is
// large, the change is that of the sum, rounded.
TEST(Footprint, BoxesHaveChangesOfTheirCoordinates) {
  const TextureView view = boxOf(128, 8);
  const float dx[3] = {4.0f / 128, 0, 0}, dy[3] = {0, 2.0f / 128, 0};
  const auto levelAt = [&](float x) { return footprintOf(view, view.sampler, {x, 0.5f, 0.5f}, dx, dy).level; };
  EXPECT_EQ(levelAt(0.5f), 2);
  EXPECT_EQ(levelAt(1e5f), 2);
  EXPECT_EQ(levelAt(1e6f), 1);
  EXPECT_GT(levelAt(3e38f), 7);
  EXPECT_GT(levelAt(-std::numeric_limits<float>::infinity()), 7);
  EXPECT_EQ(levelAt(std::numeric_limits<float>::quiet_NaN()), 1);
}

struct LineRow {
  unsigned samples;
  bool mixed;
  float x, y, a, b, c, d, answer;
};
constexpr LineRow kLines[] = {
#include "lines_h200.inc"
};

uint32_t scrambled(uint32_t x) {
  x = (x ^ x >> 16) * 0x7feb352du;
  x = (x ^ x >> 15) * 0x846ca68bu;
  return x ^ x >> 16;
}

// Noise from 0 to 255. With one sample all is exact. Lines of several lie where the device's lie to a few hundredths of
// an element, which of noise makes 1 on average.
TEST(Footprint, LinesAreReadAsByTheDevice) {
  constexpr size_t kSize = 128;
  TextureView view = planeOf(kSize, 8);
  std::vector<float> elements;
  for (uint32_t level = 0; level < 8; ++level)
    for (uint32_t y = 0; y < kSize >> level; ++y)
      for (uint32_t x = 0; x < kSize >> level; ++x)
        elements.push_back(
            static_cast<float>(scrambled(scrambled(scrambled(scrambled((level + 80) * 31) + x) + y)) & 255));
  view.base = reinterpret_cast<std::byte*>(elements.data());
  for (Addressing& how : view.sampler.addressing) how = Addressing::Wrap;
  struct Error {
    int rows = 0, exact = 0;
    double sum = 0, most = 0;
  };
  std::map<unsigned, Error> errors;
  for (const LineRow& row : kLines) {
    SamplerState sampler = allowing(view.sampler, row.samples);
    sampler.linearLevels = row.mixed;
    SamplePoint point;
    point.position[0] = row.x / kSize, point.position[1] = row.y / kSize;
    const Footprint footprint = footprintOf(view, sampler, point.position, {row.a / kSize, row.b / kSize, 0},
                                            {row.c / kSize, row.d / kSize, 0});
    point.level = footprint.level, point.ratio = footprint.ratio;
    std::copy_n(footprint.along, 2, point.along);
    const double error = std::fabs(std::bit_cast<float>(sample(view, sampler, point).words[0]) - row.answer);
    Error& all = errors[row.samples];
    ++all.rows, all.exact += error == 0, all.sum += error, all.most = std::max(all.most, error);
  }
  EXPECT_EQ(errors[0].exact, errors[0].rows);
  for (const auto& [samples, error] : errors) {
    EXPECT_LT(error.sum / error.rows, 1.1) << samples << " samples";
    EXPECT_LT(error.most, 9.5) << samples << " samples";
  }
}

}  // namespace
}  // namespace vg::arrays
