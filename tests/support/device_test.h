// What tests through the exported functions share: a current context, and buffers that can be compared.
#pragma once

#include <cuda.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <numeric>
#include <vector>

#define EXPECT_OK(call) EXPECT_EQ(call, CUDA_SUCCESS)
#define ASSERT_OK(call) ASSERT_EQ(call, CUDA_SUCCESS)
#define EXPECT_INVALID(call) EXPECT_EQ(call, CUDA_ERROR_INVALID_VALUE)

class DeviceTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK(cuInit(0));
    ASSERT_OK(cuDeviceGet(&device, 0));
    ASSERT_OK(cuDevicePrimaryCtxRetain(&context, device));
    ASSERT_OK(cuCtxSetCurrent(context));
  }
  void TearDown() override {
    for (CUdeviceptr address : allocated) cuMemFree(address);
    EXPECT_OK(cuDevicePrimaryCtxRelease(device));
  }

  // Freed at the end of the test.
  CUdeviceptr allocate(size_t bytes) {
    CUdeviceptr address = 0;
    EXPECT_OK(cuMemAlloc(&address, bytes));
    allocated.push_back(address);
    return address;
  }
  static std::vector<uint8_t> bytesFrom(uint8_t first, size_t count) {
    std::vector<uint8_t> made(count);
    std::iota(made.begin(), made.end(), first);
    return made;
  }
  static std::vector<uint8_t> read(CUdeviceptr address, size_t count) {
    std::vector<uint8_t> content(count);
    EXPECT_OK(cuMemcpyDtoH(content.data(), address, count));
    return content;
  }
  template <class T>
  static T attribute(CUpointer_attribute which, CUdeviceptr address) {
    T value{};
    EXPECT_OK(cuPointerGetAttribute(&value, which, address)) << "attribute " << which;
    return value;
  }

  CUdevice device = 0;
  CUcontext context = nullptr;
  std::vector<CUdeviceptr> allocated;
};
