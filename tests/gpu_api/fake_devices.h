// Two GPUs on a fake kernel driver and an emulated device as the devices of this process: the driver API finds them as
// it finds real ones.
#pragma once

#include <cuda.h>
#include <gtest/gtest.h>

#include "gpu/fake_driver.h"

namespace vg::testing {

// Made with the devices, by the first cuInit.
FakeDriver& fakeDriver();

constexpr CUdevice kEmulatedDevice = 2;

// A test with the primary context of the first GPU.
struct ApiTest : ::testing::Test {
  void SetUp() override;

  CUcontext context = nullptr, otherContext = nullptr;
};

#define OK(call) ASSERT_EQ(call, CUDA_SUCCESS)

}  // namespace vg::testing
