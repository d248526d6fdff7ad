// Texture and surface objects and references as the application sees them: descriptors, errors, lifetimes.
#include <cuda.h>
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "device_test.h"

namespace {

class TextureObjects : public DeviceTest {
 protected:
  CUarray arrayOf(size_t width, size_t height, size_t depth = 0, unsigned flags = 0,
                  CUarray_format format = CU_AD_FORMAT_FLOAT, unsigned channels = 1) {
    const CUDA_ARRAY3D_DESCRIPTOR d = {width, height, depth, format, channels, flags};
    CUarray array = nullptr;
    EXPECT_EQ(cuArray3DCreate(&array, &d), CUDA_SUCCESS);
    return array;
  }
  static CUDA_RESOURCE_DESC resourceOf(CUarray array) {
    CUDA_RESOURCE_DESC resource{};
    resource.resType = CU_RESOURCE_TYPE_ARRAY;
    resource.res.array.hArray = array;
    return resource;
  }
  static CUDA_RESOURCE_DESC lineOf(CUdeviceptr memory, size_t bytes) {
    CUDA_RESOURCE_DESC resource{};
    resource.resType = CU_RESOURCE_TYPE_LINEAR;
    resource.res.linear = {memory, CU_AD_FORMAT_FLOAT, 1, bytes};
    return resource;
  }
  static CUresult create(const CUDA_RESOURCE_DESC& resource, const CUDA_TEXTURE_DESC& texture,
                         const CUDA_RESOURCE_VIEW_DESC* view = nullptr) {
    CUtexObject object = 0;
    const CUresult result = cuTexObjectCreate(&object, &resource, &texture, view);
    if (result == CUDA_SUCCESS) {
      EXPECT_NE(object, 0u);
      EXPECT_EQ(cuTexObjectDestroy(object), CUDA_SUCCESS);
    }
    return result;
  }
};

// As an H200 answers; the manual has CUDA_ERROR_INVALID_VALUE for textures without a view, and for views of linear
// memory.
TEST_F(TextureObjects, WithoutAViewOrOfLinearMemorySayThatTheirViewIsNone) {
  CUdeviceptr memory = 0;
  ASSERT_EQ(cuMemAlloc(&memory, 4096), CUDA_SUCCESS);
  CUDA_RESOURCE_DESC line{};
  line.resType = CU_RESOURCE_TYPE_LINEAR;
  line.res.linear = {memory, CU_AD_FORMAT_FLOAT, 1, 4096};
  CUDA_RESOURCE_VIEW_DESC view{};
  view.format = CU_RES_VIEW_FORMAT_UINT_4X8;
  view.width = 999, view.lastLayer = 7;
  const CUDA_RESOURCE_DESC array = resourceOf(arrayOf(16, 8));
  const CUDA_TEXTURE_DESC plain{};
  for (const bool ofArray : {false, true}) {
    CUtexObject object = 0;
    ASSERT_EQ(cuTexObjectCreate(&object, ofArray ? &array : &line, &plain, ofArray ? nullptr : &view), CUDA_SUCCESS);
    CUDA_RESOURCE_VIEW_DESC told = view;
    EXPECT_EQ(cuTexObjectGetResourceViewDesc(&told, object), CUDA_SUCCESS);
    EXPECT_EQ(std::memcmp(&told, &view, sizeof view), 0);  // left alone
    EXPECT_EQ(cuTexObjectDestroy(object), CUDA_SUCCESS);
  }
  EXPECT_EQ(cuMemFree(memory), CUDA_SUCCESS);
}

TEST_F(TextureObjects, SayWhatTheyWereMadeOf) {
  const CUarray array = arrayOf(16, 8);
  const CUDA_RESOURCE_DESC resource = resourceOf(array);
  CUDA_TEXTURE_DESC texture{};
  texture.addressMode[1] = CU_TR_ADDRESS_MODE_MIRROR;
  texture.filterMode = CU_TR_FILTER_MODE_LINEAR;
  texture.flags = CU_TRSF_NORMALIZED_COORDINATES;
  texture.maxAnisotropy = 4;
  texture.borderColor[2] = 0.5f;
  CUDA_RESOURCE_VIEW_DESC view{};
  view.format = CU_RES_VIEW_FORMAT_UINT_4X8;
  view.width = 16, view.height = 8;
  CUtexObject object = 0;
  ASSERT_EQ(cuTexObjectCreate(&object, &resource, &texture, &view), CUDA_SUCCESS);
  CUDA_RESOURCE_DESC sameResource{};
  CUDA_TEXTURE_DESC sameTexture{};
  CUDA_RESOURCE_VIEW_DESC sameView{};
  EXPECT_EQ(cuTexObjectGetResourceDesc(&sameResource, object), CUDA_SUCCESS);
  EXPECT_EQ(cuTexObjectGetTextureDesc(&sameTexture, object), CUDA_SUCCESS);
  EXPECT_EQ(cuTexObjectGetResourceViewDesc(&sameView, object), CUDA_SUCCESS);
  EXPECT_EQ(sameResource.res.array.hArray, array);
  texture.borderColor[2] = 0;  // as a real driver answers, which tells no colour
  EXPECT_EQ(std::memcmp(&sameTexture, &texture, sizeof texture), 0);
  EXPECT_EQ(std::memcmp(&sameView, &view, sizeof view), 0);
  EXPECT_EQ(cuTexObjectDestroy(object), CUDA_SUCCESS);
}

// As an H200 answers, which makes no textures of the planes of NV12, but of those of all other formats.
TEST_F(TextureObjects, VideoIsReadByItsPlanes) {
  const CUarray planar = arrayOf(16, 8, 0, CUDA_ARRAY3D_VIDEO_ENCODE_DECODE, CU_AD_FORMAT_P010, 3);
  const CUarray packed = arrayOf(16, 8, 0, CUDA_ARRAY3D_VIDEO_ENCODE_DECODE, CU_AD_FORMAT_AYUV, 4);
  const CUDA_TEXTURE_DESC texture{};
  EXPECT_EQ(create(resourceOf(planar), texture), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(create(resourceOf(packed), texture), CUDA_ERROR_INVALID_VALUE);
  CUarray plane = nullptr;
  ASSERT_EQ(cuArrayGetPlane(&plane, planar, 1), CUDA_SUCCESS);
  EXPECT_EQ(create(resourceOf(plane), texture), CUDA_SUCCESS);
  CUsurfObject surface = 0;
  CUDA_RESOURCE_DESC resource = resourceOf(planar);
  EXPECT_EQ(cuSurfObjectCreate(&surface, &resource), CUDA_ERROR_INVALID_VALUE);
  resource = resourceOf(packed);
  ASSERT_EQ(cuSurfObjectCreate(&surface, &resource), CUDA_SUCCESS);
  EXPECT_EQ(cuSurfObjectDestroy(surface), CUDA_SUCCESS);
}

// As an H200 answers: modes of axes that there are not mean nothing, nor do views of what lies in memory.
TEST_F(TextureObjects, OnlyWhatTheResourceHasIsChecked) {
  const CUDA_RESOURCE_DESC plane = resourceOf(arrayOf(8, 8));
  CUDA_TEXTURE_DESC texture{}, told{};
  texture.addressMode[2] = static_cast<CUaddress_mode>(7);
  CUtexObject object = 0;
  ASSERT_EQ(cuTexObjectCreate(&object, &plane, &texture, nullptr), CUDA_SUCCESS);
  ASSERT_EQ(cuTexObjectGetTextureDesc(&told, object), CUDA_SUCCESS);
  EXPECT_EQ(told.addressMode[2], CU_TR_ADDRESS_MODE_CLAMP);
  EXPECT_EQ(cuTexObjectDestroy(object), CUDA_SUCCESS);
  texture.addressMode[1] = static_cast<CUaddress_mode>(4);
  EXPECT_EQ(create(plane, texture), CUDA_ERROR_INVALID_VALUE);
  texture = {};
  texture.flags = CU_TRSF_SEAMLESS_CUBEMAP;
  EXPECT_EQ(create(plane, texture), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(create(resourceOf(arrayOf(8, 8, 6, CUDA_ARRAY3D_CUBEMAP)), texture), CUDA_SUCCESS);
  texture.flags = 0x0c;
  EXPECT_EQ(create(plane, texture), CUDA_SUCCESS);
  texture.flags = 0x80;
  EXPECT_EQ(create(plane, texture), CUDA_ERROR_INVALID_VALUE);
  CUdeviceptr memory = 0;
  ASSERT_EQ(cuMemAlloc(&memory, 4096), CUDA_SUCCESS);
  CUDA_RESOURCE_DESC line{};
  line.resType = CU_RESOURCE_TYPE_LINEAR;
  line.res.linear = {memory, CU_AD_FORMAT_FLOAT, 1, 4096};
  texture = {};
  const CUDA_RESOURCE_VIEW_DESC view{};
  EXPECT_EQ(create(line, texture, &view), CUDA_SUCCESS);
  line.res.linear.format = CU_AD_FORMAT_UNORM_INT8X1;
  EXPECT_EQ(create(line, texture), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemFree(memory), CUDA_SUCCESS);
}

TEST_F(TextureObjects, HandlesThatAreNoneAreRefused) {
  CUDA_RESOURCE_DESC resource{};
  for (const unsigned long long handle : {0ull, 1ull, 0x1230ull, ~0ull, 0x7fffffffffffull}) {
    EXPECT_EQ(cuTexObjectDestroy(handle), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(cuSurfObjectDestroy(handle), CUDA_ERROR_INVALID_VALUE);
    EXPECT_EQ(cuTexObjectGetResourceDesc(&resource, handle), CUDA_ERROR_INVALID_VALUE);
  }
  const CUDA_RESOURCE_DESC real = resourceOf(arrayOf(4, 4));
  const CUDA_TEXTURE_DESC plain{};
  CUtexObject texture = 0;
  CUsurfObject surface = 0;
  ASSERT_EQ(cuTexObjectCreate(&texture, &real, &plain, nullptr), CUDA_SUCCESS);
  ASSERT_EQ(cuSurfObjectCreate(&surface, &real), CUDA_SUCCESS);
  EXPECT_EQ(cuSurfObjectDestroy(texture), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuTexObjectDestroy(surface), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuTexObjectDestroy(texture), CUDA_SUCCESS);
  EXPECT_EQ(cuTexObjectDestroy(texture), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuSurfObjectDestroy(surface), CUDA_SUCCESS);
  EXPECT_EQ(cuSurfObjectGetResourceDesc(&resource, surface), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(TextureObjects, LinearMemoryIsAlignedAndOurs) {
  CUdeviceptr memory = 0;
  ASSERT_EQ(cuMemAlloc(&memory, 1 << 16), CUDA_SUCCESS);
  const CUDA_TEXTURE_DESC plain{};
  EXPECT_EQ(create(lineOf(memory, 4096), plain), CUDA_SUCCESS);
  EXPECT_EQ(create(lineOf(memory + 512, 4096), plain), CUDA_SUCCESS);
  EXPECT_EQ(create(lineOf(memory + 4, 4096), plain), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(create(lineOf(memory, 0), plain), CUDA_SUCCESS);
  EXPECT_EQ(create(lineOf(memory, size_t{1} << 24), plain), CUDA_SUCCESS);
  EXPECT_EQ(create(lineOf(memory, size_t{1} << 40), plain), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(create(lineOf(0, 4096), plain), CUDA_ERROR_INVALID_VALUE);
  CUDA_RESOURCE_DESC plane{};
  plane.resType = CU_RESOURCE_TYPE_PITCH2D;
  plane.res.pitch2D = {memory, CU_AD_FORMAT_FLOAT, 1, 64, 64, 256};
  EXPECT_EQ(create(plane, plain), CUDA_SUCCESS);
  plane.res.pitch2D.pitchInBytes = 250;
  EXPECT_EQ(create(plane, plain), CUDA_ERROR_INVALID_VALUE);
  plane.res.pitch2D.pitchInBytes = 128;
  EXPECT_EQ(create(plane, plain), CUDA_SUCCESS);
}

TEST_F(TextureObjects, GarbageInDescriptorsIsAnError) {
  const CUDA_RESOURCE_DESC real = resourceOf(arrayOf(16, 16));
  std::mt19937_64 random(11);
  for (int round = 0; round < 3000; ++round) {
    CUDA_RESOURCE_DESC resource = real;
    CUDA_TEXTURE_DESC texture{};
    CUDA_RESOURCE_VIEW_DESC view{};
    const auto spoil = [&](auto& object) {
      const uint64_t bits = random() % 3 ? random() % 40 : random();
      const size_t at = random() % (sizeof object / 4) * 4;
      std::memcpy(reinterpret_cast<char*>(&object) + at, &bits, 4);
    };
    if (random() % 2) spoil(resource);
    if (random() % 2) spoil(texture);
    for (int i = 0; i < 4; ++i) spoil(view);
    (void)create(resource, texture, random() % 2 ? &view : nullptr);
    CUsurfObject surface = 0;
    if (cuSurfObjectCreate(&surface, &resource) == CUDA_SUCCESS) {
      EXPECT_EQ(cuSurfObjectDestroy(surface), CUDA_SUCCESS);
    }
  }
}

TEST_F(TextureObjects, ViewsChooseLevelsAndLayers) {
  const CUDA_ARRAY3D_DESCRIPTOR d = {32, 32, 6, CU_AD_FORMAT_FLOAT, 1, CUDA_ARRAY3D_LAYERED};
  CUmipmappedArray array = nullptr;
  ASSERT_EQ(cuMipmappedArrayCreate(&array, &d, 4), CUDA_SUCCESS);
  CUDA_RESOURCE_DESC resource{};
  resource.resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
  resource.res.mipmap.hMipmappedArray = array;
  CUDA_TEXTURE_DESC texture{};
  EXPECT_EQ(create(resource, texture), CUDA_SUCCESS);
  texture.flags = CU_TRSF_NORMALIZED_COORDINATES;
  EXPECT_EQ(create(resource, texture), CUDA_SUCCESS);
  CUDA_RESOURCE_VIEW_DESC view{};
  view.format = CU_RES_VIEW_FORMAT_FLOAT_1X32;
  view.width = view.height = 32;
  view.depth = 6;
  view.firstMipmapLevel = 1, view.lastMipmapLevel = 3;
  view.firstLayer = 2, view.lastLayer = 5;
  EXPECT_EQ(create(resource, texture, &view), CUDA_SUCCESS);
  view.lastMipmapLevel = 4;
  EXPECT_EQ(create(resource, texture, &view), CUDA_SUCCESS);
  view.firstMipmapLevel = 4;  // beyond the last level: that one
  EXPECT_EQ(create(resource, texture, &view), CUDA_SUCCESS);
  view.firstMipmapLevel = 5;
  EXPECT_EQ(create(resource, texture, &view), CUDA_ERROR_INVALID_VALUE);
  view.firstMipmapLevel = 1;
  view.lastMipmapLevel = 3, view.lastLayer = 6;
  EXPECT_EQ(create(resource, texture, &view), CUDA_SUCCESS);
  view.firstLayer = 7;
  EXPECT_EQ(create(resource, texture, &view), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(TextureObjects, EndWithTheirContext) {
  CUcontext context = nullptr;
  ASSERT_EQ(cuCtxCreate(&context, nullptr, 0, 0), CUDA_SUCCESS);
  const CUDA_RESOURCE_DESC resource = resourceOf(arrayOf(8, 8));
  const CUDA_TEXTURE_DESC plain{};
  CUtexObject texture = 0;
  ASSERT_EQ(cuTexObjectCreate(&texture, &resource, &plain, nullptr), CUDA_SUCCESS);
  ASSERT_EQ(cuCtxDestroy(context), CUDA_SUCCESS);
  EXPECT_EQ(cuTexObjectDestroy(texture), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(TextureObjects, ManyThreadsMakeAndEndThem) {
  const CUDA_RESOURCE_DESC resource = resourceOf(arrayOf(8, 8));
  std::vector<std::thread> threads;
  CUcontext context = nullptr;
  ASSERT_EQ(cuCtxGetCurrent(&context), CUDA_SUCCESS);
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      EXPECT_EQ(cuCtxSetCurrent(context), CUDA_SUCCESS);
      const CUDA_TEXTURE_DESC plain{};
      for (int i = 0; i < 2000; ++i) EXPECT_EQ(create(resource, plain), CUDA_SUCCESS);
    });
  for (std::thread& thread : threads) thread.join();
}

TEST_F(TextureObjects, ReferencesKeepWhatTheyAreSetTo) {
  CUtexref reference = nullptr;
  ASSERT_EQ(cuTexRefCreate(&reference), CUDA_SUCCESS);
  EXPECT_EQ(cuTexRefSetAddressMode(reference, 2, CU_TR_ADDRESS_MODE_BORDER), CUDA_SUCCESS);
  EXPECT_EQ(cuTexRefSetAddressMode(reference, 3, CU_TR_ADDRESS_MODE_BORDER), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuTexRefSetFilterMode(reference, CU_TR_FILTER_MODE_LINEAR), CUDA_SUCCESS);
  EXPECT_EQ(cuTexRefSetFormat(reference, CU_AD_FORMAT_HALF, 2), CUDA_SUCCESS);
  EXPECT_EQ(cuTexRefSetMipmapLevelClamp(reference, 1, 3), CUDA_SUCCESS);
  CUaddress_mode mode{};
  CUfilter_mode filter{};
  CUarray_format format{};
  int channels = 0;
  float low = 0, high = 0;
  EXPECT_EQ(cuTexRefGetAddressMode(&mode, reference, 2), CUDA_SUCCESS);
  EXPECT_EQ(cuTexRefGetFilterMode(&filter, reference), CUDA_SUCCESS);
  EXPECT_EQ(cuTexRefGetFormat(&format, &channels, reference), CUDA_SUCCESS);
  EXPECT_EQ(cuTexRefGetMipmapLevelClamp(&low, &high, reference), CUDA_SUCCESS);
  EXPECT_EQ(mode, CU_TR_ADDRESS_MODE_BORDER);
  EXPECT_EQ(filter, CU_TR_FILTER_MODE_LINEAR);
  EXPECT_EQ(format, CU_AD_FORMAT_HALF);
  EXPECT_EQ(channels, 2);
  EXPECT_EQ(low + high, 4);
  CUarray none = nullptr;
  EXPECT_EQ(cuTexRefGetArray(&none, reference), CUDA_ERROR_INVALID_VALUE);
  CUdeviceptr memory = 0, address = 0;
  ASSERT_EQ(cuMemAlloc(&memory, 8192), CUDA_SUCCESS);
  size_t offset = 0;
  EXPECT_EQ(cuTexRefSetAddress(&offset, reference, memory + 16, 4096), CUDA_SUCCESS);
  EXPECT_EQ(offset, 16u);
  EXPECT_EQ(cuTexRefSetAddress(nullptr, reference, memory + 16, 4096), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuTexRefGetAddress(&address, reference), CUDA_SUCCESS);
  EXPECT_EQ(cuTexRefDestroy(reference), CUDA_SUCCESS);
  EXPECT_EQ(cuTexRefSetFlags(reference, 0), CUDA_ERROR_INVALID_HANDLE);
  EXPECT_EQ(cuTexRefSetFlags(reinterpret_cast<CUtexref>(0x1230), 0), CUDA_ERROR_INVALID_HANDLE);
}

}  // namespace
