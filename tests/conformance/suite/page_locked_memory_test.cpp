// Page-locked host memory: cuMemHostAlloc, cuMemAllocHost, cuMemFreeHost, and what cuMemHostGetDevicePointer and
// cuMemHostGetFlags tell of it.
#include "page_locked.h"
#include "suite.h"

namespace {

using PageLocked = Device;

uint8_t* allocated(size_t bytes, unsigned flags) {
  void* memory = nullptr;
  EXPECT_OK(cuMemHostAlloc(&memory, bytes, flags));
  return static_cast<uint8_t*>(memory);
}

CUdeviceptr devicePointer(void* host) {
  CUdeviceptr seen = 0;
  EXPECT_OK(cuMemHostGetDevicePointer(&seen, host, 0));
  return seen;
}

// A kernel adds one to every word of page-locked memory, which the host then reads.
void expectDeviceReaches(uint8_t* host, CUdeviceptr seen) {
  auto* const words = reinterpret_cast<volatile uint32_t*>(host);
  for (unsigned i = 0; i < 64; ++i) words[i] = i * 3;
  launchIncrement(nullptr, seen, seen, 64);
  ASSERT_OK(cuCtxSynchronize());
  for (unsigned i = 0; i < 64; ++i) EXPECT_EQ(words[i], i * 3 + 1) << "word " << i;
}

TEST_F(PageLocked, HostAndDeviceUseTheSameBytes) {
  PROVES("HOSTALLOC-001", "HOSTALLOC-008", "HOSTALLOC-009", "HOSTGETDEVPTR-001");
  uint8_t* const host = allocated(4096, CU_MEMHOSTALLOC_DEVICEMAP);
  expectDeviceReaches(host, devicePointer(host));
  const Bytes content = pattern(4096, 1);
  const DeviceBuffer buffer(content);
  ASSERT_OK(cuMemcpyDtoH(host, buffer, 4096));
  EXPECT_EQ(Bytes(host, host + 4096), content);
  EXPECT_OK(cuMemFreeHost(host));
}

TEST_F(PageLocked, TheOlderFunctionGivesTheSameMemory) {
  PROVES("MEMALLOCHOST-001", "MEMALLOCHOST-008");
  void* host = nullptr;
  ASSERT_OK(cuMemAllocHost(&host, 4096));
  EXPECT_EQ(devicePointer(host), reinterpret_cast<CUdeviceptr>(host));
  expectDeviceReaches(static_cast<uint8_t*>(host), reinterpret_cast<CUdeviceptr>(host));
  EXPECT_OK(cuMemFreeHost(host));
}

TEST_F(PageLocked, CopiesToItNeedNotWaitAsCopiesToPageableMemoryDo) {
  PROVES("HOSTALLOC-002", "HOSTALLOC-003", "MEMALLOCHOST-002", "MEMALLOCHOST-003");
  const DeviceBuffer buffer(4096);
  const PinnedBuffer pinned(4096);
  void* older = nullptr;
  ASSERT_OK(cuMemAllocHost(&older, 4096));
  std::vector<uint8_t> pageable(4096);
  EXPECT_TRUE(returnsBeforeTheStream([&](CUstream s) { return cuMemcpyDtoHAsync(pinned.data(), buffer, 4096, s); }));
  EXPECT_TRUE(returnsBeforeTheStream([&](CUstream s) { return cuMemcpyDtoHAsync(older, buffer, 4096, s); }));
  EXPECT_FALSE(returnsBeforeTheStream([&](CUstream s) { return cuMemcpyDtoHAsync(pageable.data(), buffer, 4096, s); }));
  EXPECT_OK(cuMemFreeHost(older));
}

TEST_F(PageLocked, EveryCombinationOfFlagsIsAllowed) {
  PROVES("HOSTALLOC-014", "HOSTALLOC-010", "HOSTALLOC-019", "HOSTALLOC-020", "HOSTGETFLAGS-001");
  DIFFERS("HOSTALLOC-020", "write-combined memory has the host's address on the device as other memory has");
  DIFFERS("HOSTGETFLAGS-001",
          "always CU_MEMHOSTALLOC_DEVICEMAP, with CU_MEMHOSTALLOC_WRITECOMBINED where it was given, and whether "
          "CU_MEMHOSTALLOC_PORTABLE is told depends on what the memory was before");
  for (unsigned flags = 0; flags < 8; ++flags) {
    uint8_t* const host = allocated(4096, flags);
    ASSERT_NE(host, nullptr) << flags;
    const CUdeviceptr seen = devicePointer(host);
    EXPECT_EQ(seen, reinterpret_cast<CUdeviceptr>(host)) << flags;
    expectDeviceReaches(host, seen);
    unsigned told = 99;
    EXPECT_OK(cuMemHostGetFlags(&told, host + 100));
    if (flags & CU_MEMHOSTALLOC_PORTABLE) told &= ~static_cast<unsigned>(CU_MEMHOSTALLOC_PORTABLE);
    EXPECT_EQ(told, (flags & CU_MEMHOSTALLOC_WRITECOMBINED) | CU_MEMHOSTALLOC_DEVICEMAP) << flags;
    EXPECT_OK(cuMemFreeHost(host));
  }
}

TEST_F(PageLocked, OtherContextsUseItAtOnce) {
  PROVES("HOSTALLOC-007", "HOSTALLOC-018", "MEMALLOCHOST-007");
  ASSERT_EQ(attribute(CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING), 1);
  uint8_t* const plain = allocated(4096, 0);
  uint8_t* const portable = allocated(4096, CU_MEMHOSTALLOC_PORTABLE);
  void* older = nullptr;
  ASSERT_OK(cuMemAllocHost(&older, 4096));
  {
    const OtherContext other(device);
    for (uint8_t* host : {plain, portable, static_cast<uint8_t*>(older)}) {
      EXPECT_EQ(devicePointer(host), reinterpret_cast<CUdeviceptr>(host));
      expectDeviceReaches(host, reinterpret_cast<CUdeviceptr>(host));
      const DeviceBuffer buffer(4096);
      EXPECT_TRUE(returnsBeforeTheStream([&](CUstream s) { return cuMemcpyDtoHAsync(host, buffer, 4096, s); }));
    }
  }
  EXPECT_OK(cuMemFreeHost(plain));
  EXPECT_OK(cuMemFreeHost(portable));
  EXPECT_OK(cuMemFreeHost(older));
}

TEST_F(PageLocked, BadFlagsAndOutputsAreRefused) {
  PROVES("HOSTALLOC-021", "MEMALLOCHOST-009");
  void* host = nullptr;
  for (unsigned flag : {8u, 16u, 32u, 0x80u}) EXPECT_INVALID_VALUE(cuMemHostAlloc(&host, 4096, flag)) << flag;
  EXPECT_INVALID_VALUE(cuMemHostAlloc(&host, 0, 0x80)) << "flags come before the size";
  EXPECT_INVALID_VALUE(cuMemHostAlloc(nullptr, 64, 0));
  EXPECT_INVALID_VALUE(cuMemHostAlloc(nullptr, 0, 0));
  EXPECT_INVALID_VALUE(cuMemAllocHost(nullptr, 64));
  for (size_t bytes : {SIZE_MAX, size_t{1} << 50}) {
    const CUresult result = cuMemHostAlloc(&host, bytes, 0);
    EXPECT_EQ(result, CUDA_ERROR_OUT_OF_MEMORY);
    EXPECT_TRUE(isDocumented("HOSTALLOC-021", result));
  }
}

TEST_F(PageLocked, NothingIsAllocatedForNoBytes) {
  PROVES("HOSTALLOC-001", "MEMALLOCHOST-001");
  void* host = this;
  EXPECT_OK(cuMemHostAlloc(&host, 0, 0));
  EXPECT_EQ(host, nullptr);
  EXPECT_OK(cuMemAllocHost(&host, 0));
}

// ---- cuMemFreeHost ----

TEST_F(PageLocked, MemoryIsFreedOnceAndByItsOwnFunction) {
  PROVES("MEMFREEHOST-001", "MEMFREEHOST-003", "HOSTALLOC-017");
  uint8_t* const host = allocated(4096, 0);
  EXPECT_INVALID_VALUE(cuMemFree(reinterpret_cast<CUdeviceptr>(host)));
  unsigned flags = 0;
  EXPECT_OK(cuMemHostGetFlags(&flags, host)) << "still there";
  EXPECT_OK(cuMemFreeHost(host));
  EXPECT_INVALID_VALUE(cuMemHostGetFlags(&flags, host));
  EXPECT_INVALID_VALUE(cuMemFreeHost(host));
  EXPECT_OK(cuMemFreeHost(nullptr)) << "as free() has it";
}

TEST_F(PageLocked, OnlyWhatWasAllocatedCanBeFreed) {
  PROVES("MEMFREEHOST-002");
  void* host = nullptr;
  ASSERT_OK(cuMemAllocHost(&host, 4096));
  const DeviceBuffer buffer(64);
  std::vector<uint8_t> pageable(64);
  EXPECT_INVALID_VALUE(cuMemFreeHost(static_cast<uint8_t*>(host) + 64)) << "inside";
  EXPECT_INVALID_VALUE(cuMemFreeHost(pageable.data()));
  EXPECT_INVALID_VALUE(cuMemFreeHost(reinterpret_cast<void*>(CUdeviceptr{buffer})));
  const Registered registered(4096);
  EXPECT_INVALID_VALUE(cuMemFreeHost(registered.data()));
  EXPECT_OK(cuMemFreeHost(host));
}

TEST_F(PageLocked, FreeingWaitsForWorkThatUsesIt) {
  PROVES("MEMFREEHOST-001");
  void* host = nullptr;
  ASSERT_OK(cuMemAllocHost(&host, 4096));
  EXPECT_FALSE(returnsBeforeTheStream([&](CUstream) { return cuMemFreeHost(host); }));
}

// ---- what is told of it ----

TEST_F(PageLocked, EveryPointerIntoItHasADevicePointer) {
  PROVES("HOSTGETDEVPTR-001", "HOSTGETDEVPTR-004", "HOSTGETDEVPTR-005");
  ASSERT_EQ(attribute(CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM), 1);
  const PinnedBuffer pinned(4096);
  for (size_t offset : {size_t{0}, size_t{1}, size_t{4095}})
    EXPECT_EQ(devicePointer(pinned.data() + offset), pinned + offset);
  expectDeviceReaches(pinned.data(), pinned);
}

TEST_F(PageLocked, ADevicePointerNeedsNoFlag) {
  PROVES("HOSTGETDEVPTR-002");
  DIFFERS("HOSTGETDEVPTR-002", "all page-locked memory is mapped, whether or not CU_MEMHOSTALLOC_DEVICEMAP was given");
  const PinnedBuffer pinned(64, 0);
  EXPECT_EQ(devicePointer(pinned.data()), CUdeviceptr{pinned});
}

TEST_F(PageLocked, OtherMemoryHasNoDevicePointer) {
  PROVES("HOSTGETDEVPTR-001", "HOSTGETDEVPTR-010", "HOSTGETDEVPTR-012");
  const PinnedBuffer pinned(64);
  const ManagedBuffer managed(64);
  const DeviceBuffer buffer(64);
  std::vector<uint8_t> pageable(64);
  CUdeviceptr seen = 0;
  EXPECT_INVALID_VALUE(cuMemHostGetDevicePointer(&seen, pageable.data(), 0));
  EXPECT_INVALID_VALUE(cuMemHostGetDevicePointer(&seen, managed.data(), 0));
  EXPECT_INVALID_VALUE(cuMemHostGetDevicePointer(&seen, reinterpret_cast<void*>(CUdeviceptr{buffer}), 0));
  EXPECT_INVALID_VALUE(cuMemHostGetDevicePointer(&seen, nullptr, 0));
  EXPECT_INVALID_VALUE(cuMemHostGetDevicePointer(nullptr, pinned.data(), 0));
  EXPECT_INVALID_VALUE(cuMemHostGetDevicePointer(&seen, pinned.data(), 1)) << "flags are reserved";
  EXPECT_TRUE(isDocumented("HOSTGETDEVPTR-012", cuMemHostGetDevicePointer(&seen, pinned.data(), 1)));
}

TEST_F(PageLocked, FlagsAreToldOfHostMemoryOnly) {
  PROVES("HOSTGETFLAGS-002", "HOSTGETFLAGS-003", "HOSTGETFLAGS-004");
  DIFFERS("HOSTGETFLAGS-002", "registered and managed memory have flags too");
  void* older = nullptr;
  ASSERT_OK(cuMemAllocHost(&older, 64));
  const ManagedBuffer managed(64);
  const DeviceBuffer buffer(64);
  const Registered registered(4096);
  std::vector<uint8_t> pageable(64);
  unsigned flags = 99;
  EXPECT_OK(cuMemHostGetFlags(&flags, older));
  EXPECT_EQ(flags, unsigned{CU_MEMHOSTALLOC_DEVICEMAP});
  EXPECT_OK(cuMemHostGetFlags(&flags, registered.data()));
  EXPECT_OK(cuMemHostGetFlags(&flags, managed.data()));
  EXPECT_INVALID_VALUE(cuMemHostGetFlags(&flags, pageable.data()));
  EXPECT_INVALID_VALUE(cuMemHostGetFlags(&flags, reinterpret_cast<void*>(CUdeviceptr{buffer})));
  EXPECT_INVALID_VALUE(cuMemHostGetFlags(&flags, nullptr));
  EXPECT_INVALID_VALUE(cuMemHostGetFlags(nullptr, older));
  EXPECT_TRUE(isDocumented("HOSTGETFLAGS-004", cuMemHostGetFlags(nullptr, older)));
  EXPECT_OK(cuMemFreeHost(older));
}

}  // namespace
