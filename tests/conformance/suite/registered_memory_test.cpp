// Host memory of the application that is registered: cuMemHostRegister, cuMemHostUnregister.
#include <sys/mman.h>
#include <unistd.h>

#include "page_locked.h"
#include "suite.h"

namespace {

constexpr size_t kPage = 4096;

using RegisteredMemory = Device;

CUresult enroll(void* p, size_t bytes, unsigned flags) { return cuMemHostRegister(p, bytes, flags); }

void expectDeviceReaches(uint8_t* host) {
  auto* const words = reinterpret_cast<volatile uint32_t*>(host);
  for (unsigned i = 0; i < 64; ++i) words[i] = i * 5;
  CUdeviceptr seen = 0;
  ASSERT_OK(cuMemHostGetDevicePointer(&seen, host, 0));
  EXPECT_EQ(seen, reinterpret_cast<CUdeviceptr>(host));
  launchIncrement(nullptr, seen, seen, 64);
  ASSERT_OK(cuCtxSynchronize());
  for (unsigned i = 0; i < 64; ++i) EXPECT_EQ(words[i], i * 5 + 1) << "word " << i;
}

TEST_F(RegisteredMemory, DevicesUseItAtTheHostsAddress) {
  PROVES("HOSTREG-002", "HOSTREG-008", "HOSTREG-009", "HOSTREG-018", "HOSTREG-019");
  ASSERT_EQ(attribute(CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM), 1);
  for (unsigned flags : {0u, unsigned{CU_MEMHOSTREGISTER_DEVICEMAP}}) {
    const Registered memory(2 * kPage, flags);
    expectDeviceReaches(memory.data());
  }
}

TEST_F(RegisteredMemory, CopiesToItNeedNotWaitAsCopiesToPageableMemoryDo) {
  PROVES("HOSTREG-001", "HOSTREG-003", "HOSTUNREG-001");
  const DeviceBuffer buffer(kPage);
  const Pages pages(2 * kPage);
  const auto copy = [&](CUstream s) { return cuMemcpyDtoHAsync(pages.data(), buffer, kPage, s); };
  EXPECT_FALSE(returnsBeforeTheStream(copy));
  ASSERT_OK(enroll(pages.data(), 2 * kPage, 0));
  EXPECT_TRUE(returnsBeforeTheStream(copy));
  ASSERT_OK(cuMemHostUnregister(pages.data()));
  EXPECT_FALSE(returnsBeforeTheStream(copy)) << "pageable again";
}

TEST_F(RegisteredMemory, EveryKnownCombinationOfFlagsIsAllowed) {
  PROVES("HOSTREG-013", "HOSTREG-015");
  ASSERT_EQ(attribute(CU_DEVICE_ATTRIBUTE_READ_ONLY_HOST_REGISTER_SUPPORTED), 1);
  for (unsigned flags : {0, 1, 2, 3, 8, 9, 10, 11}) {
    const Registered memory(2 * kPage, flags);
    unsigned told = 99;
    EXPECT_OK(cuMemHostGetFlags(&told, memory.data()));
    EXPECT_EQ(told, (flags & CU_MEMHOSTREGISTER_PORTABLE) | CU_MEMHOSTREGISTER_DEVICEMAP) << flags;
  }
}

TEST_F(RegisteredMemory, OrdinaryMemoryIsNoMemoryOfAnotherDevice) {
  PROVES("HOSTREG-010", "HOSTREG-025");
  const Pages pages(2 * kPage);
  for (unsigned flags : {4, 5, 6, 7, 12, 16, 0x80}) {
    const CUresult result = enroll(pages.data(), 2 * kPage, flags);
    EXPECT_INVALID_VALUE(result) << flags;
    EXPECT_TRUE(isDocumented("HOSTREG-025", result));
  }
}

TEST_F(RegisteredMemory, OtherContextsTreatItAsPinned) {
  PROVES("HOSTREG-007");
  const Registered memory(2 * kPage, CU_MEMHOSTREGISTER_PORTABLE);
  const OtherContext other(device);
  const DeviceBuffer buffer(kPage);
  EXPECT_TRUE(returnsBeforeTheStream([&](CUstream s) { return cuMemcpyDtoHAsync(memory.data(), buffer, kPage, s); }));
  EXPECT_EQ(enroll(memory.data(), 2 * kPage, 0), CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
}

TEST_F(RegisteredMemory, WhatWasRegisteredReadOnlyIsNotWritten) {
  PROVES("HOSTREG-011");
  const Registered memory(kPage, CU_MEMHOSTREGISTER_READ_ONLY);
  const auto address = reinterpret_cast<CUdeviceptr>(memory.data());
  const DeviceBuffer buffer(64);
  EXPECT_INVALID_VALUE(cuMemcpyDtoH(memory.data(), buffer, 4));
  EXPECT_INVALID_VALUE(cuMemsetD8(address, 9, 4));
  EXPECT_EQ(memory.data()[0], 1) << "as it was";
  memory.data()[0] = 3;
  launchLoad(nullptr, address, buffer);
  ASSERT_OK(cuCtxSynchronize());
  EXPECT_EQ(buffer.read()[0], 3) << "a device reads what the host writes";
}

TEST_F(RegisteredMemory, ReadOnlyMemoryNeedsTheFlag) {
  PROVES("HOSTREG-012");
  const Pages pages(2 * kPage, PROT_READ);
  EXPECT_INVALID_VALUE(enroll(pages.data(), 2 * kPage, 0));
  ASSERT_OK(enroll(pages.data(), 2 * kPage, CU_MEMHOSTREGISTER_READ_ONLY));
  const DeviceBuffer buffer(2 * kPage);
  ASSERT_OK(cuMemcpyHtoD(buffer, pages.data(), 2 * kPage));
  EXPECT_EQ(buffer.read(), Bytes(2 * kPage, 1));
  EXPECT_OK(cuMemHostUnregister(pages.data()));
}

TEST_F(RegisteredMemory, HalfReadOnlyMemoryIsReadOnly) {
  PROVES("HOSTREG-012");
  const Pages pages(4 * kPage);
  ASSERT_EQ(mprotect(pages.data() + 2 * kPage, 2 * kPage, PROT_READ), 0);
  EXPECT_INVALID_VALUE(enroll(pages.data(), 4 * kPage, 0));
  ASSERT_OK(enroll(pages.data(), 4 * kPage, CU_MEMHOSTREGISTER_READ_ONLY));
  EXPECT_OK(cuMemHostUnregister(pages.data()));
}

// A file that lives while the scope lasts; nobody finds it.
class File {
 public:
  File() {
    char path[] = "/tmp/conformance-XXXXXX";
    descriptor_ = mkstemp(path);
    unlink(path);
    EXPECT_EQ(ftruncate(descriptor_, 4 * kPage), 0);
  }
  ~File() { close(descriptor_); }
  uint8_t* map(int protection, int flags) const {
    return static_cast<uint8_t*>(mmap(nullptr, 2 * kPage, protection, flags, descriptor_, 0));
  }

 private:
  int descriptor_;
};

TEST_F(RegisteredMemory, EveryKindOfHostMemoryIsTaken) {
  PROVES("HOSTREG-001", "HOSTREG-002");
  const File file;
  const int memory = memfd_create("conformance", MFD_CLOEXEC);
  ASSERT_EQ(ftruncate(memory, 2 * kPage), 0);
  const int access = PROT_READ | PROT_WRITE;
  const auto map = [](int flags, int descriptor) {
    return static_cast<uint8_t*>(mmap(nullptr, 2 * kPage, PROT_READ | PROT_WRITE, flags, descriptor, 0));
  };
  alignas(16) static uint8_t global[2 * kPage];
  alignas(16) uint8_t stack[2 * kPage];
  std::vector<uint8_t> heap(2 * kPage);
  const struct {
    const char* name;
    uint8_t* memory;
    bool mapped;
  } kinds[] = {{"heap", heap.data(), false},
               {"stack", stack, false},
               {"global variable", global, false},
               {"private file mapping", file.map(access, MAP_PRIVATE), true},
               {"memory file", map(MAP_SHARED, memory), true},
               {"shared", map(MAP_SHARED | MAP_ANONYMOUS, -1), true},
               {"never touched", map(MAP_PRIVATE | MAP_ANONYMOUS, -1), true}};
  const Bytes content = pattern(2 * kPage, 3);
  const DeviceBuffer buffer(content);
  for (const auto& kind : kinds) {
    ASSERT_NE(static_cast<void*>(kind.memory), MAP_FAILED) << kind.name;
    ASSERT_OK(enroll(kind.memory, 2 * kPage, 0)) << kind.name;
    EXPECT_OK(cuMemcpyDtoH(kind.memory, buffer, 2 * kPage)) << kind.name;
    EXPECT_EQ(Bytes(kind.memory, kind.memory + 2 * kPage), content) << kind.name;
    expectDeviceReaches(kind.memory);
    EXPECT_OK(cuMemHostUnregister(kind.memory)) << kind.name;
    if (kind.mapped) munmap(kind.memory, 2 * kPage);
  }
  close(memory);
}

TEST_F(RegisteredMemory, HugePagesAreTaken) {
  PROVES("HOSTREG-001");
  constexpr size_t kHuge = size_t{2} << 20;
  void* const pages = mmap(nullptr, kHuge, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);
  if (pages == MAP_FAILED) GTEST_SKIP() << "the system has no huge pages to give";
  ASSERT_OK(enroll(pages, kHuge, 0));
  expectDeviceReaches(static_cast<uint8_t*>(pages));
  EXPECT_OK(cuMemHostUnregister(pages));
  munmap(pages, kHuge);
}

TEST_F(RegisteredMemory, WhatIsNotMemoryIsRefused) {
  PROVES("HOSTREG-025");
  const Pages pages(4 * kPage);
  const PinnedBuffer pinned(kPage);
  const ManagedBuffer managed(kPage);
  const DeviceBuffer buffer(kPage);
  EXPECT_INVALID_VALUE(enroll(nullptr, kPage, 0));
  EXPECT_INVALID_VALUE(enroll(pages.data(), 0, 0));
  EXPECT_INVALID_VALUE(enroll(pinned.data(), kPage, 0));
  EXPECT_INVALID_VALUE(enroll(managed.data(), kPage, 0));
  EXPECT_INVALID_VALUE(enroll(reinterpret_cast<void*>(CUdeviceptr{buffer}), kPage, 0));
  munmap(pages.data() + kPage, kPage);
  EXPECT_INVALID_VALUE(enroll(pages.data(), 4 * kPage, 0)) << "a hole";
  EXPECT_INVALID_VALUE(enroll(pages.data() + kPage, kPage, 0)) << "nothing";
  ASSERT_EQ(mprotect(pages.data(), kPage, PROT_NONE), 0);
  EXPECT_INVALID_VALUE(enroll(pages.data(), kPage, CU_MEMHOSTREGISTER_READ_ONLY)) << "inaccessible";
  EXPECT_EQ(enroll(reinterpret_cast<void*>(0xffff800000000000), kPage, 0), CUDA_ERROR_NOT_SUPPORTED);
}

TEST_F(RegisteredMemory, NoByteIsRegisteredTwice) {
  PROVES("HOSTREG-023", "HOSTREG-024");
  const Pages pages(4 * kPage);
  uint8_t* const middle = pages.data() + kPage;
  ASSERT_OK(enroll(middle, 2 * kPage, 0));
  const struct {
    size_t offset, bytes;
  } overlaps[] = {{0, 2 * kPage}, {2 * kPage, 2 * kPage}, {kPage + 8, 8}, {0, 4 * kPage}, {kPage, 2 * kPage}};
  for (const auto& range : overlaps) {
    const CUresult result = enroll(pages.data() + range.offset, range.bytes, 0);
    EXPECT_EQ(result, CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED) << range.offset << " + " << range.bytes;
    EXPECT_TRUE(isDocumented("HOSTREG-025", result));
  }
  ASSERT_OK(cuMemHostUnregister(middle));
  EXPECT_OK(enroll(middle, 2 * kPage, 0)) << "once it is unregistered";
  EXPECT_OK(cuMemHostUnregister(middle));
}

TEST_F(RegisteredMemory, RangesCountByBytes) {
  PROVES("HOSTREG-001", "HOSTREG-002");
  const Pages pages(2 * kPage);
  uint8_t* const start = pages.data() + 100;
  ASSERT_OK(enroll(start, 1000, 0));
  ASSERT_OK(enroll(start + 1500, 1000, 0)) << "in the same page";
  CUdeviceptr seen = 0;
  EXPECT_OK(cuMemHostGetDevicePointer(&seen, start + 999, 0));
  EXPECT_INVALID_VALUE(cuMemHostGetDevicePointer(&seen, start + 1000, 0));
  EXPECT_INVALID_VALUE(cuMemHostGetDevicePointer(&seen, pages.data(), 0));
  EXPECT_OK(cuMemHostUnregister(start));
  EXPECT_OK(cuMemHostUnregister(start + 1500));
}

// ---- cuMemHostUnregister ----

TEST_F(RegisteredMemory, EndsWithItsBaseAddressOnly) {
  PROVES("HOSTUNREG-001", "HOSTUNREG-002", "HOSTUNREG-004", "HOSTREG-023");
  const Pages pages(2 * kPage);
  ASSERT_OK(enroll(pages.data(), 2 * kPage, 0));
  EXPECT_INVALID_VALUE(cuMemHostUnregister(pages.data() + kPage));
  CUdeviceptr seen = 0;
  EXPECT_OK(cuMemHostGetDevicePointer(&seen, pages.data(), 0)) << "still registered";
  EXPECT_OK(cuMemHostUnregister(pages.data()));
  EXPECT_INVALID_VALUE(cuMemHostGetDevicePointer(&seen, pages.data(), 0));
  unsigned flags = 0;
  EXPECT_INVALID_VALUE(cuMemHostGetFlags(&flags, pages.data()));
}

TEST_F(RegisteredMemory, WhatIsNotRegisteredCannotEnd) {
  PROVES("HOSTUNREG-003", "HOSTUNREG-004");
  const Pages pages(2 * kPage);
  const PinnedBuffer pinned(64);
  const DeviceBuffer buffer(64);
  const CUresult result = cuMemHostUnregister(pages.data());
  EXPECT_EQ(result, CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
  EXPECT_TRUE(isDocumented("HOSTUNREG-004", result));
  ASSERT_OK(enroll(pages.data(), kPage, 0));
  EXPECT_OK(cuMemHostUnregister(pages.data()));
  EXPECT_EQ(cuMemHostUnregister(pages.data()), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED) << "twice";
  EXPECT_INVALID_VALUE(cuMemHostUnregister(nullptr));
  EXPECT_INVALID_VALUE(cuMemHostUnregister(pinned.data()));
  EXPECT_INVALID_VALUE(cuMemHostUnregister(reinterpret_cast<void*>(CUdeviceptr{buffer})));
}

TEST_F(RegisteredMemory, EndingItWaitsForWork) {
  PROVES("HOSTUNREG-001");
  const Pages pages(kPage);
  ASSERT_OK(enroll(pages.data(), kPage, 0));
  EXPECT_FALSE(returnsBeforeTheStream([&](CUstream) { return cuMemHostUnregister(pages.data()); }));
}

// ---- results ----

TEST_F(RegisteredMemory, WithoutAContextMemoryCanOnlyBeGivenBack) {
  PROVES("HOSTALLOC-021", "MEMALLOCHOST-009", "MEMFREEHOST-004", "HOSTGETDEVPTR-012", "HOSTGETFLAGS-004", "HOSTREG-025",
         "HOSTUNREG-004");
  const Pages pages(kPage);
  void* host = nullptr;
  void* other = nullptr;
  CUdeviceptr seen = 0;
  unsigned flags = 0;
  ASSERT_OK(cuMemHostAlloc(&host, 64, 0));
  ASSERT_OK(enroll(pages.data(), kPage, 0));
  ASSERT_OK(cuCtxSetCurrent(nullptr));
  EXPECT_EQ(cuMemHostAlloc(&other, 64, 0), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(cuMemAllocHost(&other, 64), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(cuMemHostGetDevicePointer(&seen, host, 0), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(cuMemHostGetFlags(&flags, host), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(enroll(pages.data(), kPage, 0), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_OK(cuMemHostUnregister(pages.data()));
  EXPECT_OK(cuMemFreeHost(host));
  ASSERT_OK(cuCtxSetCurrent(context));
}

TEST(PageLockedIsolated, BeforeInitialisationAllSayNotInitialised) {
  PROVES("HOSTALLOC-021", "MEMALLOCHOST-009", "MEMFREEHOST-004", "HOSTGETDEVPTR-012", "HOSTGETFLAGS-004", "HOSTREG-025",
         "HOSTUNREG-004");
  void* host = nullptr;
  CUdeviceptr seen = 0;
  unsigned flags = 0;
  EXPECT_EQ(cuMemHostAlloc(&host, 64, 0), CUDA_ERROR_NOT_INITIALIZED);
  EXPECT_EQ(cuMemAllocHost(&host, 64), CUDA_ERROR_NOT_INITIALIZED);
  EXPECT_EQ(cuMemFreeHost(nullptr), CUDA_ERROR_NOT_INITIALIZED);
  EXPECT_EQ(cuMemHostGetDevicePointer(&seen, &host, 0), CUDA_ERROR_NOT_INITIALIZED);
  EXPECT_EQ(cuMemHostGetFlags(&flags, &host), CUDA_ERROR_NOT_INITIALIZED);
  EXPECT_EQ(cuMemHostRegister(&host, 8, 0), CUDA_ERROR_NOT_INITIALIZED);
  EXPECT_EQ(cuMemHostUnregister(&host), CUDA_ERROR_NOT_INITIALIZED);
}

class PageLockedFault : public DeviceFault {};

// The manual says that each may hand it back. Recorded for cuMemHostAlloc and cuMemFreeHost; the others may do without.
TEST_F(PageLockedFault, CallsHandBackTheErrorOfAnEarlierLaunch) {
  PROVES("HOSTALLOC-022", "MEMALLOCHOST-010", "MEMFREEHOST-005", "HOSTGETDEVPTR-013", "HOSTGETFLAGS-005", "HOSTREG-026",
         "HOSTUNREG-005");
  const Pages pages(2 * kPage);
  void* host = nullptr;
  void* other = nullptr;
  CUdeviceptr seen = 0;
  unsigned flags = 0;
  ASSERT_OK(cuMemHostAlloc(&host, 64, 0));
  ASSERT_OK(enroll(pages.data(), kPage, 0));
  launchStore(nullptr, 0, 1);
  ASSERT_EQ(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(cuMemHostAlloc(&other, 64, 0), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(cuMemAllocHost(&other, 64), CUDA_ERROR_ILLEGAL_ADDRESS);
  for (CUresult result : {cuMemHostGetDevicePointer(&seen, host, 0), cuMemHostGetFlags(&flags, host),
                          enroll(pages.data() + kPage, kPage, 0), cuMemHostUnregister(pages.data())})
    EXPECT_TRUE(result == CUDA_SUCCESS || result == CUDA_ERROR_ILLEGAL_ADDRESS) << static_cast<int>(result);
  EXPECT_EQ(cuMemFreeHost(host), CUDA_ERROR_ILLEGAL_ADDRESS);
}

}  // namespace
