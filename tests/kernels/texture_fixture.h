// Textures and surfaces for kernel tests, and kernels that are one texture instruction.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <string>
#include <vector>

#include "kernels/fixture.h"

namespace kernels {

struct Coordinates {
  uint32_t words[4];
};
inline Coordinates at(float x, float y = 0, float z = 0, float w = 0) {
  return {
      {std::bit_cast<uint32_t>(x), std::bit_cast<uint32_t>(y), std::bit_cast<uint32_t>(z), std::bit_cast<uint32_t>(w)}};
}
inline Coordinates atWhole(int x, int y = 0, int z = 0, int w = 0) {
  return {{static_cast<uint32_t>(x), static_cast<uint32_t>(y), static_cast<uint32_t>(z), static_cast<uint32_t>(w)}};
}

struct Four {
  uint32_t words[4];
  float real(int c) const { return std::bit_cast<float>(words[c]); }
};

class TextureTest : public KernelTest {
 protected:
  // A kernel that runs `instruction` once a thread: coordinates in %f1 to %f4, and the same bits in %r11 to %r14; the
  // handle in %rd10; results from %r21 to %r24, which are stored.
  static std::string textureModule(const std::string& instruction, const std::string& variables = "",
                                   const std::string& target = "sm_75") {
    const std::string body =
        std::string(kIndices) +
        "ld.param.u64 %rd10, [p1];\nld.param.u64 %rd4, [p2];\nmul.wide.u32 %rd2, %r2, 16;\nadd.u64 %rd4, %rd4, %rd2;\n"
        "ld.global.v4.u32 {%r11, %r12, %r13, %r14}, [%rd4];\nmov.b32 %f1, %r11;\nmov.b32 %f2, %r12;\n"
        "mov.b32 %f3, %r13;\nmov.b32 %f4, %r14;\nmov.u32 %r21, 0;\nmov.u32 %r22, 0;\nmov.u32 %r23, 0;\n"
        "mov.u32 %r24, 0;\n" +
        instruction +
        "\nld.param.u64 %rd1, [p0];\nadd.u64 %rd3, %rd1, %rd2;\nst.global.v4.u32 [%rd3], {%r21, %r22, %r23, %r24};\n";
    return module(variables + entry("kernel", {".u64", ".u64", ".u64"}, body), target);
  }

  CUresult tryAccess(CUfunction kernel, unsigned long long handle, const std::vector<Coordinates>& where,
                     std::vector<Four>& found) {
    const CUdeviceptr out = allocate(where.size() * 16), in = allocate(where.size() * 16);
    EXPECT_EQ(cuMemcpyHtoD(in, where.data(), where.size() * 16), CUDA_SUCCESS);
    if (const CUresult result = run(kernel, 1, static_cast<unsigned>(where.size()), out, handle, in)) return result;
    found.resize(where.size());
    EXPECT_EQ(cuMemcpyDtoH(found.data(), out, where.size() * 16), CUDA_SUCCESS);
    EXPECT_EQ(cuMemFree(out), CUDA_SUCCESS);
    EXPECT_EQ(cuMemFree(in), CUDA_SUCCESS);
    return CUDA_SUCCESS;
  }
  std::vector<Four> access(const std::string& instruction, unsigned long long handle,
                           const std::vector<Coordinates>& where) {
    std::vector<Four> found;
    EXPECT_EQ(tryAccess(function(textureModule(instruction)), handle, where, found), CUDA_SUCCESS) << instruction;
    found.resize(where.size());
    return found;
  }

  // The access ends with `error`, which sticks. In a process of its own: a fault ends a process's use of its device.
  void expectFault(CUresult error, const std::string& instruction, unsigned long long handle,
                   const Coordinates& where) {
    const auto body = [&] {
      std::vector<Four> found;
      EXPECT_EQ(tryAccess(function(textureModule(instruction)), handle, {where}, found), error);
      EXPECT_EQ(cuCtxSynchronize(), error);
      std::exit(HasFailure());
    };
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(body(), ::testing::ExitedWithCode(0), "");
  }

  static CUDA_ARRAY3D_DESCRIPTOR described(size_t width, size_t height, size_t depth, CUarray_format format,
                                           unsigned channels, unsigned flags = 0) {
    CUDA_ARRAY3D_DESCRIPTOR d{};
    d.Width = width, d.Height = height, d.Depth = depth;
    d.Format = format, d.NumChannels = channels, d.Flags = flags;
    return d;
  }
  // Copies elements, one after another, into an array of these extents.
  static void fill(CUarray array, const CUDA_ARRAY3D_DESCRIPTOR& d, const void* data, size_t elementBytes) {
    CUDA_MEMCPY3D copy{};
    copy.srcMemoryType = CU_MEMORYTYPE_HOST;
    copy.srcHost = data;
    copy.srcPitch = d.Width * elementBytes;
    copy.srcHeight = std::max<size_t>(d.Height, 1);
    copy.dstMemoryType = CU_MEMORYTYPE_ARRAY;
    copy.dstArray = array;
    copy.WidthInBytes = d.Width * elementBytes;
    copy.Height = std::max<size_t>(d.Height, 1);
    copy.Depth = std::max<size_t>(d.Depth, 1);
    ASSERT_EQ(cuMemcpy3D(&copy), CUDA_SUCCESS);
  }
  template <class Element>
  CUarray arrayOf(const CUDA_ARRAY3D_DESCRIPTOR& d, const std::vector<Element>& elements) {
    CUarray array = nullptr;
    EXPECT_EQ(cuArray3DCreate(&array, &d), CUDA_SUCCESS);
    fill(array, d, elements.data(), sizeof(Element));
    return array;
  }

  static CUDA_RESOURCE_DESC resourceOf(CUarray array) {
    CUDA_RESOURCE_DESC resource{};
    resource.resType = CU_RESOURCE_TYPE_ARRAY;
    resource.res.array.hArray = array;
    return resource;
  }
  static CUDA_TEXTURE_DESC sampling(CUaddress_mode mode, CUfilter_mode filter, unsigned flags) {
    CUDA_TEXTURE_DESC texture{};
    for (CUaddress_mode& m : texture.addressMode) m = mode;
    texture.filterMode = filter;
    texture.flags = flags;
    return texture;
  }
  static CUtexObject textureOf(const CUDA_RESOURCE_DESC& resource, const CUDA_TEXTURE_DESC& texture) {
    CUtexObject object = 0;
    EXPECT_EQ(cuTexObjectCreate(&object, &resource, &texture, nullptr), CUDA_SUCCESS);
    return object;
  }
  static CUsurfObject surfaceOf(CUarray array) {
    const CUDA_RESOURCE_DESC resource = resourceOf(array);
    CUsurfObject object = 0;
    EXPECT_EQ(cuSurfObjectCreate(&object, &resource), CUDA_SUCCESS);
    return object;
  }
};

}  // namespace kernels
