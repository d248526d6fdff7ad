// CUDA arrays: creation, kinds, descriptors, destruction.
#include <cstddef>

#include "array_objects.h"
#include "suite.h"

using ArrayTest = Device;

namespace {

constexpr unsigned kLayered = CUDA_ARRAY3D_LAYERED, kCubemap = CUDA_ARRAY3D_CUBEMAP;

CUDA_ARRAY_DESCRIPTOR plainOf(size_t width, size_t height, CUarray_format format = CU_AD_FORMAT_FLOAT,
                              unsigned channels = 1) {
  return {width, height, format, channels};
}

}  // namespace

TEST_F(ArrayTest, DescriptorsAreLaidOutAsListed) {
  PROVES("ARRDESC-001", "ARRDESC-002", "ARRDESC-003", "ARR3DDESC-001", "ARR3DDESC-002", "ARR3DDESC-003");
  using D2 = CUDA_ARRAY_DESCRIPTOR;
  EXPECT_EQ(offsetof(D2, Width), 0u);
  EXPECT_EQ(offsetof(D2, Height), 8u);
  EXPECT_EQ(offsetof(D2, Format), 16u);
  EXPECT_EQ(offsetof(D2, NumChannels), 20u);
  EXPECT_EQ(sizeof(D2), 24u);
  using D3 = CUDA_ARRAY3D_DESCRIPTOR;
  EXPECT_EQ(offsetof(D3, Width), 0u);
  EXPECT_EQ(offsetof(D3, Height), 8u);
  EXPECT_EQ(offsetof(D3, Depth), 16u);
  EXPECT_EQ(offsetof(D3, Format), 24u);
  EXPECT_EQ(offsetof(D3, NumChannels), 28u);
  EXPECT_EQ(offsetof(D3, Flags), 32u);
  EXPECT_EQ(sizeof(D3), 40u);
}

TEST_F(ArrayTest, OneDescriptorServesAllThatTakeIt) {
  PROVES("ARR3DDESC-004");
  CUDA_ARRAY3D_DESCRIPTOR d = arrayOf(32, 16, 4, kLayered, CU_AD_FORMAT_UNSIGNED_INT8, 4);
  Array array(d);
  MipmappedArray levels(d, 1);
  CUDA_ARRAY3D_DESCRIPTOR back = arrayOf(1);
  EXPECT_OK(cuArray3DGetDescriptor(&back, array));
  EXPECT_EQ(back, d);
  EXPECT_OK(cuArray3DGetDescriptor(&back, levels.level(0)));
  EXPECT_EQ(back, d);
}

TEST_F(ArrayTest, CreateMakesOneAndTwoDimensions) {
  PROVES("ARRCREATE-001", "ARRCREATE-002", "ARRCREATE-003", "ARRGETDESC-001", "ARR3DGETDESC-002", "ARR3DGETDESC-003",
         "ARR3DGETDESC-004");
  for (size_t height : {size_t{0}, size_t{1}, size_t{7}}) {
    CUarray array = nullptr;
    const CUDA_ARRAY_DESCRIPTOR d = plainOf(64, height, CU_AD_FORMAT_SIGNED_INT16, 2);
    ASSERT_OK(cuArrayCreate(&array, &d));
    ASSERT_NE(array, nullptr);
    CUDA_ARRAY_DESCRIPTOR back{};
    EXPECT_OK(cuArrayGetDescriptor(&back, array));
    EXPECT_EQ(back.Width, 64u);
    EXPECT_EQ(back.Height, height);
    EXPECT_EQ(back.Format, CU_AD_FORMAT_SIGNED_INT16);
    EXPECT_EQ(back.NumChannels, 2u);
    EXPECT_EQ(describe(array), arrayOf(64, height, 0, 0, CU_AD_FORMAT_SIGNED_INT16, 2));
    EXPECT_OK(cuArrayDestroy(array));
  }
}

TEST_F(ArrayTest, ExamplesOfTheManualWork) {
  PROVES("ARRCREATE-008", "ARRCREATE-009", "ARRCREATE-010", "ARRCREATE-011", "ARR3DCREATE-043", "ARR3DCREATE-044",
         "ARR3DCREATE-045");
  const struct {
    CUDA_ARRAY_DESCRIPTOR d;
    Box whole;
  } plain[] = {{plainOf(2048, 1), {8192}},
               {plainOf(64, 64), {256, 64}},
               {plainOf(40, 30, CU_AD_FORMAT_HALF, 4), {320, 30}},
               {plainOf(40, 30, CU_AD_FORMAT_UNSIGNED_INT8, 2), {80, 30}}};
  for (const auto& example : plain) {
    CUarray array = nullptr;
    ASSERT_OK(cuArrayCreate(&array, &example.d));
    expectHolds(array, example.whole);
    EXPECT_OK(cuArrayDestroy(array));
  }
  Array line(arrayOf(2048));
  expectHolds(line, {8192});
  Array square(arrayOf(64, 64));
  expectHolds(square, {256, 64});
  Array box(arrayOf(20, 12, 9, 0, CU_AD_FORMAT_HALF, 4));
  expectHolds(box, {160, 12, 9});
}

TEST_F(ArrayTest, OneRowIsLinearToTheOneDimensionalCopies) {
  PROVES("ARRCREATE-008");
  CUarray array = nullptr;
  const CUDA_ARRAY_DESCRIPTOR d = plainOf(2048, 1);
  ASSERT_OK(cuArrayCreate(&array, &d));
  const Bytes content = pattern(8192);
  EXPECT_OK(cuMemcpyHtoA(array, 0, content.data(), 8192));
  Bytes back(8192);
  EXPECT_OK(cuMemcpyAtoH(back.data(), array, 0, 8192));
  EXPECT_EQ(back, content);
  EXPECT_OK(cuArrayDestroy(array));
}

TEST_F(ArrayTest, ExtentsAndFlagsMakeTheKind) {
  PROVES("ARR3DCREATE-001", "ARR3DCREATE-002", "ARR3DCREATE-003", "ARR3DCREATE-004", "ARR3DCREATE-005",
         "ARR3DCREATE-006", "ARR3DCREATE-007", "ARR3DCREATE-012", "ARR3DCREATE-020", "ARR3DGETDESC-001",
         "ARR3DGETDESC-003", "ARR3DGETDESC-004");
  const struct {
    CUDA_ARRAY3D_DESCRIPTOR d;
    Box whole;
  } kinds[] = {{arrayOf(33), {132}},
               {arrayOf(33, 17), {132, 17}},
               {arrayOf(33, 17, 5), {132, 17, 5}},
               {arrayOf(33, 0, 5, kLayered), {132, 1, 5}},
               {arrayOf(33, 17, 5, kLayered), {132, 17, 5}},
               {arrayOf(16, 16, 6, kCubemap), {64, 16, 6}},
               {arrayOf(16, 16, 12, kCubemap | kLayered), {64, 16, 12}}};
  for (const auto& kind : kinds) {
    Array array(kind.d);
    ASSERT_NE(CUarray{array}, nullptr);
    EXPECT_EQ(describe(array), kind.d);
    expectHolds(array, kind.whole);
  }
}

TEST_F(ArrayTest, LayersAndFacesAreReachedByZ) {
  PROVES("ARR3DCREATE-010", "ARR3DCREATE-015", "ARR3DCREATE-020", "ARR3DCREATE-006");
  EXPECT_EQ(CU_CUBEMAP_FACE_POSITIVE_X, 0);
  EXPECT_EQ(CU_CUBEMAP_FACE_NEGATIVE_Z, 5);
  for (const CUDA_ARRAY3D_DESCRIPTOR& d :
       {arrayOf(16, 16, 6, kCubemap), arrayOf(16, 16, 12, kCubemap | kLayered), arrayOf(16, 16, 7, kLayered)}) {
    Array array(d);
    for (size_t z = 0; z < d.Depth; ++z) {
      EXPECT_OK(write(array, {64, 16, 1, 0, 0, z}, pattern(1024, 100 + static_cast<unsigned>(z))));
    }
    for (size_t z = 0; z < d.Depth; ++z) {
      EXPECT_EQ(read(array, {64, 16, 1, 0, 0, z}), pattern(1024, 100 + static_cast<unsigned>(z))) << "layer " << z;
    }
    EXPECT_INVALID_VALUE(write(array, {64, 16, 1, 0, 0, d.Depth}, Bytes(1024)));
  }
}

TEST_F(ArrayTest, CubemapsAreSquareWithWholeSetsOfFaces) {
  PROVES("ARR3DCREATE-008", "ARR3DCREATE-009", "ARR3DCREATE-013", "ARR3DCREATE-014");
  EXPECT_INVALID_VALUE(creation(arrayOf(64, 65, 6, kCubemap)));
  EXPECT_INVALID_VALUE(creation(arrayOf(64, 64, 5, kCubemap)));
  EXPECT_INVALID_VALUE(creation(arrayOf(64, 64, 12, kCubemap)));
  EXPECT_INVALID_VALUE(creation(arrayOf(64, 65, 12, kCubemap | kLayered)));
  EXPECT_INVALID_VALUE(creation(arrayOf(64, 64, 7, kCubemap | kLayered)));
  EXPECT_INVALID_VALUE(creation(arrayOf(64, 64, 0, kCubemap)));
  EXPECT_INVALID_VALUE(creation(arrayOf(64, 0, 6, kCubemap)));
  EXPECT_OK(creation(arrayOf(64, 64, 18, kCubemap | kLayered)));
}

TEST_F(ArrayTest, OtherCombinationsOfExtentsAreRefused) {
  PROVES("ARR3DCREATE-002", "ARR3DCREATE-005", "ARRCREATE-001");
  EXPECT_INVALID_VALUE(creation(arrayOf(0)));
  EXPECT_INVALID_VALUE(creation(arrayOf(0, 4, 4)));
  EXPECT_INVALID_VALUE(creation(arrayOf(64, 0, 4)));
  EXPECT_INVALID_VALUE(creation(arrayOf(64, 64, 0, kLayered)));
  EXPECT_INVALID_VALUE(creation2D(plainOf(0, 4)));
}

TEST_F(ArrayTest, ChannelsAreOneTwoOrFour) {
  PROVES("ARRCREATE-006", "ARRCREATE-007", "ARR3DCREATE-018", "ARR3DCREATE-019");
  for (CUarray_format format : {CU_AD_FORMAT_UNSIGNED_INT8, CU_AD_FORMAT_SIGNED_INT32, CU_AD_FORMAT_FLOAT}) {
    for (unsigned channels : {0u, 1u, 2u, 3u, 4u, 5u, 8u, 16u}) {
      const CUresult expected =
          channels == 1 || channels == 2 || channels == 4 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
      EXPECT_EQ(creation2D(plainOf(64, 64, format, channels)), expected) << channels;
      EXPECT_EQ(creation(arrayOf(64, 64, 0, 0, format, channels)), expected) << channels;
    }
  }
}

TEST_F(ArrayTest, GatherIsForTwoDimensions) {
  PROVES("ARR3DCREATE-023", "ARR3DCREATE-024");
  Array array(arrayOf(64, 64, 0, CUDA_ARRAY3D_TEXTURE_GATHER));
  EXPECT_EQ(describe(array).Flags, unsigned{CUDA_ARRAY3D_TEXTURE_GATHER});
  EXPECT_INVALID_VALUE(creation(arrayOf(64, 0, 0, CUDA_ARRAY3D_TEXTURE_GATHER)));
  EXPECT_INVALID_VALUE(creation(arrayOf(64, 64, 4, CUDA_ARRAY3D_TEXTURE_GATHER)));
}

TEST_F(ArrayTest, BadArgumentsAreInvalidValues) {
  PROVES("ARRCREATE-012", "ARR3DCREATE-046", "ARRGETDESC-002", "ARR3DGETDESC-005", "ARRDESTROY-002");
  CUarray array = nullptr;
  const CUDA_ARRAY_DESCRIPTOR d = plainOf(64, 64);
  const CUDA_ARRAY3D_DESCRIPTOR d3 = arrayOf(64, 64);
  EXPECT_INVALID_VALUE(cuArrayCreate(nullptr, &d));
  EXPECT_INVALID_VALUE(cuArrayCreate(&array, nullptr));
  EXPECT_INVALID_VALUE(cuArray3DCreate(nullptr, &d3));
  EXPECT_INVALID_VALUE(cuArray3DCreate(&array, nullptr));
  for (unsigned bit = 9; bit < 31; ++bit) EXPECT_INVALID_VALUE(creation(arrayOf(64, 64, 0, 1u << bit))) << bit;
  CUDA_ARRAY_DESCRIPTOR back{};
  CUDA_ARRAY3D_DESCRIPTOR back3{};
  EXPECT_EQ(cuArrayGetDescriptor(&back, nullptr), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuArray3DGetDescriptor(&back3, nullptr), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuArrayDestroy(nullptr), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(ArrayTest, WithoutAContextIsRefused) {
  PROVES("ARRCREATE-012", "ARR3DCREATE-046");
  ASSERT_OK(cuCtxSetCurrent(nullptr));
  EXPECT_EQ(creation2D(plainOf(64, 64)), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(creation(arrayOf(64, 64)), CUDA_ERROR_INVALID_CONTEXT);
}

TEST_F(ArrayTest, LargerThanTheDeviceIsOutOfMemory) {
  PROVES("ARR3DCREATE-046");
  EXPECT_EQ(creation(arrayOf(16384, 16384, 16384, 0, CU_AD_FORMAT_FLOAT, 4)), CUDA_ERROR_OUT_OF_MEMORY);
}

TEST_F(ArrayTest, DestructionReturnsTheMemory) {
  PROVES("ARRDESTROY-001");
  size_t before = 0, after = 0, total = 0;
  EXPECT_OK(creation(arrayOf(4096, 4096)));
  ASSERT_OK(cuMemGetInfo(&before, &total));
  for (int i = 0; i < 64; ++i) {
    Array array(arrayOf(4096, 4096));
    EXPECT_OK(write(array, {16, 1, 1, 0, 4095}, Bytes(16)));
  }
  ASSERT_OK(cuMemGetInfo(&after, &total));
  EXPECT_GE(after + (size_t{64} << 20), before);
}

TEST(ArrayIsolated, NothingWorksBeforeInitialisation) {
  PROVES("ARRCREATE-012", "ARR3DCREATE-046", "MIPCREATE-045");
  EXPECT_EQ(creation2D(plainOf(64, 64)), CUDA_ERROR_NOT_INITIALIZED);
  EXPECT_EQ(creation(arrayOf(64, 64)), CUDA_ERROR_NOT_INITIALIZED);
  EXPECT_EQ(mipmappedCreation(arrayOf(64, 64)), CUDA_ERROR_NOT_INITIALIZED);
}

using ArrayFault = DeviceFault;

TEST_F(ArrayFault, FunctionsHandBackTheErrorOfEarlierWork) {
  PROVES("ARRCREATE-013", "ARR3DCREATE-047", "ARRGETDESC-003", "ARR3DGETDESC-006", "ARRDESTROY-003", "MIPCREATE-046",
         "MIPDESTROY-003", "MIPLEVEL-004", "ARRPLANE-009");
  CUarray array = Array(arrayOf(64, 64)).release(), made = nullptr;
  CUmipmappedArray levels = MipmappedArray(arrayOf(64, 64), 2).release(), madeLevels = nullptr;
  ASSERT_OK(cuLaunchKernel(kernel("trap"), 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr));
  ASSERT_EQ(cuCtxSynchronize(), CUDA_ERROR_LAUNCH_FAILED);
  CUDA_ARRAY_DESCRIPTOR d = plainOf(64, 64);
  CUDA_ARRAY3D_DESCRIPTOR d3 = arrayOf(64, 64);
  EXPECT_EQ(cuArrayCreate(&made, &d), CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_EQ(cuArray3DCreate(&made, &d3), CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_EQ(cuMipmappedArrayCreate(&madeLevels, &d3, 2), CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_EQ(cuArrayGetDescriptor(&d, array), CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_EQ(cuArray3DGetDescriptor(&d3, array), CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_EQ(cuMipmappedArrayGetLevel(&made, levels, 0), CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_EQ(cuArrayGetPlane(&made, array, 0), CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_EQ(cuMipmappedArrayDestroy(levels), CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_EQ(cuArrayDestroy(array), CUDA_ERROR_LAUNCH_FAILED);
}
