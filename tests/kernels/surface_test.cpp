// Surfaces in kernels.
#include "kernels/texture_fixture.h"

namespace kernels {
namespace {

constexpr unsigned kSurface = CUDA_ARRAY3D_SURFACE_LDST;

class SurfaceTest : public TextureTest {
 protected:
  std::vector<uint32_t> contents(CUarray array, size_t width, size_t height) {
    std::vector<uint32_t> elements(width * height);
    CUDA_MEMCPY2D copy{};
    copy.srcMemoryType = CU_MEMORYTYPE_ARRAY;
    copy.srcArray = array;
    copy.dstMemoryType = CU_MEMORYTYPE_HOST;
    copy.dstHost = elements.data();
    copy.dstPitch = copy.WidthInBytes = width * 4;
    copy.Height = height;
    EXPECT_EQ(cuMemcpy2D(&copy), CUDA_SUCCESS);
    return elements;
  }
};

std::vector<uint32_t> counting(size_t count) {
  std::vector<uint32_t> elements(count);
  for (size_t i = 0; i < count; ++i) elements[i] = static_cast<uint32_t>(i) + 100;
  return elements;
}

TEST_F(SurfaceTest, LoadsClampOrGiveZeroBeyondTheEdge) {
  const CUarray array = arrayOf(described(8, 4, 0, CU_AD_FORMAT_UNSIGNED_INT32, 1, kSurface), counting(32));
  const CUsurfObject surface = surfaceOf(array);
  const std::vector<Coordinates> points = {atWhole(0, 0), atWhole(28, 3), atWhole(32, 0), atWhole(-4, 2),
                                           atWhole(8, 4)};
  const std::vector<Four> zero = access("suld.b.2d.b32.zero %r21, [%rd10, {%r11, %r12}];", surface, points);
  const uint32_t zeros[] = {100, 131, 0, 0, 0}, clamped[] = {100, 131, 107, 116, 126};
  for (size_t i = 0; i < points.size(); ++i) EXPECT_EQ(zero[i].words[0], zeros[i]) << i;
  const std::vector<Four> clamp = access("suld.b.2d.b32.clamp %r21, [%rd10, {%r11, %r12}];", surface, points);
  for (size_t i = 0; i < points.size(); ++i) EXPECT_EQ(clamp[i].words[0], clamped[i]) << i;
  const std::vector<Four> row =
      access("suld.b.2d.v4.b32.trap {%r21, %r22, %r23, %r24}, [%rd10, {%r11, %r12}];", surface, {atWhole(16, 1)});
  for (uint32_t c = 0; c < 4; ++c) EXPECT_EQ(row[0].words[c], 112 + c);
}

TEST_F(SurfaceTest, StoresAndReductionsChangeTheArray) {
  const CUarray array =
      arrayOf(described(8, 4, 0, CU_AD_FORMAT_UNSIGNED_INT32, 1, kSurface), std::vector<uint32_t>(32));
  const CUsurfObject surface = surfaceOf(array);
  access("sust.b.2d.b32.zero [%rd10, {%r11, %r12}], %r13;", surface,
         {atWhole(4, 1, 7), atWhole(28, 3, 8), atWhole(400, 1, 9), atWhole(-4, -1, 9)});
  access("sured.b.add.2d.u32.clamp [%rd10, {%r11, %r12}], %r13;", surface,
         {atWhole(4, 1, 1), atWhole(4, 1, 2), atWhole(4, 1, 3)});
  access("sured.p.max.2d.b32.clamp [%rd10, {%r11, %r12}], %r13;", surface, {atWhole(7, 3, 50), atWhole(7, 3, 40)});
  access("sust.p.2d.v4.b32.trap [%rd10, {%r11, %r12}], {%r13, %r14, %r14, %r14};", surface, {atWhole(2, 0, 66)});
  std::vector<uint32_t> expected(32);
  expected[8 + 1] = 13, expected[24 + 7] = 50, expected[2] = 66;
  EXPECT_EQ(contents(array, 8, 4), expected);
}

TEST_F(SurfaceTest, ReductionsOfSixtyFourBits) {
  const CUarray array = arrayOf(described(4, 1, 0, CU_AD_FORMAT_UNSIGNED_INT32, 2, kSurface), std::vector<uint64_t>(4));
  const CUsurfObject surface = surfaceOf(array);
  access("mov.b64 %rd11, {%r13, %r14};\nsured.b.min.2d.s64.trap [%rd10, {%r11, %r12}], %rd11;", surface,
         {atWhole(8, 0, -5, -1), atWhole(8, 0, 7, 0)});
  access("mov.b64 %rd11, {%r13, %r14};\nsured.b.add.2d.u64.trap [%rd10, {%r11, %r12}], %rd11;", surface,
         {atWhole(16, 0, 0, 1), atWhole(16, 0, 2, 0)});
  const Four low = access("suld.b.2d.v2.b32.trap {%r21, %r22}, [%rd10, {%r11, %r12}];", surface, {atWhole(8, 0)})[0];
  EXPECT_EQ(low.words[0], static_cast<uint32_t>(-5));
  EXPECT_EQ(low.words[1], ~0u);
  const Four both = access("suld.b.2d.v2.b32.trap {%r21, %r22}, [%rd10, {%r11, %r12}];", surface, {atWhole(16, 0)})[0];
  EXPECT_EQ(both.words[0], 2u);
  EXPECT_EQ(both.words[1], 1u);
}

TEST_F(SurfaceTest, BytesAndHalvesOfRegisters) {
  const CUarray array = arrayOf(described(8, 1, 0, CU_AD_FORMAT_UNSIGNED_INT8, 4, kSurface), std::vector<uint32_t>(8));
  const CUsurfObject surface = surfaceOf(array);
  access(
      ".reg .b16 %h<4>;\ncvt.u16.u32 %h1, %r13;\nsust.b.2d.b8.trap [%rd10, {%r11, %r12}], %h1;\n"
      "sust.b.2d.v2.b16.trap [%rd10, {%r14, %r12}], {%h1, %h1};",
      surface, {atWhole(1, 0, 0x1ab, 4)});
  const std::vector<uint32_t> stored = contents(array, 8, 1);
  EXPECT_EQ(stored[0], 0xab00u);
  EXPECT_EQ(stored[1], 0x01ab01abu);
}

TEST_F(SurfaceTest, FormattedStoresConvert) {
  const CUarray array = arrayOf(described(4, 1, 0, CU_AD_FORMAT_HALF, 2, kSurface), std::vector<uint32_t>(4));
  access("sust.p.2d.v2.b32.trap [%rd10, {0, 0}], {%f1, %f2};", surfaceOf(array), {at(1.0f, -2.0f)});
  EXPECT_EQ(contents(array, 4, 1)[0], 0xc0003c00u);
}

TEST_F(SurfaceTest, LayersBoxesAndQueries) {
  const CUarray layers =
      arrayOf(described(4, 4, 3, CU_AD_FORMAT_UNSIGNED_INT32, 1, kSurface | CUDA_ARRAY3D_LAYERED), counting(48));
  EXPECT_EQ(
      access("suld.b.a2d.b32.trap %r21, [%rd10, {%r11, %r12, %r13, %r14}];", surfaceOf(layers), {atWhole(2, 8, 3)})[0]
          .words[0],
      100u + 32 + 12 + 2);
  const CUarray box = arrayOf(described(4, 4, 3, CU_AD_FORMAT_UNSIGNED_INT32, 1, kSurface), counting(48));
  EXPECT_EQ(access("suld.b.3d.b32.trap %r21, [%rd10, {%r11, %r12, %r13, %r14}];", surfaceOf(box), {atWhole(4, 2, 1)})[0]
                .words[0],
            100u + 16 + 8 + 1);
  const Four asked = access(
      "suq.width.b32 %r21, [%rd10];\nsuq.depth.b32 %r22, [%rd10];\nsuq.array_size.b32 %r23, "
      "[%rd10];\nistypep.surfref %p1, %rd10;\nselp.u32 %r24, 1, 0, %p1;",
      surfaceOf(box), {atWhole(0)})[0];
  EXPECT_EQ(asked.words[0], 4u);
  EXPECT_EQ(asked.words[1], 3u);
  EXPECT_EQ(asked.words[2], 0u);
  EXPECT_EQ(asked.words[3], 0u);  // what an application made is of no type: only variables are
}

TEST_F(SurfaceTest, ModulesWithFormsThatDoNotExistAreRefused) {
  for (const char* instruction : {"suld.b.2d.v8.b64.trap {%rd11, %rd12, %rd13, %rd14, %rd15, %rd16, %rd17, %rd18}, "
                                  "[%rd10, {%r11, %r12}];",
                                  "sured.b.add.2d.b16.trap [%rd10, {%r11, %r12}], %r13;"}) {
    char log[256] = {};
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void* values[] = {log, reinterpret_cast<void*>(sizeof log)};
    CUmodule module = nullptr;
    EXPECT_EQ(cuModuleLoadDataEx(&module, textureModule(instruction).c_str(), 2, options, values),
              CUDA_ERROR_INVALID_PTX);
    EXPECT_NE(std::string(log).find("there is no such form"), std::string::npos) << log;
  }
}

TEST_F(SurfaceTest, WhatASurfaceStoresATextureReads) {
  const CUarray array = arrayOf(described(8, 8, 0, CU_AD_FORMAT_FLOAT, 1, kSurface), std::vector<float>(64));
  access("shl.b32 %r15, %r11, 2;\nsust.b.2d.b32.trap [%rd10, {%r15, %r12}], %f3;", surfaceOf(array),
         {{{3, 5, std::bit_cast<uint32_t>(2.5f), 0}}});
  const CUtexObject texture =
      textureOf(resourceOf(array), sampling(CU_TR_ADDRESS_MODE_CLAMP, CU_TR_FILTER_MODE_POINT, 0));
  EXPECT_EQ(
      access("tex.2d.v4.f32.f32 {%r21, %r22, %r23, %r24}, [%rd10, {%f1, %f2}];", texture, {at(3.5f, 5.5f)})[0].real(0),
      2.5f);
}

TEST_F(SurfaceTest, ReferencesAreReadByName) {
  const CUmodule loaded =
      load(textureModule("suld.b.2d.b32.trap %r21, [field, {%r11, %r12}];", ".visible .global .surfref field;\n"));
  CUsurfref reference = nullptr;
  ASSERT_EQ(cuModuleGetSurfRef(&reference, loaded, "field"), CUDA_SUCCESS);
  const CUarray array = arrayOf(described(8, 4, 0, CU_AD_FORMAT_UNSIGNED_INT32, 1, kSurface), counting(32));
  ASSERT_EQ(cuSurfRefSetArray(reference, array, 0), CUDA_SUCCESS);
  CUarray bound = nullptr;
  EXPECT_EQ(cuSurfRefGetArray(&bound, reference), CUDA_SUCCESS);
  EXPECT_EQ(bound, array);
  CUfunction kernel = nullptr;
  ASSERT_EQ(cuModuleGetFunction(&kernel, loaded, "kernel"), CUDA_SUCCESS);
  std::vector<Four> found;
  ASSERT_EQ(tryAccess(kernel, 0, {atWhole(12, 2)}, found), CUDA_SUCCESS);
  EXPECT_EQ(found[0].words[0], 100u + 16 + 3);
}

TEST_F(SurfaceTest, AccessOutsideTrapsAndSticks) {
  const CUarray array = arrayOf(described(8, 4, 0, CU_AD_FORMAT_UNSIGNED_INT32, 1, kSurface), counting(32));
  const CUsurfObject surface = surfaceOf(array);
  expectFault(CUDA_ERROR_ILLEGAL_ADDRESS, "suld.b.2d.b32.trap %r21, [%rd10, {%r11, %r12}];", surface, atWhole(32, 0));
  expectFault(CUDA_ERROR_MISALIGNED_ADDRESS, "suld.b.2d.b32.zero %r21, [%rd10, {%r11, %r12}];", surface, atWhole(2, 0));
}

}  // namespace
}  // namespace kernels
