#include <sys/mman.h>

#include "device_test.h"

namespace {

class HostMemoryTest : public DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    pages = static_cast<char*>(mmap(nullptr, 8 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  }
  void TearDown() override {
    munmap(pages, 8 * kPage);
    DeviceTest::TearDown();
  }
  static constexpr size_t kPage = 4096;
  char* pages = nullptr;
};

CUdeviceptr unified(const void* p) { return reinterpret_cast<CUdeviceptr>(p); }

// HOSTALLOC-001, HOSTALLOC-014, HOSTALLOC-019, HOSTGETDEVPTR-001, HOSTGETFLAGS-001 with the recorded driver's flags
TEST_F(HostMemoryTest, EveryCombinationOfFlagsGivesUsableMemory) {
  for (unsigned flags = 0; flags < 8; ++flags) {
    void* host = nullptr;
    ASSERT_OK(cuMemHostAlloc(&host, 5000, flags));
    EXPECT_EQ(unified(host) % kPage, 0u);
    std::memset(host, 3, 5000);
    CUdeviceptr seen = 0;
    EXPECT_OK(cuMemHostGetDevicePointer(&seen, host, 0));
    EXPECT_EQ(seen, unified(host));
    unsigned told = 0;
    EXPECT_OK(cuMemHostGetFlags(&told, static_cast<char*>(host) + 9));
    EXPECT_EQ(told, flags | CU_MEMHOSTALLOC_DEVICEMAP);  // of the first in its block
    EXPECT_OK(cuMemsetD8(seen + 1, 9, 4998));
    EXPECT_EQ(static_cast<char*>(host)[0], 3);
    EXPECT_EQ(static_cast<char*>(host)[4998], 9);
    EXPECT_EQ(static_cast<char*>(host)[4999], 3);
    EXPECT_OK(cuMemFreeHost(host));
  }
  void* host = nullptr;
  EXPECT_INVALID(cuMemHostAlloc(&host, 64, 8));
  EXPECT_INVALID(cuMemHostAlloc(nullptr, 64, 0));
  EXPECT_EQ(cuMemHostAlloc(&host, SIZE_MAX, 0), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_OK(cuMemAllocHost(&host, 0));
  EXPECT_EQ(host, nullptr);
}

TEST_F(HostMemoryTest, SmallAllocationsAreAsPortableAsTheFirstOfTheirBlock) {
  for (const unsigned combined : {0u, unsigned{CU_MEMHOSTALLOC_WRITECOMBINED}})
    for (const unsigned portable : {0u, unsigned{CU_MEMHOSTALLOC_PORTABLE}}) {
      void *first = nullptr, *other = nullptr;
      unsigned told = 0;
      ASSERT_OK(cuMemHostAlloc(&first, 6, combined | portable));
      ASSERT_OK(cuMemHostAlloc(&other, 1000, combined | (portable ^ CU_MEMHOSTALLOC_PORTABLE)));
      EXPECT_OK(cuMemHostGetFlags(&told, other));
      EXPECT_EQ(told, combined | portable | CU_MEMHOSTALLOC_DEVICEMAP);
      EXPECT_OK(cuMemFreeHost(first));
      EXPECT_OK(cuMemHostGetFlags(&told, other));
      EXPECT_EQ(told, combined | portable | CU_MEMHOSTALLOC_DEVICEMAP);
      EXPECT_OK(cuMemFreeHost(other));
    }
}

// MEMFREEHOST-001 to 003
TEST_F(HostMemoryTest, OnlyTheStartOfPageLockedMemoryCanBeFreedAndOnce) {
  void* host = nullptr;
  ASSERT_OK(cuMemAllocHost(&host, 100000));
  EXPECT_INVALID(cuMemFreeHost(static_cast<char*>(host) + 64));
  EXPECT_INVALID(cuMemFreeHost(pages));
  EXPECT_INVALID(cuMemFreeHost(reinterpret_cast<void*>(allocate(64))));
  EXPECT_INVALID(cuMemFree(unified(host)));
  EXPECT_INVALID(cuMemHostUnregister(host));
  EXPECT_OK(cuMemFreeHost(host));
  EXPECT_INVALID(cuMemFreeHost(host));
  EXPECT_OK(cuMemFreeHost(nullptr));
}

// HOSTREG-001 to 003, HOSTREG-023, HOSTREG-024, HOSTUNREG-001 to 003
TEST_F(HostMemoryTest, RangesAreRegisteredOnceAndKnownExactly) {
  ASSERT_OK(cuMemHostRegister(pages + kPage, 2 * kPage, CU_MEMHOSTREGISTER_DEVICEMAP));
  for (auto [start, count] : {std::pair{0, 2}, {2, 2}, {1, 1}, {0, 4}, {1, 2}})
    EXPECT_EQ(cuMemHostRegister(pages + start * kPage, count * kPage, 0), CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
  EXPECT_OK(cuMemHostRegister(pages + 3 * kPage, kPage, 0));
  CUdeviceptr seen = 0;
  EXPECT_OK(cuMemHostGetDevicePointer(&seen, pages + kPage + 10, 0));
  EXPECT_EQ(seen, unified(pages + kPage + 10));
  EXPECT_INVALID(cuMemHostGetDevicePointer(&seen, pages, 0));
  EXPECT_INVALID(cuMemHostGetDevicePointer(&seen, pages + kPage, 1));
  EXPECT_EQ(attribute<unsigned>(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, unified(pages + kPage)), CU_MEMORYTYPE_HOST);
  EXPECT_INVALID(cuMemHostUnregister(pages + 2 * kPage));
  EXPECT_INVALID(cuMemHostUnregister(nullptr));
  EXPECT_EQ(cuMemHostUnregister(pages), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
  EXPECT_OK(cuMemHostUnregister(pages + kPage));
  EXPECT_EQ(cuMemHostUnregister(pages + kPage), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
  EXPECT_OK(cuMemHostUnregister(pages + 3 * kPage));
}

TEST_F(HostMemoryTest, RangesInOnePageAreIndependent) {
  EXPECT_OK(cuMemHostRegister(pages + 100, 100, 0));
  EXPECT_OK(cuMemHostRegister(pages + 300, 100, 0));
  EXPECT_OK(cuMemHostUnregister(pages + 100));
  EXPECT_OK(cuMemsetD8(unified(pages + 300), 5, 100));
  EXPECT_INVALID(cuMemsetD8(unified(pages + 100), 5, 100));
  EXPECT_OK(cuMemHostUnregister(pages + 300));
}

TEST_F(HostMemoryTest, WhatIsNotMemoryCannotBeRegistered) {
  EXPECT_INVALID(cuMemHostRegister(nullptr, kPage, 0));
  EXPECT_INVALID(cuMemHostRegister(pages, 0, 0));
  EXPECT_INVALID(cuMemHostRegister(pages, kPage, 0x80));
  EXPECT_INVALID(cuMemHostRegister(pages, SIZE_MAX, 0));
  EXPECT_INVALID(cuMemHostRegister(pages, kPage, CU_MEMHOSTREGISTER_IOMEMORY));
  EXPECT_INVALID(cuMemHostRegister(reinterpret_cast<void*>(0x10000), kPage, 0));
  munmap(pages + 4 * kPage, kPage);
  EXPECT_INVALID(cuMemHostRegister(pages, 8 * kPage, 0));
  void* host = nullptr;
  ASSERT_OK(cuMemAllocHost(&host, 100));
  EXPECT_INVALID(cuMemHostRegister(host, 100, 0));
  EXPECT_OK(cuMemFreeHost(host));
  EXPECT_INVALID(cuMemHostRegister(reinterpret_cast<void*>(allocate(100)), 100, 0));
}

// HOSTREG-011 to 014
TEST_F(HostMemoryTest, ReadOnlyMemoryNeedsTheFlag) {
  mprotect(pages, kPage, PROT_READ);
  EXPECT_INVALID(cuMemHostRegister(pages, kPage, 0));
  int supported = 0;
  EXPECT_OK(cuDeviceGetAttribute(&supported, CU_DEVICE_ATTRIBUTE_READ_ONLY_HOST_REGISTER_SUPPORTED, device));
  const CUresult registered = cuMemHostRegister(pages, kPage, CU_MEMHOSTREGISTER_READ_ONLY);
  EXPECT_EQ(registered, supported ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED);
  if (supported) {
    EXPECT_OK(cuMemHostUnregister(pages));
  }
}

// MEMALLOCMANAGED-001, 006, 007, 011, 018
TEST_F(HostMemoryTest, ManagedMemoryIsOneForHostAndDevice) {
  CUdeviceptr managed = 0;
  ASSERT_OK(cuMemAllocManaged(&managed, 10000, CU_MEM_ATTACH_GLOBAL));
  auto* host = reinterpret_cast<uint8_t*>(managed);
  EXPECT_OK(cuMemsetD8(managed, 6, 10000));
  EXPECT_EQ(host[9999], 6);
  host[5] = 8;
  EXPECT_EQ(read(managed, 10000)[5], 8);
  EXPECT_EQ(attribute<int>(CU_POINTER_ATTRIBUTE_IS_MANAGED, managed), 1);
  EXPECT_EQ(attribute<void*>(CU_POINTER_ATTRIBUTE_HOST_POINTER, managed), host);
  EXPECT_OK(cuMemFree(managed));
  EXPECT_INVALID(cuMemAllocManaged(&managed, 0, CU_MEM_ATTACH_GLOBAL));
  for (unsigned flags : {0u, 3u, 4u, 0x80u}) EXPECT_INVALID(cuMemAllocManaged(&managed, 64, flags));
}

TEST_F(HostMemoryTest, AdviceIsRememberedAndAnswered) {
  CUdeviceptr managed = 0;
  ASSERT_OK(cuMemAllocManaged(&managed, 10000, CU_MEM_ATTACH_GLOBAL));
  const CUmemLocation here{CU_MEM_LOCATION_TYPE_DEVICE, {0}};
  const CUmemLocation host{CU_MEM_LOCATION_TYPE_HOST, {0}};
  int value = 0;
  const auto ask = [&](CUmem_range_attribute which) {
    EXPECT_OK(cuMemRangeGetAttribute(&value, sizeof value, which, managed, 10000));
    return value;
  };
  EXPECT_EQ(ask(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION), CU_DEVICE_INVALID);
  EXPECT_OK(cuMemAdvise(managed, 10000, CU_MEM_ADVISE_SET_READ_MOSTLY, here));
  EXPECT_OK(cuMemAdvise(managed, 10000, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, host));
  EXPECT_OK(cuMemAdvise(managed, 10000, CU_MEM_ADVISE_SET_ACCESSED_BY, here));
  EXPECT_OK(cuMemPrefetchAsync(managed, 10000, here, 0, nullptr));
  EXPECT_EQ(ask(CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY), 1);
  EXPECT_EQ(ask(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION), CU_DEVICE_CPU);
  EXPECT_EQ(ask(CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION), 0);
  int accessors[3];
  EXPECT_OK(cuMemRangeGetAttribute(accessors, sizeof accessors, CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY, managed, 1));
  EXPECT_EQ(accessors[0], 0);
  EXPECT_EQ(accessors[1], CU_DEVICE_INVALID);
  EXPECT_INVALID(cuMemAdvise(managed, 10001, CU_MEM_ADVISE_SET_READ_MOSTLY, here));
  EXPECT_INVALID(cuMemAdvise(allocate(64), 64, CU_MEM_ADVISE_SET_READ_MOSTLY, here));
  EXPECT_INVALID(cuMemRangeGetAttribute(&value, 3, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, managed, 1));
  EXPECT_OK(cuMemFree(managed));
}

// ATTACH-007 to 009, 012, 017
TEST_F(HostMemoryTest, AttachingTakesWholeManagedAllocations) {
  CUdeviceptr managed = 0;
  CUstream stream;
  ASSERT_OK(cuMemAllocManaged(&managed, 10000, CU_MEM_ATTACH_GLOBAL));
  ASSERT_OK(cuStreamCreate(&stream, 0));
  EXPECT_OK(cuStreamAttachMemAsync(stream, managed, 0, CU_MEM_ATTACH_SINGLE));
  EXPECT_OK(cuStreamAttachMemAsync(stream, managed, 10000, CU_MEM_ATTACH_HOST));
  EXPECT_OK(cuStreamAttachMemAsync(nullptr, managed, 0, CU_MEM_ATTACH_GLOBAL));
  EXPECT_INVALID(cuStreamAttachMemAsync(nullptr, managed, 0, CU_MEM_ATTACH_SINGLE));
  EXPECT_INVALID(cuStreamAttachMemAsync(stream, managed, 5000, CU_MEM_ATTACH_SINGLE));
  EXPECT_INVALID(cuStreamAttachMemAsync(stream, managed, 0, 3));
  EXPECT_INVALID(cuStreamAttachMemAsync(stream, allocate(64), 0, CU_MEM_ATTACH_SINGLE));
  EXPECT_OK(cuStreamDestroy(stream));
  EXPECT_OK(cuMemFree(managed));
}

}  // namespace
