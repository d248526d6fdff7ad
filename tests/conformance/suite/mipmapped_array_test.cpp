// Mipmapped arrays: creation, kinds, levels, destruction.
#include "suite.h"  // first: it allows what the header calls deprecated

#include <algorithm>
#include <vector>

#include "array_objects.h"

using MipmappedTest = Device;

namespace {

constexpr unsigned kLayered = CUDA_ARRAY3D_LAYERED, kCubemap = CUDA_ARRAY3D_CUBEMAP;

// The extents of a level: halves of the last one's, rounded down and at least 1; layers stay.
CUDA_ARRAY3D_DESCRIPTOR levelOf(CUDA_ARRAY3D_DESCRIPTOR d, unsigned level) {
  const auto shrink = [level](size_t extent) { return extent ? std::max<size_t>(1, extent >> level) : 0; };
  d.Width = shrink(d.Width);
  d.Height = shrink(d.Height);
  if (!(d.Flags & (kLayered | kCubemap))) d.Depth = shrink(d.Depth);
  return d;
}

unsigned levelCount(CUmipmappedArray array) {
  CUarray level = nullptr;
  unsigned count = 0;
  while (count < 64 && cuMipmappedArrayGetLevel(&level, array, count) == CUDA_SUCCESS) ++count;
  return count;
}

}  // namespace

TEST_F(MipmappedTest, ExtentsAndFlagsMakeTheKind) {
  PROVES("MIPCREATE-001", "MIPCREATE-002", "MIPCREATE-003", "MIPCREATE-004", "MIPCREATE-005", "MIPCREATE-006",
         "MIPCREATE-007", "MIPCREATE-012", "MIPCREATE-020", "MIPLEVEL-001");
  for (const CUDA_ARRAY3D_DESCRIPTOR& d :
       {arrayOf(33), arrayOf(33, 17), arrayOf(33, 17, 5), arrayOf(33, 0, 5, kLayered), arrayOf(33, 17, 5, kLayered),
        arrayOf(16, 16, 6, kCubemap), arrayOf(16, 16, 12, kCubemap | kLayered)}) {
    MipmappedArray array(d, 3);
    ASSERT_NE(CUmipmappedArray{array}, nullptr);
    for (unsigned i = 0; i < 3; ++i) {
      const CUDA_ARRAY3D_DESCRIPTOR expected = levelOf(d, i);
      const CUarray level = array.level(i);
      EXPECT_EQ(describe(level), expected) << "level " << i;
      expectHolds(level,
                  {expected.Width * 4, std::max<size_t>(1, expected.Height), std::max<size_t>(1, expected.Depth)});
    }
  }
}

TEST_F(MipmappedTest, LevelsKeepTheirBytesApart) {
  PROVES("MIPCREATE-041", "MIPLEVEL-001");
  const CUDA_ARRAY3D_DESCRIPTOR d = arrayOf(65, 33, 17);
  MipmappedArray array(d, 7);
  std::vector<Box> boxes;
  for (unsigned i = 0; i < 7; ++i) {
    const CUDA_ARRAY3D_DESCRIPTOR level = levelOf(d, i);
    boxes.push_back({level.Width * 4, level.Height, level.Depth});
    EXPECT_OK(write(array.level(i), boxes[i], pattern(boxes[i].bytes(), i)));
  }
  for (unsigned i = 0; i < 7; ++i) EXPECT_EQ(read(array.level(i), boxes[i]), pattern(boxes[i].bytes(), i)) << i;
}

TEST_F(MipmappedTest, TheNumberOfLevelsIsClamped) {
  PROVES("MIPCREATE-041", "MIPCREATE-042", "MIPCREATE-043", "MIPLEVEL-002");
  const struct {
    CUDA_ARRAY3D_DESCRIPTOR d;
    unsigned asked, made;
  } cases[] = {{arrayOf(64, 64), 3, 3},     {arrayOf(64, 64), 100, 7},
               {arrayOf(64, 64), 7, 7},     {arrayOf(64, 64), 8, 7},
               {arrayOf(64, 64), 0, 1},     {arrayOf(1), 5, 1},
               {arrayOf(65, 33, 17), 9, 7}, {arrayOf(4, 4, 200), 20, 8},
               {arrayOf(16, 128), 20, 8},   {arrayOf(4, 4, 64, kLayered), 7, 3}};
  for (const auto& c : cases) {
    MipmappedArray array(c.d, c.asked);
    EXPECT_EQ(levelCount(array), c.made) << testing::PrintToString(c.d) << " asked " << c.asked;
    CUarray level = nullptr;
    EXPECT_INVALID_VALUE(cuMipmappedArrayGetLevel(&level, array, c.made));
    EXPECT_INVALID_VALUE(cuMipmappedArrayGetLevel(&level, array, c.made + 1));
  }
}

TEST_F(MipmappedTest, ALevelIsOneHandle) {
  PROVES("MIPLEVEL-001");
  MipmappedArray array(arrayOf(64, 64), 3);
  EXPECT_EQ(array.level(1), array.level(1));
  EXPECT_NE(array.level(0), array.level(1));
}

TEST_F(MipmappedTest, LayersAndFacesAreReachedByZ) {
  PROVES("MIPCREATE-010", "MIPCREATE-015", "MIPCREATE-020", "MIPCREATE-006");
  for (const CUDA_ARRAY3D_DESCRIPTOR& d :
       {arrayOf(16, 16, 6, kCubemap), arrayOf(16, 16, 12, kCubemap | kLayered), arrayOf(16, 16, 7, kLayered)}) {
    MipmappedArray array(d, 2);
    for (unsigned l = 0; l < 2; ++l) {
      const Box face{64u >> l, 16u >> l};
      for (size_t z = 0; z < d.Depth; ++z) {
        const unsigned seed = static_cast<unsigned>(z) * 10 + l;
        EXPECT_OK(write(array.level(l), {face.width, face.height, 1, 0, 0, z}, pattern(face.bytes(), seed)));
      }
    }
    for (unsigned l = 0; l < 2; ++l) {
      const Box face{64u >> l, 16u >> l};
      for (size_t z = 0; z < d.Depth; ++z) {
        const unsigned seed = static_cast<unsigned>(z) * 10 + l;
        EXPECT_EQ(read(array.level(l), {face.width, face.height, 1, 0, 0, z}), pattern(face.bytes(), seed)) << z;
      }
    }
  }
}

TEST_F(MipmappedTest, CubemapsAreSquareWithWholeSetsOfFaces) {
  PROVES("MIPCREATE-008", "MIPCREATE-009", "MIPCREATE-013", "MIPCREATE-014");
  EXPECT_INVALID_VALUE(mipmappedCreation(arrayOf(64, 65, 6, kCubemap)));
  EXPECT_INVALID_VALUE(mipmappedCreation(arrayOf(64, 64, 5, kCubemap)));
  EXPECT_INVALID_VALUE(mipmappedCreation(arrayOf(64, 64, 12, kCubemap)));
  EXPECT_INVALID_VALUE(mipmappedCreation(arrayOf(64, 65, 12, kCubemap | kLayered)));
  EXPECT_INVALID_VALUE(mipmappedCreation(arrayOf(64, 64, 7, kCubemap | kLayered)));
  EXPECT_OK(mipmappedCreation(arrayOf(64, 64, 18, kCubemap | kLayered)));
}

TEST_F(MipmappedTest, ChannelsAreOneTwoOrFour) {
  PROVES("MIPCREATE-018", "MIPCREATE-019");
  for (unsigned channels : {0u, 1u, 2u, 3u, 4u, 5u, 16u}) {
    const CUresult expected = channels == 1 || channels == 2 || channels == 4 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    EXPECT_EQ(mipmappedCreation(arrayOf(64, 64, 0, 0, CU_AD_FORMAT_FLOAT, channels), 3), expected) << channels;
  }
}

TEST_F(MipmappedTest, GatherIsForTwoDimensions) {
  PROVES("MIPCREATE-023", "MIPCREATE-024");
  MipmappedArray array(arrayOf(64, 64, 0, CUDA_ARRAY3D_TEXTURE_GATHER), 2);
  EXPECT_EQ(describe(array.level(0)).Flags, unsigned{CUDA_ARRAY3D_TEXTURE_GATHER});
  EXPECT_INVALID_VALUE(mipmappedCreation(arrayOf(64, 0, 0, CUDA_ARRAY3D_TEXTURE_GATHER)));
  EXPECT_INVALID_VALUE(mipmappedCreation(arrayOf(64, 64, 4, CUDA_ARRAY3D_TEXTURE_GATHER)));
}

TEST_F(MipmappedTest, BadArgumentsAreRefused) {
  PROVES("MIPCREATE-045", "MIPLEVEL-003", "MIPDESTROY-002");
  CUmipmappedArray array = nullptr;
  CUarray level = nullptr;
  const CUDA_ARRAY3D_DESCRIPTOR d = arrayOf(64, 64);
  EXPECT_INVALID_VALUE(cuMipmappedArrayCreate(nullptr, &d, 1));
  EXPECT_INVALID_VALUE(cuMipmappedArrayCreate(&array, nullptr, 1));
  EXPECT_INVALID_VALUE(mipmappedCreation(arrayOf(0)));
  EXPECT_INVALID_VALUE(mipmappedCreation(arrayOf(64, 0, 4)));
  EXPECT_INVALID_VALUE(mipmappedCreation(arrayOf(64, 64, 0, 1u << 12)));
  EXPECT_EQ(mipmappedCreation(arrayOf(16384, 16384, 16384, 0, CU_AD_FORMAT_FLOAT, 4), 1), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(cuMipmappedArrayGetLevel(&level, nullptr, 0), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuMipmappedArrayDestroy(nullptr), CUDA_ERROR_INVALID_HANDLE);
  MipmappedArray good(d, 2);
  EXPECT_INVALID_VALUE(cuMipmappedArrayGetLevel(nullptr, good, 0));
  ASSERT_OK(cuCtxSetCurrent(nullptr));
  EXPECT_EQ(mipmappedCreation(d), CUDA_ERROR_INVALID_CONTEXT);
  ASSERT_OK(cuCtxSetCurrent(context));
}

TEST_F(MipmappedTest, DestructionReturnsTheMemory) {
  PROVES("MIPDESTROY-001");
  size_t before = 0, after = 0, total = 0;
  EXPECT_OK(mipmappedCreation(arrayOf(4096, 4096), 5));
  ASSERT_OK(cuMemGetInfo(&before, &total));
  for (int i = 0; i < 64; ++i) {
    MipmappedArray array(arrayOf(4096, 4096), 5);
    EXPECT_OK(write(array.level(4), {16}, Bytes(16)));
  }
  ASSERT_OK(cuMemGetInfo(&after, &total));
  EXPECT_GE(after + (size_t{64} << 20), before);
}

// Surface references: a level is bound only when the array was made for it.
TEST_F(MipmappedTest, LevelsBindToSurfacesWithTheFlagOnly) {
  PROVES("MIPCREATE-021", "MIPCREATE-022", "ARR3DCREATE-021", "ARR3DCREATE-022");
  CUmodule module = nullptr;
  ASSERT_OK(cuModuleLoadData(&module,
                             ".version 6.5\n.target sm_50\n.address_size 64\n.visible .global .surfref surface;\n"
                             ".visible .entry nothing() { ret; }\n"));
  CUsurfref surface = nullptr;
  ASSERT_OK(cuModuleGetSurfRef(&surface, module, "surface"));
  {
    MipmappedArray with(arrayOf(64, 64, 0, CUDA_ARRAY3D_SURFACE_LDST), 2), without(arrayOf(64, 64), 2);
    EXPECT_OK(cuSurfRefSetArray(surface, with.level(1), 0));
    EXPECT_INVALID_VALUE(cuSurfRefSetArray(surface, without.level(1), 0));
    Array plainWith(arrayOf(64, 64, 0, CUDA_ARRAY3D_SURFACE_LDST)), plainWithout(arrayOf(64, 64));
    EXPECT_OK(cuSurfRefSetArray(surface, plainWith, 0));
    EXPECT_INVALID_VALUE(cuSurfRefSetArray(surface, plainWithout, 0));
  }
  EXPECT_OK(cuModuleUnload(module));
}
