// The fixture of nearly every test: device 0 with its primary context current.
#pragma once

#include <cuda.h>
#include <gtest/gtest.h>

#include <cstddef>

namespace suite {

// The primary context of device 0 is retained once for the process and current in each test. TearDown drains it, makes
// it current again, and checks that no error stuck and that device memory came back.
class Device : public testing::Test {
 public:
  static CUdevice device;
  static CUcontext context;

  // An attribute of device 0.
  static int attribute(CUdevice_attribute which);

 protected:
  void SetUp() override;
  void TearDown() override;

  // Tests that keep device memory on purpose (caches, pools of the driver) set this to false.
  bool checksMemory_ = true;

 private:
  size_t freeBefore_ = 0;
};

// As Device for tests that put the device in error: each runs in a process of its own (derive suites whose name
// contains "Fault" from it), and TearDown checks nothing.
class DeviceFault : public Device {
 protected:
  void TearDown() override {}
};

}  // namespace suite
