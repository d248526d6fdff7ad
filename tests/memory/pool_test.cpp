#include <unistd.h>

#include <thread>

#include "device_test.h"

namespace {

class PoolTest : public DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    ASSERT_OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  }
  void TearDown() override {
    EXPECT_OK(cuStreamDestroy(stream));
    DeviceTest::TearDown();
  }
  static uint64_t poolValue(CUmemoryPool pool, CUmemPool_attribute which) {
    uint64_t value = 0;
    EXPECT_OK(cuMemPoolGetAttribute(pool, which, &value));
    return value;
  }
  CUstream stream = nullptr;
};

TEST_F(PoolTest, MemoryIsUsableInItsStreamAndFreedOnce) {
  CUdeviceptr address = 0;
  ASSERT_OK(cuMemAllocAsync(&address, 1000, stream));
  EXPECT_OK(cuMemsetD8Async(address, 5, 1000, stream));
  EXPECT_OK(cuStreamSynchronize(stream));
  EXPECT_EQ(read(address, 1000), std::vector<uint8_t>(1000, 5));
  EXPECT_OK(cuMemFreeAsync(address, stream));
  EXPECT_INVALID(cuMemFreeAsync(address, stream));
  EXPECT_INVALID(cuMemFree(address));
  EXPECT_OK(cuMemFreeAsync(0, stream));
  EXPECT_OK(cuMemAllocAsync(&address, 0, stream));
  EXPECT_EQ(address, 0u);
  EXPECT_INVALID(cuMemAllocAsync(nullptr, 64, stream));
  // MEMFREE-006
  ASSERT_OK(cuMemAllocAsync(&address, 1000, stream));
  EXPECT_OK(cuMemFree(address));
  ASSERT_OK(cuMemAlloc(&address, 1000));
  EXPECT_OK(cuMemFreeAsync(address, stream));
}

// As an H200 answers.
TEST_F(PoolTest, AccessOfNobodyIsSetAndDevicesAreLookedForBeforeFlags) {
  CUmemoryPool pool = nullptr;
  ASSERT_OK(cuDeviceGetDefaultMemPool(&pool, 0));
  CUmemAccessDesc access{{CU_MEM_LOCATION_TYPE_DEVICE, 0}, static_cast<CUmemAccess_flags>(5)};
  EXPECT_OK(cuMemPoolSetAccess(pool, &access, 0));
  EXPECT_INVALID(cuMemPoolSetAccess(pool, nullptr, 0));
  EXPECT_INVALID(cuMemPoolSetAccess(pool, &access, 1));
  access.location.id = 99;
  EXPECT_EQ(cuMemPoolSetAccess(pool, &access, 1), CUDA_ERROR_INVALID_DEVICE);
}

TEST_F(PoolTest, MemoryFreedInABusyStreamIsNotHandedToAnother) {
  CUdeviceptr address = 0, again = 0, other = 0;
  ASSERT_OK(cuMemAllocAsync(&address, 1000, stream));
  ASSERT_OK(cuLaunchHostFunc(
      stream, [](void*) { std::this_thread::sleep_for(std::chrono::milliseconds(50)); }, nullptr));
  ASSERT_OK(cuMemFreeAsync(address, stream));
  CUstream second;
  ASSERT_OK(cuStreamCreate(&second, CU_STREAM_NON_BLOCKING));
  ASSERT_OK(cuMemAllocAsync(&other, 1000, second));
  EXPECT_NE(other, address);
  ASSERT_OK(cuMemAllocAsync(&again, 1000, stream));
  EXPECT_EQ(again, address);  // in stream order it is free
  EXPECT_OK(cuMemFreeAsync(again, stream));
  EXPECT_OK(cuMemFreeAsync(other, second));
  EXPECT_OK(cuStreamSynchronize(stream));
  EXPECT_OK(cuStreamDestroy(second));
}

TEST_F(PoolTest, PoolsCountWhatTheyHandOut) {
  CUmemoryPool pool = nullptr, current = nullptr;
  ASSERT_OK(cuDeviceGetDefaultMemPool(&pool, device));
  ASSERT_OK(cuDeviceGetMemPool(&current, device));
  EXPECT_EQ(pool, current);
  const uint64_t before = poolValue(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT);
  CUdeviceptr address = 0;
  ASSERT_OK(cuMemAllocAsync(&address, 1 << 20, stream));
  EXPECT_EQ(poolValue(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT), before + (1 << 20));
  EXPECT_EQ(attribute<CUmemoryPool>(CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, address), pool);
  EXPECT_OK(cuMemFreeAsync(address, stream));
  EXPECT_EQ(poolValue(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT), before);
  uint64_t threshold = 77;
  EXPECT_OK(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold));
  EXPECT_EQ(poolValue(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD), 77u);
  EXPECT_INVALID(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &threshold));
  EXPECT_INVALID(cuMemPoolDestroy(pool));
  EXPECT_OK(cuMemPoolTrimTo(pool, 0));
}

TEST_F(PoolTest, APoolOfOneHasItsLimitAndOutlivesNothing) {
  CUmemPoolProps props{};
  props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  props.location = {CU_MEM_LOCATION_TYPE_DEVICE, {device}};
  props.maxSize = 64 << 20;
  CUmemoryPool pool = nullptr;
  ASSERT_OK(cuMemPoolCreate(&pool, &props));
  CUdeviceptr address = 0, more = 0;
  ASSERT_OK(cuMemAllocFromPoolAsync(&address, 48 << 20, pool, stream));
  EXPECT_EQ(cuMemAllocFromPoolAsync(&more, 48 << 20, pool, stream), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_OK(cuMemPoolDestroy(pool));
  EXPECT_INVALID(cuMemPoolDestroy(pool));
  EXPECT_INVALID(cuMemAllocFromPoolAsync(&more, 64, pool, stream));
  EXPECT_OK(cuMemFreeAsync(address, stream));
  props.maxSize = 1000;  // pools take 32 MiB at a time
  ASSERT_OK(cuMemPoolCreate(&pool, &props));
  EXPECT_OK(cuMemAllocFromPoolAsync(&address, 20 << 20, pool, stream));
  EXPECT_EQ(cuMemAllocFromPoolAsync(&more, 20 << 20, pool, stream), CUDA_ERROR_OUT_OF_MEMORY);
  CUmemAccessDesc access{};
  EXPECT_OK(cuMemPoolSetAccess(pool, &access, 0));
  EXPECT_INVALID(cuMemPoolSetAccess(pool, nullptr, 0));
  EXPECT_OK(cuMemFreeAsync(address, stream));
  EXPECT_OK(cuMemPoolDestroy(pool));
  props.maxSize = size_t{1} << 44;  // more than any device has
  ASSERT_OK(cuMemPoolCreate(&pool, &props));
  EXPECT_OK(cuMemPoolDestroy(pool));
  props.maxSize = size_t{1} << 45;
  EXPECT_EQ(cuMemPoolCreate(&pool, &props), CUDA_ERROR_OUT_OF_MEMORY);
  props.maxSize = 0;
  props.location.id = 99;
  EXPECT_INVALID(cuMemPoolCreate(&pool, &props));
  EXPECT_INVALID(cuMemPoolDestroy(reinterpret_cast<CUmemoryPool>(16)));
}

TEST_F(PoolTest, PointersAreExportedOnceTheirPoolIs) {
  CUmemPoolProps props{};
  props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  props.location = {CU_MEM_LOCATION_TYPE_DEVICE, {device}};
  props.handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  CUmemoryPool pool = nullptr;
  CUdeviceptr address = 0;
  CUmemPoolPtrExportData data;
  int descriptor = -1;
  ASSERT_OK(cuMemPoolCreate(&pool, &props));
  ASSERT_OK(cuMemAllocFromPoolAsync(&address, 5000, pool, stream));
  EXPECT_INVALID(cuMemPoolExportPointer(&data, address));
  ASSERT_OK(cuMemPoolExportToShareableHandle(&descriptor, pool, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
  EXPECT_OK(cuMemPoolExportPointer(&data, address));
  EXPECT_EQ(close(descriptor), 0);
  EXPECT_OK(cuMemFreeAsync(address, stream));
  EXPECT_OK(cuMemPoolDestroy(pool));
}

}  // namespace
