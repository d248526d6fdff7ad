// Sparse and deferred-mapped arrays: their properties and memory requirements; planes of multi-planar arrays.
#include <algorithm>
#include <cstddef>

#include "array_objects.h"
#include "suite.h"

using SparseArrayTest = Device;

namespace {

constexpr unsigned kSparse = CUDA_ARRAY3D_SPARSE, kDeferred = CUDA_ARRAY3D_DEFERRED_MAPPING,
                   kLayered = CUDA_ARRAY3D_LAYERED;

CUDA_ARRAY_SPARSE_PROPERTIES propertiesOf(CUarray array) {
  CUDA_ARRAY_SPARSE_PROPERTIES properties{};
  EXPECT_OK(cuArrayGetSparseProperties(&properties, array));
  return properties;
}

CUDA_ARRAY_SPARSE_PROPERTIES propertiesOf(CUmipmappedArray array) {
  CUDA_ARRAY_SPARSE_PROPERTIES properties{};
  EXPECT_OK(cuMipmappedArrayGetSparseProperties(&properties, array));
  return properties;
}

CUDA_ARRAY_MEMORY_REQUIREMENTS requirementsOf(CUarray array) {
  CUDA_ARRAY_MEMORY_REQUIREMENTS requirements{};
  EXPECT_OK(cuArrayGetMemoryRequirements(&requirements, array, Device::device));
  return requirements;
}

bool powerOfTwo(size_t n) { return n && (n & (n - 1)) == 0; }

// The first level of which an extent is below the tile's.
unsigned firstSmallLevel(const CUDA_ARRAY3D_DESCRIPTOR& d, const CUDA_ARRAY_SPARSE_PROPERTIES& p) {
  const auto extent = [](size_t whole, unsigned level) { return std::max<size_t>(1, whole >> level); };
  unsigned level = 0;
  while (extent(d.Width, level) >= p.tileExtent.width && extent(d.Height, level) >= p.tileExtent.height &&
         (d.Flags & kLayered || extent(d.Depth, level) >= p.tileExtent.depth))
    ++level;
  return level;
}

}  // namespace

TEST_F(SparseArrayTest, TilesHold64KiB) {
  PROVES("ARRSPARSE-001", "ARRSPARSE-006", "SPARSEPROP-001");
  const struct {
    CUarray_format format;
    unsigned channels, bytes, width, height;  // of a tile of a 2D array
  } formats[] = {{CU_AD_FORMAT_UNSIGNED_INT8, 1, 1, 256, 256},
                 {CU_AD_FORMAT_UNSIGNED_INT8, 2, 2, 256, 128},
                 {CU_AD_FORMAT_FLOAT, 1, 4, 128, 128},
                 {CU_AD_FORMAT_HALF, 4, 8, 128, 64},
                 {CU_AD_FORMAT_FLOAT, 4, 16, 64, 64}};
  for (const auto& f : formats) {
    Array array(arrayOf(1024, 1024, 0, kSparse, f.format, f.channels));
    const CUDA_ARRAY_SPARSE_PROPERTIES p = propertiesOf(array);
    EXPECT_EQ(p.tileExtent.width, f.width);
    EXPECT_EQ(p.tileExtent.height, f.height);
    EXPECT_EQ(p.tileExtent.depth, 1u);
    EXPECT_EQ(p.tileExtent.width * p.tileExtent.height * f.bytes, 65536u);
  }
}

TEST_F(SparseArrayTest, PropertiesOfAPlainArrayNameNoTail) {
  PROVES("ARRSPARSE-003", "ARRSPARSE-004", "ARRSPARSE-005", "SPARSEPROP-002");
  for (const CUDA_ARRAY3D_DESCRIPTOR& d :
       {arrayOf(1024, 1024, 0, kSparse), arrayOf(256, 256, 64, kSparse), arrayOf(1024, 1024, 4, kSparse | kLayered)}) {
    Array array(d);
    const CUDA_ARRAY_SPARSE_PROPERTIES p = propertiesOf(array);
    EXPECT_EQ(p.miptailFirstLevel, 0u);
    EXPECT_EQ(p.flags & ~unsigned{CU_ARRAY_SPARSE_PROPERTIES_SINGLE_MIPTAIL}, 0u);
    if (p.flags & CU_ARRAY_SPARSE_PROPERTIES_SINGLE_MIPTAIL)
      EXPECT_GE(p.miptailSize, d.Width * d.Height * 4);
    else
      EXPECT_EQ(p.miptailSize, 0u);
  }
}

TEST_F(SparseArrayTest, PropertiesNeedASparseArray) {
  PROVES("ARRSPARSE-002", "ARRSPARSE-007", "ARRSPARSE-009", "MIPSPARSE-002", "MIPSPARSE-008");
  CUDA_ARRAY_SPARSE_PROPERTIES p{};
  Array plain(arrayOf(1024, 1024));
  EXPECT_INVALID_VALUE(cuArrayGetSparseProperties(&p, plain));
  Array sparse(arrayOf(1024, 1024, 0, kSparse));
  EXPECT_INVALID_VALUE(cuArrayGetSparseProperties(nullptr, sparse));
  MipmappedArray levels(arrayOf(1024, 1024, 0, kSparse), 3);
  EXPECT_INVALID_VALUE(cuArrayGetSparseProperties(&p, levels.level(0)));
  EXPECT_INVALID_VALUE(cuMipmappedArrayGetSparseProperties(nullptr, levels));
  MipmappedArray plainLevels(arrayOf(1024, 1024), 3);
  EXPECT_INVALID_VALUE(cuMipmappedArrayGetSparseProperties(&p, plainLevels));
}

TEST_F(SparseArrayTest, TheTailBeginsWithTheFirstSmallLevel) {
  PROVES("MIPSPARSE-001", "MIPSPARSE-003", "MIPSPARSE-004", "MIPSPARSE-007", "ARRSPARSE-008");
  for (const CUDA_ARRAY3D_DESCRIPTOR& d :
       {arrayOf(1024, 1024, 0, kSparse), arrayOf(2048, 512, 0, kSparse, CU_AD_FORMAT_UNSIGNED_INT8),
        arrayOf(256, 256, 256, kSparse, CU_AD_FORMAT_UNSIGNED_INT8)}) {
    MipmappedArray array(d, 20);
    const CUDA_ARRAY_SPARSE_PROPERTIES p = propertiesOf(array);
    EXPECT_GT(p.miptailSize, 0u);
    EXPECT_EQ(p.miptailFirstLevel, firstSmallLevel(d, p)) << testing::PrintToString(d);
  }
}

TEST_F(SparseArrayTest, LayersHaveATailEachOrOneTogether) {
  PROVES("MIPSPARSE-005", "MIPSPARSE-006");
  const CUDA_ARRAY3D_DESCRIPTOR one = arrayOf(1024, 1024, 1, kSparse | kLayered);
  const CUDA_ARRAY3D_DESCRIPTOR four = arrayOf(1024, 1024, 4, kSparse | kLayered);
  MipmappedArray single(one, 20), several(four, 20);
  const CUDA_ARRAY_SPARSE_PROPERTIES a = propertiesOf(single), b = propertiesOf(several);
  ASSERT_EQ(a.flags, b.flags);
  EXPECT_GT(a.miptailSize, 0u);
  if (b.flags & CU_ARRAY_SPARSE_PROPERTIES_SINGLE_MIPTAIL)
    EXPECT_EQ(b.miptailSize, 4 * a.miptailSize);
  else
    EXPECT_EQ(b.miptailSize, a.miptailSize);
}

TEST_F(SparseArrayTest, DeferredArraysSayWhatTheyNeed) {
  PROVES("ARRMEMREQ-001", "ARRMEMREQ-003", "ARRMEMREQ-004", "ARRMEMREQ-005", "ARRREQ-001", "ARRREQ-002");
  for (const CUDA_ARRAY3D_DESCRIPTOR& d :
       {arrayOf(4096, 0, 0, kDeferred), arrayOf(1000, 700, 0, kDeferred), arrayOf(100, 60, 40, kDeferred),
        arrayOf(130, 129, 5, kDeferred | kLayered), arrayOf(64, 64, 0, kDeferred, CU_AD_FORMAT_FLOAT, 4)}) {
    Array array(d);
    const CUDA_ARRAY_MEMORY_REQUIREMENTS r = requirementsOf(array);
    EXPECT_GE(r.size, d.Width * std::max<size_t>(1, d.Height) * std::max<size_t>(1, d.Depth) * 4 * d.NumChannels);
    EXPECT_EQ(r.alignment, 65536u);
    EXPECT_EQ(r.size % r.alignment, 0u);
  }
}

TEST_F(SparseArrayTest, RequirementsNeedADeferredArray) {
  PROVES("ARRMEMREQ-002", "ARRMEMREQ-006", "MIPMEMREQ-002", "MIPMEMREQ-006");
  CUDA_ARRAY_MEMORY_REQUIREMENTS r{};
  Array plain(arrayOf(64, 64)), deferred(arrayOf(64, 64, 0, kDeferred));
  EXPECT_INVALID_VALUE(cuArrayGetMemoryRequirements(&r, plain, device));
  EXPECT_INVALID_VALUE(cuArrayGetMemoryRequirements(nullptr, deferred, device));
  MipmappedArray plainLevels(arrayOf(64, 64), 3), deferredLevels(arrayOf(64, 64, 0, kDeferred), 3);
  EXPECT_INVALID_VALUE(cuMipmappedArrayGetMemoryRequirements(&r, plainLevels, device));
  EXPECT_INVALID_VALUE(cuMipmappedArrayGetMemoryRequirements(nullptr, deferredLevels, device));
}

TEST_F(SparseArrayTest, DeferredMipmappedArraysSayWhatTheyNeed) {
  PROVES("MIPMEMREQ-001", "MIPMEMREQ-003", "MIPMEMREQ-004", "MIPMEMREQ-005");
  const CUDA_ARRAY3D_DESCRIPTOR d = arrayOf(1000, 700, 0, kDeferred);
  MipmappedArray array(d, 10);
  CUDA_ARRAY_MEMORY_REQUIREMENTS r{};
  EXPECT_OK(cuMipmappedArrayGetMemoryRequirements(&r, array, device));
  size_t packed = 0;
  for (unsigned l = 0; l < 10; ++l)
    packed += std::max<size_t>(1, d.Width >> l) * std::max<size_t>(1, d.Height >> l) * 4;
  EXPECT_GE(r.size, packed);
  EXPECT_TRUE(powerOfTwo(r.alignment)) << r.alignment;
  EXPECT_EQ(r.size % r.alignment, 0u);
}

TEST_F(SparseArrayTest, RequirementsAreAskedOfTheArrayOnly) {
  PROVES("ARRMEMREQ-005", "MIPMEMREQ-005");
  Array array(arrayOf(1000, 700, 0, kDeferred));
  CUDA_ARRAY_MEMORY_REQUIREMENTS right{}, wrong{};
  EXPECT_OK(cuArrayGetMemoryRequirements(&right, array, device));
  EXPECT_OK(cuArrayGetMemoryRequirements(&wrong, array, 99));
  EXPECT_EQ(wrong.size, right.size);
}

using PlaneTest = Device;

namespace {

// The driver makes multi-planar arrays only for a video codec.
CUDA_ARRAY3D_DESCRIPTOR video(CUarray_format format, size_t width = 64, size_t height = 48) {
  return arrayOf(width, height, 0, CUDA_ARRAY3D_VIDEO_ENCODE_DECODE, format, 3);
}

CUDA_ARRAY3D_DESCRIPTOR plane(CUarray array, unsigned index) {
  CUarray handle = nullptr;
  EXPECT_OK(cuArrayGetPlane(&handle, array, index));
  return describe(handle);
}

}  // namespace

TEST_F(PlaneTest, OfNv12AreAWholeAndAHalf) {
  PROVES("ARRPLANE-001", "ARRPLANE-004", "ARRPLANE-005", "ARRPLANE-006", "ARRPLANE-007");
  Array array(video(CU_AD_FORMAT_NV12));
  constexpr unsigned kVideo = CUDA_ARRAY3D_VIDEO_ENCODE_DECODE;
  EXPECT_EQ(plane(array, 0), arrayOf(64, 48, 0, kVideo, CU_AD_FORMAT_UNSIGNED_INT8, 1));
  EXPECT_EQ(plane(array, 1), arrayOf(32, 24, 0, kVideo, CU_AD_FORMAT_UNSIGNED_INT8, 2));
}

TEST_F(PlaneTest, OfOtherFormatsFollowTheirSampling) {
  PROVES("ARRPLANE-001");
  const struct {
    CUarray_format format;
    unsigned planes;
    size_t width, height;  // of the second plane
    CUarray_format component;
    unsigned channels;
  } cases[] = {{CU_AD_FORMAT_P010, 2, 32, 24, CU_AD_FORMAT_UNSIGNED_INT16, 2},
               {CU_AD_FORMAT_NV16, 2, 32, 48, CU_AD_FORMAT_UNSIGNED_INT8, 2},
               {CU_AD_FORMAT_P216, 2, 32, 48, CU_AD_FORMAT_UNSIGNED_INT16, 2},
               {CU_AD_FORMAT_Y444_PLANAR8, 3, 64, 48, CU_AD_FORMAT_UNSIGNED_INT8, 1},
               {CU_AD_FORMAT_YUV444_16bit_SemiPlanar, 2, 64, 48, CU_AD_FORMAT_UNSIGNED_INT16, 2}};
  for (const auto& c : cases) {
    Array array(video(c.format));
    const CUDA_ARRAY3D_DESCRIPTOR second = plane(array, 1);
    EXPECT_EQ(second, arrayOf(c.width, c.height, 0, CUDA_ARRAY3D_VIDEO_ENCODE_DECODE, c.component, c.channels));
    CUarray none = nullptr;
    EXPECT_INVALID_VALUE(cuArrayGetPlane(&none, array, c.planes));
  }
}

TEST_F(PlaneTest, AreWrittenAndReadOnTheirOwn) {
  PROVES("ARRPLANE-001");
  Array array(video(CU_AD_FORMAT_NV12));
  CUarray luma = nullptr, chroma = nullptr;
  ASSERT_OK(cuArrayGetPlane(&luma, array, 0));
  ASSERT_OK(cuArrayGetPlane(&chroma, array, 1));
  const Box whole{64, 48}, half{64, 24};
  EXPECT_OK(write(luma, whole, pattern(whole.bytes(), 1)));
  EXPECT_OK(write(chroma, half, pattern(half.bytes(), 2)));
  EXPECT_EQ(read(luma, whole), pattern(whole.bytes(), 1));
  EXPECT_EQ(read(chroma, half), pattern(half.bytes(), 2));
}

TEST_F(PlaneTest, NeedAPlanarArrayAndAnIndexBelowTheirNumber) {
  PROVES("ARRPLANE-002", "ARRPLANE-003", "ARRPLANE-008");
  CUarray none = nullptr;
  Array plain(arrayOf(64, 64)), planar(video(CU_AD_FORMAT_NV12));
  EXPECT_INVALID_VALUE(cuArrayGetPlane(&none, planar, 2));
  EXPECT_INVALID_VALUE(cuArrayGetPlane(&none, planar, 3));
  EXPECT_INVALID_VALUE(cuArrayGetPlane(&none, plain, 0));
  EXPECT_INVALID_VALUE(cuArrayGetPlane(&none, plain, 1));
  EXPECT_INVALID_VALUE(cuArrayGetPlane(nullptr, planar, 0));
  EXPECT_EQ(cuArrayGetPlane(&none, nullptr, 0), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_INVALID_VALUE(creation(video(CU_AD_FORMAT_NV12, 5, 5)));
}
