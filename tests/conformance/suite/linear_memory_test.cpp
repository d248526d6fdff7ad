// Linear device memory: cuMemAlloc, cuMemFree, cuMemGetAddressRange, cuMemGetInfo.
#include <algorithm>
#include <atomic>
#include <memory>
#include <thread>

#include "suite.h"

namespace {

constexpr size_t kMiB = size_t{1} << 20;

size_t freeNow() {
  size_t free = 0, total = 0;
  EXPECT_OK(cuMemGetInfo(&free, &total));
  return free;
}

// ---- cuMemAlloc ----

using LinearMemory = Device;

TEST_F(LinearMemory, EveryByteOfAnAllocationHoldsWhatIsWritten) {
  PROVES("MEMALLOC-001");
  for (size_t size : {size_t{1}, size_t{3}, size_t{512}, size_t{4097}, 3 * kMiB + 5}) {
    const DeviceBuffer buffer(size);
    ASSERT_NE(CUdeviceptr{buffer}, 0u);
    buffer.write(pattern(size, 1));
    EXPECT_EQ(buffer.read(), pattern(size, 1)) << size << " bytes";
  }
}

TEST_F(LinearMemory, AllocationsDoNotOverlap) {
  PROVES("MEMALLOC-001");
  std::vector<std::unique_ptr<DeviceBuffer>> buffers;
  for (unsigned i = 0; i < 64; ++i) buffers.push_back(std::make_unique<DeviceBuffer>(pattern(100 + i, i)));
  for (unsigned i = 0; i < 64; ++i) EXPECT_EQ(buffers[i]->read(), pattern(100 + i, i)) << "allocation " << i;
}

// The manual names no number; the driver aligns to 512 and keeps that distance.
TEST_F(LinearMemory, SmallAllocationsAreAlignedTo512Bytes) {
  PROVES("MEMALLOC-002");
  std::vector<std::unique_ptr<DeviceBuffer>> buffers;
  std::vector<CUdeviceptr> addresses;
  for (int i = 0; i < 64; ++i) {
    buffers.push_back(std::make_unique<DeviceBuffer>(1));
    addresses.push_back(*buffers.back());
  }
  std::sort(addresses.begin(), addresses.end());
  for (size_t i = 0; i < addresses.size(); ++i) {
    EXPECT_EQ(addresses[i] % 512, 0u);
    if (i) {
      EXPECT_GE(addresses[i] - addresses[i - 1], 512u);
    }
  }
}

// What freed memory held may be seen again: nothing clears it, neither here nor in the driver.
TEST_F(LinearMemory, ReusedMemoryIsNotCleared) {
  PROVES("MEMALLOC-003");
  constexpr size_t kSize = 100000;
  const DeviceBuffer neighbour(512);  // keeps the block of small allocations alive
  CUdeviceptr first = 0;
  {
    const DeviceBuffer buffer(pattern(kSize, 7));
    first = buffer;
  }
  const DeviceBuffer again(kSize);
  if (CUdeviceptr{again} != first) GTEST_SKIP() << "the allocation came from another place";
  EXPECT_EQ(again.read(), pattern(kSize, 7));
}

TEST_F(LinearMemory, AllocationsOfNothingAreRefused) {
  PROVES("MEMALLOC-004", "MEMALLOC-005");
  CUdeviceptr p = 0;
  EXPECT_INVALID_VALUE(cuMemAlloc(&p, 0));
  EXPECT_INVALID_VALUE(cuMemAlloc(nullptr, 64));
}

TEST_F(LinearMemory, WhatIsLargerThanTheDeviceIsOutOfMemory) {
  PROVES("MEMALLOC-005");
  size_t free = 0, total = 0;
  ASSERT_OK(cuMemGetInfo(&free, &total));
  for (size_t size : {total + 1, size_t{1} << 60, SIZE_MAX}) {
    CUdeviceptr p = 0xdead;
    const CUresult result = cuMemAlloc(&p, size);
    EXPECT_EQ(result, CUDA_ERROR_OUT_OF_MEMORY) << size;
    EXPECT_EQ(p, 0u) << "the output of a failed allocation is null";
    EXPECT_TRUE(isDocumented("MEMALLOC-005", result));
  }
  const DeviceBuffer after(64);
}

// ---- cuMemFree ----

using LinearFree = Device;

TEST_F(LinearFree, FreedMemoryComesBack) {
  PROVES("MEMFREE-001", "MEMFREE-003", "MEMGETINFO-002");
  const size_t before = freeNow();
  CUdeviceptr p = 0;
  ASSERT_OK(cuMemAlloc(&p, 256 * kMiB));
  EXPECT_LE(freeNow() + 256 * kMiB, before);
  EXPECT_OK(cuMemFree(p));
  EXPECT_GE(freeNow(), before);
  EXPECT_INVALID_VALUE(cuMemcpyDtoD(p, p + 64, 4)) << "the memory is gone";
}

TEST_F(LinearFree, EveryKindOfDeviceMemoryIsReleasedHere) {
  PROVES("MEMFREE-003", "MEMFREE-004", "MEMFREE-005", "MEMALLOCPITCH-011");
  CUdeviceptr plain = 0, pitched = 0, managed = 0;
  size_t pitch = 0;
  ASSERT_OK(cuMemAlloc(&plain, 1000));
  ASSERT_OK(cuMemAllocPitch(&pitched, &pitch, 100, 10, 4));
  ASSERT_OK(cuMemAllocManaged(&managed, 1000, CU_MEM_ATTACH_GLOBAL));
  for (CUdeviceptr p : {plain, pitched, managed}) {
    EXPECT_OK(cuMemFree(p));
    CUdeviceptr base = 0;
    size_t size = 0;
    EXPECT_EQ(cuMemGetAddressRange(&base, &size, p), CUDA_ERROR_NOT_FOUND) << "it is no allocation any more";
  }
}

TEST_F(LinearFree, StreamOrderedMemoryMayBeReleasedHere) {
  PROVES("MEMFREE-006", "MEMFREE-007");
  const Stream stream;
  CUdeviceptr fromDefault = 0, fromPool = 0;
  CUmemoryPool pool = nullptr;
  ASSERT_OK(cuDeviceGetDefaultMemPool(&pool, device));
  ASSERT_OK(cuMemAllocAsync(&fromDefault, 1000, stream));
  ASSERT_OK(cuMemAllocFromPoolAsync(&fromPool, 1000, pool, stream));
  stream.synchronize();
  EXPECT_OK(cuMemFree(fromDefault));
  EXPECT_OK(cuMemFree(fromPool));
}

// MEMFREE-009 says that the caller waits first; so the work here does not touch the memory.
TEST_F(LinearFree, StreamOrderedMemoryIsReleasedWithoutWaiting) {
  PROVES("MEMFREE-008");
  const Stream other, stream;
  CUdeviceptr p = 0;
  ASSERT_OK(cuMemAllocAsync(&p, 1000, stream));
  stream.synchronize();
  launchSpin(other, 0.3);
  EXPECT_OK(cuMemFree(p));
  EXPECT_FALSE(other.idle()) << "cuMemFree waited for work of another stream";
}

// The manual allows both; the driver waits for everything that the context is doing.
TEST_F(LinearFree, OtherMemoryIsReleasedWhenTheContextIsIdle) {
  PROVES("MEMFREE-011");
  const Stream other;
  CUdeviceptr p = 0;
  ASSERT_OK(cuMemAlloc(&p, 1000));
  launchSpin(other, 0.1);
  EXPECT_OK(cuMemFree(p));
  EXPECT_TRUE(other.idle());
}

TEST_F(LinearFree, OnlyTheStartOfALiveAllocationIsAccepted) {
  PROVES("MEMFREE-002", "MEMFREE-012");
  CUdeviceptr p = 0;
  ASSERT_OK(cuMemAlloc(&p, 4096));
  Bytes host(16);
  EXPECT_INVALID_VALUE(cuMemFree(p + 256)) << "inside an allocation";
  writeDevice(p, pattern(64));
  EXPECT_EQ(readDevice(p, 64), pattern(64)) << "still usable";
  EXPECT_OK(cuMemFree(p));
  EXPECT_INVALID_VALUE(cuMemFree(p)) << "twice";
  EXPECT_INVALID_VALUE(cuMemFree(0x1234560000)) << "wild";
  EXPECT_INVALID_VALUE(cuMemFree(reinterpret_cast<CUdeviceptr>(host.data()))) << "pageable";
  const PinnedBuffer pinned(64);
  EXPECT_INVALID_VALUE(cuMemFree(pinned)) << "page-locked host memory";
  EXPECT_OK(cuMemFree(0)) << "null is nothing to free";
  const DeviceBuffer after(64);
}

// ---- cuMemGetAddressRange ----

using AddressRange = Device;

void expectRange(CUdeviceptr base, size_t size) {
  for (size_t inside : {size_t{0}, size / 3, size / 2, size - 1}) {
    CUdeviceptr foundBase = 0;
    size_t foundSize = 0;
    EXPECT_OK(cuMemGetAddressRange(&foundBase, &foundSize, base + inside)) << "at +" << inside;
    EXPECT_EQ(foundBase, base);
    EXPECT_EQ(foundSize, size);
  }
}

TEST_F(AddressRange, IsThatOfTheAllocationAroundAnyAddressInIt) {
  PROVES("MEMADDRRANGE-001", "MEMADDRRANGE-002", "MEMADDRRANGE-003");
  for (size_t size : {size_t{1}, size_t{100}, size_t{1000}, 5 * kMiB + 7}) {
    const DeviceBuffer buffer(size);
    expectRange(buffer, size);
  }
}

TEST_F(AddressRange, IsKnownOfEveryKindOfMemory) {
  PROVES("MEMADDRRANGE-001", "MEMADDRRANGE-002");
  expectRange(PinnedBuffer(5000), 5000);
  expectRange(ManagedBuffer(5000), 5000);
  CUdeviceptr pitched = 0;
  size_t pitch = 0;
  ASSERT_OK(cuMemAllocPitch(&pitched, &pitch, 100, 10, 4));
  expectRange(pitched, pitch * 10);
  EXPECT_OK(cuMemFree(pitched));
}

// The range starts and ends inside of pages.
TEST_F(AddressRange, OfRegisteredHostMemoryIsWhatWasRegistered) {
  PROVES("MEMADDRRANGE-008");
  Bytes memory(5 * 4096);
  uint8_t* const start = memory.data() + (4096 - reinterpret_cast<uintptr_t>(memory.data()) % 4096) + 100;
  ASSERT_OK(cuMemHostRegister(start, 10000, 0));
  CUdeviceptr device = 0;
  EXPECT_OK(cuMemHostGetDevicePointer(&device, start, 0));
  expectRange(device, 10000);
  EXPECT_OK(cuMemHostUnregister(start));
}

TEST_F(AddressRange, EitherAnswerMayBeLeftOut) {
  PROVES("MEMADDRRANGE-004", "MEMADDRRANGE-005");
  const DeviceBuffer buffer(1000);
  CUdeviceptr base = 0;
  size_t size = 0;
  EXPECT_OK(cuMemGetAddressRange(nullptr, &size, buffer + 10));
  EXPECT_EQ(size, 1000u);
  EXPECT_OK(cuMemGetAddressRange(&base, nullptr, buffer + 10));
  EXPECT_EQ(base, CUdeviceptr{buffer});
  EXPECT_OK(cuMemGetAddressRange(nullptr, nullptr, buffer));
}

TEST_F(AddressRange, AddressesOfNoAllocationAreNotFound) {
  PROVES("MEMADDRRANGE-006");
  CUdeviceptr base = 0, freed = 0;
  size_t size = 0;
  Bytes host(16);
  const DeviceBuffer buffer(1000);
  ASSERT_OK(cuMemAlloc(&freed, 64 * kMiB));
  ASSERT_OK(cuMemFree(freed));
  for (CUdeviceptr nowhere :
       {CUdeviceptr{0}, buffer + 1000, buffer + 1023, freed, reinterpret_cast<CUdeviceptr>(host.data())}) {
    const CUresult result = cuMemGetAddressRange(&base, &size, nowhere);
    EXPECT_EQ(result, CUDA_ERROR_NOT_FOUND) << std::hex << nowhere;
    EXPECT_TRUE(isDocumented("MEMADDRRANGE-006", result));
  }
}

// ---- cuMemGetInfo ----

using MemoryInfo = Device;

TEST_F(MemoryInfo, TotalIsTheDevicesMemory) {
  PROVES("MEMGETINFO-001", "MEMGETINFO-002");
  size_t free = 0, total = 0, ofDevice = 0;
  EXPECT_OK(cuMemGetInfo(&free, &total));
  EXPECT_OK(cuDeviceTotalMem(&ofDevice, device));
  EXPECT_GT(total, 0u);
  EXPECT_EQ(total, ofDevice);
  EXPECT_LE(free, total);
}

TEST_F(MemoryInfo, FreeFallsInPagesOf2MiB) {
  PROVES("MEMGETINFO-002");
  const size_t before = freeNow();
  {
    const DeviceBuffer buffer(64 * kMiB);
    EXPECT_EQ(before - freeNow(), 64 * kMiB);
  }
  EXPECT_EQ(freeNow(), before);
}

TEST_F(MemoryInfo, AllThatIsFreeNeedNotBeAllocatable) {
  PROVES("MEMGETINFO-003");
  size_t free = 0, total = 0;
  ASSERT_OK(cuMemGetInfo(&free, &total));
  CUdeviceptr p = 0;
  const CUresult result = cuMemAlloc(&p, free);  // both answers are right; what it says must be true
  EXPECT_TRUE(result == CUDA_SUCCESS || result == CUDA_ERROR_OUT_OF_MEMORY) << result;
  EXPECT_EQ(result == CUDA_SUCCESS, p != 0);
  if (p) {
    EXPECT_LT(freeNow(), free);
    EXPECT_OK(cuMemFree(p));
  }
}

// The values may be stale at once; they must not be nonsense.
TEST_F(MemoryInfo, StaysPlausibleWhileOthersAllocate) {
  PROVES("MEMGETINFO-004");
  std::atomic<bool> stop = false;
  std::thread other([&] {
    EXPECT_OK(cuCtxSetCurrent(context));
    while (!stop) const DeviceBuffer buffer(8 * kMiB);
  });
  const size_t before = freeNow();
  for (int i = 0; i < 200; ++i) {
    size_t free = 0, total = 0;
    EXPECT_OK(cuMemGetInfo(&free, &total));
    EXPECT_LE(free, total);
    EXPECT_GE(free + 64 * kMiB, before);
  }
  stop = true;
  other.join();
}

TEST_F(MemoryInfo, EitherAnswerMayBeLeftOut) {
  PROVES("MEMGETINFO-008");
  size_t value = 0;
  EXPECT_OK(cuMemGetInfo(&value, nullptr));
  EXPECT_GT(value, 0u);
  EXPECT_OK(cuMemGetInfo(nullptr, &value));
  EXPECT_OK(cuMemGetInfo(nullptr, nullptr));
}

}  // namespace
