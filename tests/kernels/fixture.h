// A context with modules from PTX text.
#pragma once

#include <cuda.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace kernels {

// Names of parameters become "p0", "p1", ...: types as in PTX, such as ".u64".
inline std::string entry(const std::string& name, const std::vector<std::string>& parameters, const std::string& body,
                         const std::string& directives = "") {
  std::string text = ".visible .entry " + name + "(";
  for (size_t i = 0; i < parameters.size(); ++i)
    text += (i ? ", " : "") + (".param " + parameters[i]) + " p" + std::to_string(i);
  return text + ")\n" + directives +
         "\n{\n.reg .pred %p<8>;\n.reg .b32 %r<32>;\n.reg .f32 %f<16>;\n.reg .b64 %rd<32>;\n" + body + "\nret;\n}\n";
}

inline std::string module(const std::string& body, const std::string& target = "sm_75",
                          const std::string& version = "7.0") {
  return ".version " + version + "\n.target " + target + "\n.address_size 64\n" + body;
}

// The linear index of the thread in %r1 and of the grid's thread in %r2.
inline constexpr const char* kIndices =
    "mov.u32 %r1, %tid.x;\nmov.u32 %r3, %ctaid.x;\nmov.u32 %r4, %ntid.x;\nmad.lo.u32 %r2, %r3, %r4, %r1;\n";
// Stores %r5 to element %r2 of the array that p0 points to.
inline constexpr const char* kStore =
    "ld.param.u64 %rd1, [p0];\nmul.wide.u32 %rd2, %r2, 4;\nadd.u64 %rd3, %rd1, %rd2;\nst.global.u32 [%rd3], %r5;\n";

class KernelTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(cuInit(0), CUDA_SUCCESS);
    ASSERT_EQ(cuDeviceGet(&device_, 0), CUDA_SUCCESS);
    ASSERT_EQ(cuDevicePrimaryCtxRetain(&context_, device_), CUDA_SUCCESS);
    ASSERT_EQ(cuCtxSetCurrent(context_), CUDA_SUCCESS);
  }
  // A reset makes the context usable again after a sticky error.
  void TearDown() override {
    cuDevicePrimaryCtxReset(device_);
    cuDevicePrimaryCtxRelease(device_);
  }

  CUmodule load(const std::string& text) {
    CUmodule module = nullptr;
    EXPECT_EQ(cuModuleLoadData(&module, text.c_str()), CUDA_SUCCESS) << text;
    return module;
  }
  CUfunction function(const std::string& text, const char* name = "kernel") {
    CUfunction function = nullptr;
    EXPECT_EQ(cuModuleGetFunction(&function, load(text), name), CUDA_SUCCESS);
    return function;
  }
  CUdeviceptr allocate(size_t bytes) {
    CUdeviceptr pointer = 0;
    EXPECT_EQ(cuMemAlloc(&pointer, bytes), CUDA_SUCCESS);
    EXPECT_EQ(cuMemsetD8(pointer, 0, bytes), CUDA_SUCCESS);
    return pointer;
  }
  std::vector<uint32_t> read(CUdeviceptr pointer, size_t count) {
    std::vector<uint32_t> values(count);
    EXPECT_EQ(cuMemcpyDtoH(values.data(), pointer, count * sizeof values[0]), CUDA_SUCCESS);
    return values;
  }
  template <class... Arguments>
  CUresult launch(CUfunction function, unsigned blocks, unsigned threads, Arguments... arguments) {
    void* values[] = {static_cast<void*>(&arguments)..., nullptr};
    return cuLaunchKernel(function, blocks, 1, 1, threads, 1, 1, 0, nullptr, values, nullptr);
  }
  template <class... Arguments>
  CUresult run(CUfunction function, unsigned blocks, unsigned threads, Arguments... arguments) {
    if (const CUresult result = launch(function, blocks, threads, arguments...)) return result;
    return cuCtxSynchronize();
  }

  CUdevice device_ = 0;
  CUcontext context_ = nullptr;
};

}  // namespace kernels
