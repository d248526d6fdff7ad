// Short forms for tests of the driver API.
#pragma once

#include <cuda.h>
#include <gtest/gtest.h>

#define OK(call) ASSERT_EQ(call, CUDA_SUCCESS)

// A test that starts with an initialised driver and leaves the thread without contexts.
class DriverTest : public testing::Test {
 protected:
  void SetUp() override { OK(cuInit(0)); }
  void TearDown() override {
    CUcontext context = nullptr;
    while (cuCtxGetCurrent(&context) == CUDA_SUCCESS && context) ASSERT_EQ(cuCtxPopCurrent(&context), CUDA_SUCCESS);
  }
};

// With the primary context of device 0 current.
class PrimaryTest : public DriverTest {
 protected:
  void SetUp() override {
    DriverTest::SetUp();
    OK(cuDevicePrimaryCtxRetain(&primary, 0));
    OK(cuCtxSetCurrent(primary));
  }
  void TearDown() override {
    DriverTest::TearDown();
    ASSERT_EQ(cuDevicePrimaryCtxRelease(0), CUDA_SUCCESS);
  }
  CUcontext primary = nullptr;
};
