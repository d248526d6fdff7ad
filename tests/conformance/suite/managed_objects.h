// A variable that PTX declares managed, and what its tests ask of it.
#pragma once

#include <cuda.h>
#include <gtest/gtest.h>

#include "results.h"

namespace suite {

class ManagedVariable {
 public:
  ManagedVariable() {
    static constexpr char kPtx[] = R"(.version 6.5
.target sm_50
.address_size 64
.visible .global .attribute(.managed) .align 4 .u32 managed_value = 41;
.visible .entry touch() {
  .reg .u32 %v;
  ld.global.u32 %v, [managed_value];
  add.u32 %v, %v, 1;
  st.global.u32 [managed_value], %v;
  ret;
}
)";
    EXPECT_OK(cuModuleLoadData(&module_, kPtx));
    EXPECT_OK(cuModuleGetGlobal(&address_, &size_, module_, "managed_value"));
    EXPECT_OK(cuModuleGetFunction(&touch_, module_, "touch"));
  }
  ManagedVariable(const ManagedVariable&) = delete;
  ManagedVariable& operator=(const ManagedVariable&) = delete;
  ~ManagedVariable() { EXPECT_OK(cuModuleUnload(module_)); }

  operator CUdeviceptr() const { return address_; }
  size_t size() const { return size_; }
  volatile unsigned& value() const { return *reinterpret_cast<volatile unsigned*>(address_); }
  // Adds 1 to it, on the device.
  void increment(CUstream stream) const {
    EXPECT_OK(cuLaunchKernel(touch_, 1, 1, 1, 1, 1, 1, 0, stream, nullptr, nullptr));
  }

 private:
  CUmodule module_ = nullptr;
  CUfunction touch_ = nullptr;
  CUdeviceptr address_ = 0;
  size_t size_ = 0;
};

// The 32-bit word at an address that the host may read.
inline volatile unsigned& wordAt(CUdeviceptr address) { return *reinterpret_cast<volatile unsigned*>(address); }

}  // namespace suite
