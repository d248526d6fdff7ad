// Memory for the functions of the 32-bit era: addresses below 4 GiB, in contexts that their cuCtxCreate made.
#include <dlfcn.h>

#include "device_test.h"

namespace {

using LowAddress = unsigned;

// The header offers the newer names only, as the vendor's does.
template <class Function>
Function* oldFunction(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
}

class FirstApi : public DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    create = oldFunction<CUresult(CUcontext*, unsigned, CUdevice)>("cuCtxCreate");
    allocateLow = oldFunction<CUresult(LowAddress*, unsigned)>("cuMemAlloc");
    allocatePitch = oldFunction<CUresult(LowAddress*, unsigned*, unsigned, unsigned, unsigned)>("cuMemAllocPitch");
    release = oldFunction<CUresult(LowAddress)>("cuMemFree");
    toDevice = oldFunction<CUresult(LowAddress, const void*, unsigned)>("cuMemcpyHtoD");
    toHost = oldFunction<CUresult(void*, LowAddress, unsigned)>("cuMemcpyDtoH");
    fill = oldFunction<CUresult(LowAddress, unsigned char, unsigned)>("cuMemsetD8");
    range = oldFunction<CUresult(LowAddress*, unsigned*, LowAddress)>("cuMemGetAddressRange");
    ASSERT_OK(create(&old, 0, device));
  }
  void TearDown() override {
    if (old) {
      EXPECT_OK(cuCtxDestroy(old));
    }
    DeviceTest::TearDown();
  }

  CUcontext old = nullptr;
  CUresult (*create)(CUcontext*, unsigned, CUdevice) = nullptr;
  CUresult (*allocateLow)(LowAddress*, unsigned) = nullptr;
  CUresult (*allocatePitch)(LowAddress*, unsigned*, unsigned, unsigned, unsigned) = nullptr;
  CUresult (*release)(LowAddress) = nullptr;
  CUresult (*toDevice)(LowAddress, const void*, unsigned) = nullptr;
  CUresult (*toHost)(void*, LowAddress, unsigned) = nullptr;
  CUresult (*fill)(LowAddress, unsigned char, unsigned) = nullptr;
  CUresult (*range)(LowAddress*, unsigned*, LowAddress) = nullptr;
};

TEST_F(FirstApi, MemoryHasAddressesOf32Bits) {
  LowAddress small = 0, large = 0;
  EXPECT_OK(allocateLow(&small, 1000));
  EXPECT_OK(allocateLow(&large, 48u << 20));
  EXPECT_NE(small, 0u);
  EXPECT_EQ(large % (2u << 20), 0u);
  std::vector<unsigned char> out(1000, 7), in(1000);
  EXPECT_OK(fill(large, 9, 48u << 20));
  EXPECT_OK(toDevice(small, out.data(), 1000));
  EXPECT_OK(toHost(in.data(), small, 1000));
  EXPECT_EQ(in, out);
  EXPECT_OK(toHost(in.data(), large + (48u << 20) - 1000, 1000));
  EXPECT_EQ(in, std::vector<unsigned char>(1000, 9));

  LowAddress base = 0;
  unsigned size = 0;
  EXPECT_OK(range(&base, &size, small + 999));
  EXPECT_EQ(base, small);
  EXPECT_EQ(size, 1000u);
  EXPECT_EQ(toDevice(small, out.data(), 1001), CUDA_ERROR_INVALID_VALUE);
  EXPECT_OK(release(small));
  EXPECT_EQ(release(small), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(release(large + 4), CUDA_ERROR_INVALID_VALUE);
  EXPECT_OK(release(large));
  EXPECT_EQ(toDevice(small, out.data(), 1), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(FirstApi, RowsOfPitchedMemoryHaveThemToo) {
  LowAddress address = 0;
  unsigned pitch = 0;
  EXPECT_OK(allocatePitch(&address, &pitch, 100, 10, 4));
  EXPECT_NE(address, 0u);
  EXPECT_EQ(pitch, 512u);
  EXPECT_OK(fill(address, 1, 10 * pitch));
  EXPECT_EQ(fill(address, 1, 10 * pitch + 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_INVALID(allocatePitch(&address, &pitch, 100, 10, 5));
  EXPECT_INVALID(allocateLow(&address, 0));
}

// What the context still holds ends with it, and counts as used until then.
TEST_F(FirstApi, MemoryEndsWithItsContext) {
  size_t before = 0, during = 0, after = 0, total;
  ASSERT_OK(cuMemGetInfo(&before, &total));
  LowAddress address = 0;
  for (int i = 0; i < 10; ++i) EXPECT_OK(allocateLow(&address, 1u << 20));
  EXPECT_OK(cuMemGetInfo(&during, &total));
  EXPECT_LE(during + (10u << 20), before);
  EXPECT_OK(cuCtxDestroy(old));
  old = nullptr;
  ASSERT_OK(cuCtxSetCurrent(context));
  EXPECT_OK(cuMemGetInfo(&after, &total));
  EXPECT_EQ(after, before);
  EXPECT_EQ(cuMemsetD8(address, 0, 1), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(FirstApi, AddressesRunOutWithoutHarm) {
  std::vector<LowAddress> all;
  LowAddress address = 0;
  CUresult result;
  while ((result = allocateLow(&address, 512u << 20)) == CUDA_SUCCESS) all.push_back(address);
  EXPECT_EQ(result, CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_LT(all.size(), 8u);
  ASSERT_FALSE(all.empty());
  EXPECT_OK(release(all.back()));
  all.pop_back();
  EXPECT_OK(allocateLow(&address, 4096));
  EXPECT_OK(release(address));
  for (LowAddress each : all) EXPECT_OK(release(each));
}

}  // namespace
