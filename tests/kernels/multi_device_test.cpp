// One cooperative kernel on two devices: the grids wait for each other's streams, before and behind.
#include <atomic>
#include <thread>

#include "kernels/fixture.h"

namespace kernels {
namespace {

// Adds one to a word for each thread.
std::string counting() {
  return module(entry("kernel", {".u64"}, "ld.param.u64 %rd1, [p0];\natom.global.add.u32 %r1, [%rd1], 1;\n"));
}

class TwoDevices : public KernelTest {
 protected:
  struct Part {
    CUcontext context = nullptr;
    CUstream stream = nullptr;
    CUfunction function = nullptr;
    CUdeviceptr counter = 0;
    void* values[1] = {&counter};
  };

  void SetUp() override {
    KernelTest::SetUp();
    int count = 0;
    ASSERT_EQ(cuDeviceGetCount(&count), CUDA_SUCCESS);
    ASSERT_GE(count, 2);
    for (int i = 0; i < 2; ++i) {
      ASSERT_EQ(cuDevicePrimaryCtxRetain(&parts[i].context, i), CUDA_SUCCESS);
      ASSERT_EQ(cuCtxPushCurrent(parts[i].context), CUDA_SUCCESS);
      ASSERT_EQ(cuStreamCreate(&parts[i].stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
      parts[i].function = function(counting());
      ASSERT_EQ(cuMemAlloc(&parts[i].counter, 4), CUDA_SUCCESS);
      ASSERT_EQ(cuMemsetD32(parts[i].counter, 0, 1), CUDA_SUCCESS);
      ASSERT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);  // the stream waits for no other
      ASSERT_EQ(cuCtxPopCurrent(nullptr), CUDA_SUCCESS);
      grids[i] = {parts[i].function, 3, 1, 1, 64, 1, 1, 0, parts[i].stream, parts[i].values};
    }
  }
  void TearDown() override {
    for (int i = 0; i < 2; ++i) EXPECT_EQ(cuDevicePrimaryCtxReset(i), CUDA_SUCCESS);
    for (int i = 0; i < 2; ++i) cuDevicePrimaryCtxRelease(i);
    KernelTest::TearDown();
  }
  CUresult launch(unsigned count = 2, unsigned flags = 0) {
    return cuLaunchCooperativeKernelMultiDevice(grids, count, flags);
  }
  uint32_t counted(int i) {
    uint32_t value = 0;
    EXPECT_EQ(cuStreamSynchronize(parts[i].stream), CUDA_SUCCESS);
    EXPECT_EQ(cuMemcpyDtoH(&value, parts[i].counter, 4), CUDA_SUCCESS);
    return value;
  }

  Part parts[2];
  CUDA_LAUNCH_PARAMS grids[2] = {};
};

TEST_F(TwoDevices, EachRunsItsGrid) {
  ASSERT_EQ(launch(), CUDA_SUCCESS);
  EXPECT_EQ(counted(0), 192u);
  EXPECT_EQ(counted(1), 192u);
}

TEST_F(TwoDevices, NoGridBeginsBeforeBothStreamsHaveComeToIt) {
  std::atomic<bool> open{false};
  const auto wait = [](void* gate) {
    while (!static_cast<std::atomic<bool>*>(gate)->load()) std::this_thread::yield();
  };
  ASSERT_EQ(cuLaunchHostFunc(parts[1].stream, wait, &open), CUDA_SUCCESS);
  ASSERT_EQ(launch(), CUDA_SUCCESS);
  EXPECT_EQ(cuStreamQuery(parts[0].stream), CUDA_ERROR_NOT_READY);
  open = true;
  EXPECT_EQ(counted(0), 192u);
}

TEST_F(TwoDevices, WithoutWaitingEachStreamGoesOn) {
  std::atomic<bool> open{false};
  const auto wait = [](void* gate) {
    while (!static_cast<std::atomic<bool>*>(gate)->load()) std::this_thread::yield();
  };
  ASSERT_EQ(cuLaunchHostFunc(parts[1].stream, wait, &open), CUDA_SUCCESS);
  ASSERT_EQ(launch(2, CUDA_COOPERATIVE_LAUNCH_MULTI_DEVICE_NO_PRE_LAUNCH_SYNC |
                          CUDA_COOPERATIVE_LAUNCH_MULTI_DEVICE_NO_POST_LAUNCH_SYNC),
            CUDA_SUCCESS);
  EXPECT_EQ(counted(0), 192u);
  EXPECT_EQ(cuStreamQuery(parts[1].stream), CUDA_ERROR_NOT_READY);
  open = true;
  EXPECT_EQ(counted(1), 192u);
}

TEST_F(TwoDevices, WhatDoesNotFitTogetherIsRefused) {
  EXPECT_EQ(cuLaunchCooperativeKernelMultiDevice(nullptr, 2, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(launch(0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(launch(99), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(launch(2, 4), CUDA_ERROR_INVALID_VALUE);
  const CUDA_LAUNCH_PARAMS good = grids[1];
  grids[1].hStream = nullptr;
  EXPECT_EQ(launch(), CUDA_ERROR_INVALID_HANDLE);
  grids[1] = good;
  grids[1].gridDimX = 4;
  EXPECT_EQ(launch(), CUDA_ERROR_INVALID_VALUE);
  grids[1] = grids[0];
  EXPECT_EQ(launch(), CUDA_ERROR_INVALID_DEVICE) << "twice on one device";
  grids[1] = good;
  EXPECT_EQ(launch(), CUDA_SUCCESS);
  EXPECT_EQ(counted(0), 192u);
}

}  // namespace
}  // namespace kernels
