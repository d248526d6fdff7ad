// Two GPUs on a fake kernel driver and an emulated device as the devices of this process: the driver API finds them as
// it finds real ones.
#pragma once

#include <cuda.h>
#include <gtest/gtest.h>

#include <vector>

#include "backend/nvidia/compute/qmd.h"
#include "gpu/fake_driver.h"

namespace vg::testing {

// Made with the devices, by the first cuInit.
FakeDriver& fakeDriver();

constexpr CUdevice kEmulatedDevice = 2;

// Grids whose blocks have this depth are taken for those of a test's own kernel, which does nothing; the library's own
// have depth 1. Their descriptors, in the order in which they ran.
constexpr unsigned kForeignDepth = 2;
std::vector<backend::nvidia::Qmd>& foreignGrids();

// A test with the primary context of the first GPU.
struct ApiTest : ::testing::Test {
  void SetUp() override;

  CUcontext context = nullptr, otherContext = nullptr;
};

#define OK(call) ASSERT_EQ(call, CUDA_SUCCESS)

}  // namespace vg::testing
