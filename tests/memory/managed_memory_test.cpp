// Managed memory: more of it than there is memory, and advice that outlives nothing.
#include "device_test.h"

namespace {

using ManagedMemory = DeviceTest;

CUdeviceptr managed(size_t bytes) {
  CUdeviceptr address = 0;
  EXPECT_EQ(cuMemAllocManaged(&address, bytes, CU_MEM_ATTACH_GLOBAL), CUDA_SUCCESS);
  return address;
}

int readMostly(CUdeviceptr address) {
  int value = -1;
  EXPECT_EQ(cuMemRangeGetAttribute(&value, sizeof value, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, address, 1), CUDA_SUCCESS);
  return value;
}

TEST_F(ManagedMemory, MoreThanThereIsMemoryIsHadAsLongAsItIsNotTouched) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "the sanitizer leaves no range of addresses that long";
#endif
  constexpr size_t kVast = size_t{1} << 40;
  for (int round = 0; round < 2; ++round) {
    const CUdeviceptr address = managed(kVast);
    ASSERT_NE(address, 0u);
    for (const size_t offset : {size_t{0}, kVast / 2 + 12345, kVast - 1}) {
      EXPECT_EQ(cuMemsetD8(address + offset, 0x5A, 1), CUDA_SUCCESS);
      EXPECT_EQ(*reinterpret_cast<volatile unsigned char*>(address + offset), 0x5A);
    }
    CUdeviceptr base = 0;
    size_t size = 0;
    EXPECT_EQ(cuMemGetAddressRange(&base, &size, address + kVast - 1), CUDA_SUCCESS);
    EXPECT_EQ(base, address);
    EXPECT_EQ(size, kVast);
    EXPECT_EQ(cuMemFree(address), CUDA_SUCCESS);
    EXPECT_EQ(cuMemGetAddressRange(&base, &size, address + kVast / 2), CUDA_ERROR_NOT_FOUND);
  }
}

TEST_F(ManagedMemory, ItsAddressesAreNoReservation) {
  const CUdeviceptr address = managed(size_t{4} << 20);
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  CUmemGenericAllocationHandle memory = 0;
  ASSERT_EQ(cuMemCreate(&memory, size_t{2} << 20, &properties, 0), CUDA_SUCCESS);
  EXPECT_EQ(cuMemMap(address, size_t{2} << 20, 0, memory, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemAddressFree(address, size_t{4} << 20), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemRelease(memory), CUDA_SUCCESS);
  EXPECT_EQ(cuMemFree(address), CUDA_SUCCESS);
}

TEST_F(ManagedMemory, AdviceEndsWithTheAllocation) {
  for (int i = 0; i < 300; ++i) {
    const CUdeviceptr address = managed(4096);
    EXPECT_EQ(readMostly(address), 0) << "round " << i;
    EXPECT_EQ(cuMemAdvise(address, 4096, CU_MEM_ADVISE_SET_READ_MOSTLY, {CU_MEM_LOCATION_TYPE_DEVICE, 0}),
              CUDA_SUCCESS);
    EXPECT_EQ(readMostly(address), 1);
    EXPECT_EQ(cuMemFree(address), CUDA_SUCCESS);
  }
}

}  // namespace
