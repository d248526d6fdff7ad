// Where the accesses of a warp go, at once and one by one.
#include "arrays/reading/surface.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace vg::arrays {
namespace {

// A surface of some kind in plain rows; a few bytes at the end of a row may be no whole access.
TextureView surface(Kind kind, std::vector<std::byte>& storage, std::mt19937& random) {
  TextureView view;
  view.surface = true;
  view.kind = kind;
  view.unit.bytes = 4;
  Level level;
  level.extent = {1 + random() % 9, axesOf(kind) > 1 ? 1 + random() % 5 : 0, 1 + random() % 4};
  level.rowBytes = level.extent.width * 4;
  level.rows = std::max<size_t>(level.extent.height, 1);
  level.slices = kind == Kind::Box || layered(kind) ? level.extent.depth : 1;
  level.rowPitch = level.rowBytes + 16 * (random() % 2);
  level.slicePitch = level.rowPitch * level.rows + 16 * (random() % 2);
  level.offset = 64;
  if (layered(kind)) {
    view.firstLayer = level.slices > 1 ? 1 : 0;
    view.layers = level.slices - view.firstLayer;
  }
  storage.resize(level.offset + level.slicePitch * level.slices);
  view.base = storage.data();
  view.levels = {level};
  return view;
}

TEST(SurfaceRows, AreWhereTheirLanesAre) {
  std::mt19937 random(3);
  uint32_t found = 0;
  for (int round = 0; round < 5000; ++round) {
    constexpr Kind kKinds[] = {Kind::Line, Kind::Plane, Kind::Box, Kind::LineLayers, Kind::PlaneLayers};
    const Kind kind = kKinds[random() % std::size(kKinds)];
    std::vector<std::byte> storage;
    const TextureView view = surface(kind, storage, random);
    const size_t bytes = size_t{1} << random() % 5;
    const auto edge = static_cast<Edge>(random() % 3);
    const int margin = round % 4 ? 0 : 2;  // most rows of trapping accesses lie inside
    const Level& level = view.levels[0];
    const auto near = [&](size_t size) {
      if (margin && random() % 64 == 0) return random() % 2 ? INT32_MIN : INT32_MAX / 16 * 16;
      return static_cast<int>(random() % (size + 2u * margin)) - margin;
    };
    SurfaceRow row;
    row.active = random() | 1;
    bool faults = false;
    SurfaceBytes each[kSurfaceLanes];
    for (unsigned lane = 0; lane < kSurfaceLanes; ++lane) {
      const size_t across = std::max<size_t>(level.rowBytes / bytes, 1);
      row.x[lane] = static_cast<int>(static_cast<unsigned>(near(across)) * bytes) + (margin && random() % 512 == 0);
      row.y[lane] = axesOf(kind) > 1 ? near(level.rows) : 0;
      row.z[lane] = kind == Kind::Box || layered(kind) ? near(layered(kind) ? view.layers : level.slices) : 0;
      each[lane] = locate(view, {row.x[lane], row.y[lane], row.z[lane]}, bytes, edge);
      const bool fault = each[lane].is == SurfaceBytes::Is::Outside || each[lane].is == SurfaceBytes::Is::Misaligned;
      faults |= fault && (row.active >> lane & 1);
    }
    SurfaceOffsets offsets;
    if (!locateRow(view, row, bytes, edge, offsets)) {
      EXPECT_TRUE(faults || level.rowBytes < bytes);
      continue;
    }
    ++found;
    EXPECT_FALSE(faults);
    for (unsigned lane = 0; lane < kSurfaceLanes; ++lane) {
      const bool inside = offsets.inside >> lane & 1, active = row.active >> lane & 1;
      ASSERT_EQ(inside, active && each[lane].is == SurfaceBytes::Is::Memory) << lane;
      if (!inside) continue;
      ASSERT_EQ(offsets.base + offsets.offset[lane], each[lane].memory) << lane;
    }
  }
  EXPECT_GT(found, 2000u);
}

}  // namespace
}  // namespace vg::arrays
