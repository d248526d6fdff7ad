// The largest extents of arrays and mipmapped arrays: device attributes, one row of the manual's tables a test.
#include <algorithm>
#include <string>

#include "array_objects.h"
#include "suite.h"

namespace {

#define MAXIMUM(name) CU_DEVICE_ATTRIBUTE_MAXIMUM_##name

constexpr int kAbsent = 0;  // the extent is 0; elsewhere an attribute
constexpr int kFaces = -6;  // exactly six
constexpr unsigned kSurface = CUDA_ARRAY3D_SURFACE_LDST, kLayered = CUDA_ARRAY3D_LAYERED,
                   kCubemap = CUDA_ARRAY3D_CUBEMAP;

struct LimitRow {
  const char* name;
  const char* rule;           // of cuArray3DCreate
  const char* mipmappedRule;  // of cuMipmappedArrayCreate
  unsigned flags;
  int width, height, depth;
  int mipmappedWidth = 0, mipmappedHeight = 0;  // where a mipmapped array has its own
};

constexpr LimitRow kRows[] = {
    {"Line", "ARR3DCREATE-029", "MIPCREATE-027", 0, MAXIMUM(TEXTURE1D_WIDTH), kAbsent, kAbsent,
     MAXIMUM(TEXTURE1D_MIPMAPPED_WIDTH)},
    {"LineSurface", "ARR3DCREATE-030", "MIPCREATE-028", kSurface, MAXIMUM(SURFACE1D_WIDTH), kAbsent, kAbsent,
     MAXIMUM(TEXTURE1D_MIPMAPPED_WIDTH)},
    {"Plane", "ARR3DCREATE-031", "MIPCREATE-029", 0, MAXIMUM(TEXTURE2D_WIDTH), MAXIMUM(TEXTURE2D_HEIGHT), kAbsent,
     MAXIMUM(TEXTURE2D_MIPMAPPED_WIDTH), MAXIMUM(TEXTURE2D_MIPMAPPED_HEIGHT)},
    {"PlaneSurface", "ARR3DCREATE-032", "MIPCREATE-030", kSurface, MAXIMUM(SURFACE2D_WIDTH), MAXIMUM(SURFACE2D_HEIGHT),
     kAbsent, MAXIMUM(TEXTURE2D_MIPMAPPED_WIDTH), MAXIMUM(TEXTURE2D_MIPMAPPED_HEIGHT)},
    {"VolumeSurface", "ARR3DCREATE-034", "MIPCREATE-032", kSurface, MAXIMUM(SURFACE3D_WIDTH), MAXIMUM(SURFACE3D_HEIGHT),
     MAXIMUM(SURFACE3D_DEPTH)},
    {"LayeredLine", "ARR3DCREATE-035", "MIPCREATE-033", kLayered, MAXIMUM(TEXTURE1D_LAYERED_WIDTH), kAbsent,
     MAXIMUM(TEXTURE1D_LAYERED_LAYERS)},
    {"LayeredLineSurface", "ARR3DCREATE-036", "MIPCREATE-034", kLayered | kSurface, MAXIMUM(SURFACE1D_LAYERED_WIDTH),
     kAbsent, MAXIMUM(SURFACE1D_LAYERED_LAYERS)},
    {"LayeredPlane", "ARR3DCREATE-037", "MIPCREATE-035", kLayered, MAXIMUM(TEXTURE2D_LAYERED_WIDTH),
     MAXIMUM(TEXTURE2D_LAYERED_HEIGHT), MAXIMUM(TEXTURE2D_LAYERED_LAYERS)},
    {"LayeredPlaneSurface", "ARR3DCREATE-038", "MIPCREATE-036", kLayered | kSurface, MAXIMUM(SURFACE2D_LAYERED_WIDTH),
     MAXIMUM(SURFACE2D_LAYERED_HEIGHT), MAXIMUM(SURFACE2D_LAYERED_LAYERS)},
    {"Cubemap", "ARR3DCREATE-039", "MIPCREATE-037", kCubemap, MAXIMUM(TEXTURECUBEMAP_WIDTH),
     MAXIMUM(TEXTURECUBEMAP_WIDTH), kFaces},
    {"CubemapSurface", "ARR3DCREATE-040", "MIPCREATE-038", kCubemap | kSurface, MAXIMUM(SURFACECUBEMAP_WIDTH),
     MAXIMUM(SURFACECUBEMAP_WIDTH), kFaces},
    {"LayeredCubemap", "ARR3DCREATE-041", "MIPCREATE-039", kCubemap | kLayered, MAXIMUM(TEXTURECUBEMAP_LAYERED_WIDTH),
     MAXIMUM(TEXTURECUBEMAP_LAYERED_WIDTH), MAXIMUM(TEXTURECUBEMAP_LAYERED_LAYERS)},
    {"LayeredCubemapSurface", "ARR3DCREATE-042", "MIPCREATE-040", kCubemap | kLayered | kSurface,
     MAXIMUM(SURFACECUBEMAP_LAYERED_WIDTH), MAXIMUM(SURFACECUBEMAP_LAYERED_WIDTH),
     MAXIMUM(SURFACECUBEMAP_LAYERED_LAYERS)},
};

class ArrayLimit : public Device, public testing::WithParamInterface<LimitRow> {
 protected:
  using Creation = CUresult (*)(const CUDA_ARRAY3D_DESCRIPTOR&);

  static CUDA_ARRAY3D_DESCRIPTOR extents(const LimitRow& row, size_t width, size_t height, size_t depth) {
    return arrayOf(width, height, depth, row.flags, CU_AD_FORMAT_UNSIGNED_INT8);
  }

  // The least extents of the row, one of them as given (0: none).
  static CUDA_ARRAY3D_DESCRIPTOR with(const LimitRow& row, size_t width, size_t height, size_t depth) {
    const bool cube = row.flags & kCubemap;
    const size_t w = width ? width : 1;
    const size_t h = row.height == kAbsent ? 0 : cube ? w : height ? height : 1;
    const size_t d = row.depth == kAbsent ? 0 : depth ? depth : cube ? 6 : 1;
    return extents(row, w, h, d);
  }

  void check(const LimitRow& row, int widthLimit, int heightLimit, Creation make) {
    const size_t step = row.flags & kCubemap ? 6 : 1;
    const size_t width = static_cast<size_t>(attribute(static_cast<CUdevice_attribute>(widthLimit)));
    EXPECT_OK(make(with(row, 1, 0, 0)));
    EXPECT_OK(make(with(row, width, 0, 0))) << "width " << width;
    EXPECT_INVALID_VALUE(make(with(row, width + 1, 0, 0))) << "width " << width + 1;
    if (heightLimit > 0 && !(row.flags & kCubemap)) {
      const size_t height = static_cast<size_t>(attribute(static_cast<CUdevice_attribute>(heightLimit)));
      EXPECT_OK(make(with(row, 0, height, 0))) << "height " << height;
      EXPECT_INVALID_VALUE(make(with(row, 0, height + 1, 0))) << "height " << height + 1;
    }
    if (row.depth > 0) {
      const size_t depth = static_cast<size_t>(attribute(static_cast<CUdevice_attribute>(row.depth)));
      EXPECT_OK(make(with(row, 0, 0, depth))) << "depth " << depth;
      EXPECT_INVALID_VALUE(make(with(row, 0, 0, depth + step))) << "depth " << depth + step;
    }
  }
};

std::string nameOf(const testing::TestParamInfo<LimitRow>& info) { return info.param.name; }

}  // namespace

TEST_P(ArrayLimit, HoldsToTheElementForArrays) {
  const LimitRow& row = GetParam();
  PROVES(row.rule, "ARR3DCREATE-025", "ARR3DCREATE-026");
  check(row, row.width, row.height, creation);
}

TEST_P(ArrayLimit, HoldsToTheElementForMipmappedArrays) {
  const LimitRow& row = GetParam();
  PROVES(row.mipmappedRule, "MIPCREATE-025", "MIPCREATE-026", "MIPCREATE-044");
  check(row, row.mipmappedWidth ? row.mipmappedWidth : row.width,
        row.mipmappedHeight ? row.mipmappedHeight : row.height,
        [](const CUDA_ARRAY3D_DESCRIPTOR& d) { return mipmappedCreation(d, 1); });
}

INSTANTIATE_TEST_SUITE_P(Of, ArrayLimit, testing::ValuesIn(kRows), nameOf);

using VolumeLimits = Device;

namespace {

// A 3D array has two triples of limits; it must keep to one of them.
void checkVolumes(CUresult (*make)(size_t, size_t, size_t)) {
  const auto limit = [](CUdevice_attribute which) { return static_cast<size_t>(Device::attribute(which)); };
  const size_t width = limit(MAXIMUM(TEXTURE3D_WIDTH)), height = limit(MAXIMUM(TEXTURE3D_HEIGHT));
  const size_t otherWidth = limit(MAXIMUM(TEXTURE3D_WIDTH_ALTERNATE));
  const size_t otherHeight = limit(MAXIMUM(TEXTURE3D_HEIGHT_ALTERNATE));
  const size_t depth = limit(MAXIMUM(TEXTURE3D_DEPTH)), otherDepth = limit(MAXIMUM(TEXTURE3D_DEPTH_ALTERNATE));
  EXPECT_OK(make(width, 1, 1));
  EXPECT_OK(make(1, height, 1));
  EXPECT_OK(make(1, 1, depth));
  EXPECT_INVALID_VALUE(make(std::max(width, otherWidth) + 1, 1, 1));
  EXPECT_INVALID_VALUE(make(1, std::max(height, otherHeight) + 1, 1));
  EXPECT_INVALID_VALUE(make(1, 1, std::max(depth, otherDepth) + 1));
  EXPECT_OK(make(otherWidth, 1, otherDepth));
  EXPECT_OK(make(1, otherHeight, otherDepth));
  // The first triple's extents with the second's, where each triple has one that the other has not.
  if (width > otherWidth && otherDepth > depth) {
    EXPECT_INVALID_VALUE(make(width, 1, otherDepth));
    EXPECT_INVALID_VALUE(make(otherWidth + 1, 1, otherDepth));
    EXPECT_INVALID_VALUE(make(1, otherHeight + 1, otherDepth));
  }
}

}  // namespace

TEST_F(VolumeLimits, HaveAnAlternative) {
  PROVES("ARR3DCREATE-033", "ARR3DCREATE-025");
  checkVolumes([](size_t w, size_t h, size_t d) { return creation(arrayOf(w, h, d, 0, CU_AD_FORMAT_UNSIGNED_INT8)); });
}

TEST_F(VolumeLimits, HaveAnAlternativeForMipmappedArrays) {
  PROVES("MIPCREATE-031", "MIPCREATE-025");
  checkVolumes(
      [](size_t w, size_t h, size_t d) { return mipmappedCreation(arrayOf(w, h, d, 0, CU_AD_FORMAT_UNSIGNED_INT8)); });
}

TEST_F(VolumeLimits, GatherHasItsOwn) {
  PROVES("ARR3DCREATE-027", "ARR3DCREATE-028");
  const size_t width = static_cast<size_t>(attribute(MAXIMUM(TEXTURE2D_GATHER_WIDTH)));
  const size_t height = static_cast<size_t>(attribute(MAXIMUM(TEXTURE2D_GATHER_HEIGHT)));
  const auto make = [](size_t w, size_t h) {
    return creation(arrayOf(w, h, 0, CUDA_ARRAY3D_TEXTURE_GATHER, CU_AD_FORMAT_UNSIGNED_INT8));
  };
  EXPECT_OK(make(width, 1));
  EXPECT_OK(make(1, height));
  EXPECT_INVALID_VALUE(make(width + 1, 1));
  EXPECT_INVALID_VALUE(make(1, height + 1));
}

TEST_F(VolumeLimits, WideArraysOfTwoDimensionsReachBothLimitsAtOnce) {
  PROVES("ARR3DCREATE-031");
  const size_t width = static_cast<size_t>(attribute(MAXIMUM(TEXTURE2D_WIDTH)));
  Array array(arrayOf(width, 300, 0, 0, CU_AD_FORMAT_UNSIGNED_INT8));
  expectHolds(array, {64, 300, 1, width - 64});
}
