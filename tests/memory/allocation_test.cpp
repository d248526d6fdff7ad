#include <thread>

#include "device_test.h"

namespace {

using AllocationTest = DeviceTest;

// MEMALLOC-001, MEMALLOC-002: and the alignment that the recorded driver gives.
TEST_F(AllocationTest, MemoryCanBeWrittenAndReadBackAndIsAligned) {
  for (size_t bytes : {size_t{1}, size_t{513}, size_t{40000}, size_t{1} << 20, (size_t{5} << 20) + 1}) {
    const CUdeviceptr address = allocate(bytes);
    EXPECT_EQ(address % 512, 0u);
    const std::vector<uint8_t> content = bytesFrom(7, bytes);
    EXPECT_OK(cuMemcpyHtoD(address, content.data(), bytes));
    EXPECT_EQ(read(address, bytes), content);
  }
}

// MEMALLOC-004
TEST_F(AllocationTest, NoBytesAndNoPlaceForTheAddressAreInvalid) {
  CUdeviceptr address = 1;
  EXPECT_INVALID(cuMemAlloc(&address, 0));
  EXPECT_INVALID(cuMemAlloc(nullptr, 64));
}

TEST_F(AllocationTest, MoreThanTheDeviceHasIsOutOfMemoryAndClearsTheAddress) {
  size_t total = 0;
  ASSERT_OK(cuDeviceTotalMem(&total, device));
  for (size_t bytes : {total + 1, size_t{1} << 60, SIZE_MAX}) {
    CUdeviceptr address = 0xdead;
    EXPECT_EQ(cuMemAlloc(&address, bytes), CUDA_ERROR_OUT_OF_MEMORY);
    EXPECT_EQ(address, 0u);
  }
  EXPECT_NE(allocate(64), 0u);
}

TEST_F(AllocationTest, TheDeviceFillsUpExactlyAndRecovers) {
  size_t free = 0, total = 0, after = 0;
  ASSERT_OK(cuMemGetInfo(&free, &total));
  std::vector<CUdeviceptr> all;
  CUdeviceptr address;
  while (cuMemAlloc(&address, 64 << 20) == CUDA_SUCCESS) all.push_back(address);
  EXPECT_EQ(all.size(), free >> 26);
  for (CUdeviceptr each : all) EXPECT_OK(cuMemFree(each));
  ASSERT_OK(cuMemGetInfo(&after, &total));
  EXPECT_EQ(after, free);
  EXPECT_OK(cuMemAlloc(&address, free));
  EXPECT_OK(cuMemFree(address));
}

// MEMFREE-001, MEMFREE-002
TEST_F(AllocationTest, FreeingTwiceOrElsewhereIsInvalidAndHarmless) {
  const CUdeviceptr address = allocate(4096);
  std::vector<int> host(16);
  EXPECT_INVALID(cuMemFree(address + 1));
  EXPECT_INVALID(cuMemFree(address + 512));
  EXPECT_INVALID(cuMemFree(reinterpret_cast<CUdeviceptr>(host.data())));
  EXPECT_INVALID(cuMemFree(0x1234));
  EXPECT_OK(cuMemFree(0));
  EXPECT_OK(cuMemcpyHtoD(address, host.data(), 64));
  EXPECT_OK(cuMemFree(address));
  EXPECT_INVALID(cuMemFree(address));
}

// MEMGETINFO-001, MEMGETINFO-002: granules of 2 MiB, as recorded.
TEST_F(AllocationTest, FreeMemoryFallsByWholeGranulesAndComesBack) {
  size_t before = 0, after = 0, total = 0, whole = 0;
  ASSERT_OK(cuMemGetInfo(&before, &total));
  ASSERT_OK(cuDeviceTotalMem(&whole, device));
  EXPECT_EQ(total, whole);
  CUdeviceptr one, three;
  ASSERT_OK(cuMemAlloc(&one, 1));
  ASSERT_OK(cuMemAlloc(&three, 3 << 20));
  ASSERT_OK(cuMemGetInfo(&after, nullptr));
  EXPECT_EQ(before - after, 6u << 20);
  EXPECT_OK(cuMemFree(one));
  EXPECT_OK(cuMemFree(three));
  ASSERT_OK(cuMemGetInfo(&after, nullptr));
  EXPECT_EQ(before, after);
}

// MEMALLOCPITCH-001 to 005, 008
TEST_F(AllocationTest, PitchesAreMultiplesOf512) {
  for (size_t width : {1, 512, 513, 4097, 100000}) {
    CUdeviceptr address;
    size_t pitch;
    ASSERT_OK(cuMemAllocPitch(&address, &pitch, width, 10, 4));
    EXPECT_EQ(pitch, (width + 511) / 512 * 512);
    CUdeviceptr base;
    size_t size;
    EXPECT_OK(cuMemGetAddressRange(&base, &size, address + 9 * pitch + width - 1));
    EXPECT_EQ(base, address);
    EXPECT_EQ(size, pitch * 10);
    EXPECT_OK(cuMemFree(address));
  }
  CUdeviceptr address;
  size_t pitch;
  for (unsigned element : {0u, 1u, 2u, 3u, 32u}) EXPECT_INVALID(cuMemAllocPitch(&address, &pitch, 64, 4, element));
  EXPECT_INVALID(cuMemAllocPitch(&address, &pitch, 0, 4, 4));
  EXPECT_INVALID(cuMemAllocPitch(&address, &pitch, 64, 0, 4));
}

// What is refused leaves no address; the pitch is told where only the memory is missing. Rows that wrap to nothing are
// an invalid value, as the vendor's driver multiplies.
TEST_F(AllocationTest, RefusedPitchedMemoryLeavesZeros) {
  const struct {
    size_t width, height;
    CUresult result;
    size_t pitch;
  } cases[] = {{0, 4, CUDA_ERROR_INVALID_VALUE, 0},
               {64, 0, CUDA_ERROR_INVALID_VALUE, 0},
               {SIZE_MAX, 1, CUDA_ERROR_INVALID_VALUE, 0},
               {1, SIZE_MAX, CUDA_ERROR_OUT_OF_MEMORY, 512},
               {1, size_t{1} << 40, CUDA_ERROR_OUT_OF_MEMORY, 512},
               {1, (size_t{1} << 55) + 1, CUDA_ERROR_OUT_OF_MEMORY, 512},
               {1, size_t{1} << 62, CUDA_ERROR_INVALID_VALUE, 512},
               {size_t{1} << 40, size_t{1} << 40, CUDA_ERROR_INVALID_VALUE, size_t{1} << 40}};
  for (const auto& one : cases) {
    CUdeviceptr address = 77;
    size_t pitch = 88;
    EXPECT_EQ(cuMemAllocPitch(&address, &pitch, one.width, one.height, 4), one.result) << one.width << one.height;
    EXPECT_EQ(address, 0u);
    EXPECT_EQ(pitch, one.pitch);
  }
}

// MEMADDRRANGE-001 to 005
TEST_F(AllocationTest, AddressRangesAreWhatWasAskedFor) {
  const CUdeviceptr address = allocate(1000);
  CUdeviceptr base = 0;
  size_t size = 0;
  for (size_t offset : {0, 1, 999}) {
    EXPECT_OK(cuMemGetAddressRange(&base, &size, address + offset));
    EXPECT_EQ(base, address);
    EXPECT_EQ(size, 1000u);
  }
  EXPECT_OK(cuMemGetAddressRange(nullptr, &size, address));
  EXPECT_OK(cuMemGetAddressRange(&base, nullptr, address));
  EXPECT_EQ(cuMemGetAddressRange(&base, &size, address + 1000), CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(cuMemGetAddressRange(&base, &size, 0), CUDA_ERROR_NOT_FOUND);
}

TEST_F(AllocationTest, AContextTakesItsMemoryWithIt) {
  CUcontext other;
  ASSERT_OK(cuCtxCreate(&other, nullptr, 0, device));
  CUdeviceptr theirs;
  void* pinned;
  std::vector<char> registered(10000);
  ASSERT_OK(cuMemAlloc(&theirs, 5000));
  ASSERT_OK(cuMemHostAlloc(&pinned, 5000, CU_MEMHOSTALLOC_PORTABLE));
  ASSERT_OK(cuMemHostRegister(registered.data(), registered.size(), 0));
  ASSERT_OK(cuCtxDestroy(other));
  ASSERT_OK(cuCtxSetCurrent(context));
  EXPECT_INVALID(cuMemFree(theirs));
  EXPECT_INVALID(cuMemFreeHost(pinned));
  EXPECT_EQ(cuMemHostUnregister(registered.data()), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
  EXPECT_OK(cuMemHostRegister(registered.data(), registered.size(), 0));
  EXPECT_OK(cuMemHostUnregister(registered.data()));
}

TEST_F(AllocationTest, FreeingWaitsForTheWorkOfTheContext) {
  const CUdeviceptr address = allocate(64), other = allocate(64);
  CUstream stream;
  ASSERT_OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  static bool done;
  done = false;
  ASSERT_OK(cuLaunchHostFunc(
      stream,
      [](void* flag) {
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        *static_cast<bool*>(flag) = true;
      },
      &done));
  ASSERT_OK(cuMemFree(other));
  allocated.pop_back();
  EXPECT_TRUE(done);
  EXPECT_OK(cuStreamDestroy(stream));
  EXPECT_OK(cuMemsetD8(address, 1, 64));
}

TEST_F(AllocationTest, ManyThreadsAllocateAndFreeAtOnce) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([this, t] {
      ASSERT_OK(cuCtxSetCurrent(context));
      std::vector<CUdeviceptr> mine;
      for (int i = 0; i < 400; ++i) {
        CUdeviceptr address;
        ASSERT_OK(cuMemAlloc(&address, 100 + i * 997 % 200000));
        const uint64_t mark = address + t;
        ASSERT_OK(cuMemcpyHtoD(address, &mark, sizeof mark));
        mine.push_back(address);
        if (i % 3) continue;
        uint64_t seen = 0;
        const CUdeviceptr victim = mine[mine.size() / 2];
        ASSERT_OK(cuMemcpyDtoH(&seen, victim, sizeof seen));
        ASSERT_EQ(seen, victim + t);
        ASSERT_OK(cuMemFree(victim));
        mine.erase(mine.begin() + static_cast<long>(mine.size() / 2));
      }
      for (CUdeviceptr address : mine) ASSERT_OK(cuMemFree(address));
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
