// Page-locked host memory in the device's address space.
#include <sys/mman.h>

#include "managed_objects.h"
#include "suite.h"

namespace {

using MappedMemory = Device;

CUdeviceptr deviceAddress(void* host) {
  CUdeviceptr address = 0;
  EXPECT_OK(cuMemHostGetDevicePointer(&address, host, 0));
  return address;
}

// Whole pages of the application's own, registered for the device.
class RegisteredPages {
 public:
  explicit RegisteredPages(size_t size) : size_(size) {
    void* const pages = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    data_ = pages == MAP_FAILED ? nullptr : static_cast<uint8_t*>(pages);
    EXPECT_OK(cuMemHostRegister(data_, size, CU_MEMHOSTREGISTER_DEVICEMAP));
  }
  RegisteredPages(const RegisteredPages&) = delete;
  RegisteredPages& operator=(const RegisteredPages&) = delete;
  ~RegisteredPages() {
    EXPECT_OK(cuMemHostUnregister(data_));
    munmap(data_, size_);
  }
  uint8_t* data() const { return data_; }

 private:
  uint8_t* data_ = nullptr;
  size_t size_;
};

TEST_F(MappedMemory, AllocatedBlocksAreUsedByKernels) {
  PROVES("MAPPED-001", "MAPPED-004", "MAPPED-005");
  const PinnedBuffer block(Bytes(4096), CU_MEMHOSTALLOC_DEVICEMAP);
  const CUdeviceptr address = deviceAddress(block.data());
  launchStore(nullptr, address + 40, 123);
  ASSERT_OK(cuCtxSynchronize());
  EXPECT_EQ(wordAt(block + 40), 123u);
  if (attribute(CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING)) {
    EXPECT_EQ(address, CUdeviceptr{block}) << "one address for both";
  }
}

TEST_F(MappedMemory, RegisteredBlocksAreUsedByKernels) {
  PROVES("MAPPED-002", "MAPPED-003", "MAPPED-004");
  const RegisteredPages block(65536);
  const CUdeviceptr address = deviceAddress(block.data());
  launchStore(nullptr, address + 40, 123);
  ASSERT_OK(cuCtxSynchronize());
  const auto host = reinterpret_cast<CUdeviceptr>(block.data());
  EXPECT_EQ(wordAt(host + 40), 123u);
  if (attribute(CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM)) {
    DIFFERS("MAPPED-003", "a registered block has one address, where the device can use host pointers of such");
    EXPECT_EQ(address, host);
  }
}

TEST_F(MappedMemory, KernelsReadAndWriteItWithoutCopiesOrDeviceMemory) {
  PROVES("MAPPED-007");
  constexpr size_t kWords = 1 << 20;
  size_t before = 0, after = 0, total = 0;
  ASSERT_OK(cuMemGetInfo(&before, &total));
  const PinnedBuffer block(4 * kWords, CU_MEMHOSTALLOC_DEVICEMAP);
  ASSERT_OK(cuMemGetInfo(&after, &total));
  EXPECT_EQ(before, after);
  auto* const words = reinterpret_cast<volatile uint32_t*>(block.data());
  for (size_t i = 0; i < kWords; ++i) words[i] = static_cast<uint32_t>(i);
  const CUdeviceptr address = deviceAddress(block.data());
  launchIncrement(nullptr, address, address, kWords);
  ASSERT_OK(cuCtxSynchronize());
  size_t wrong = 0;
  for (size_t i = 0; i < kWords; ++i) wrong += words[i] != i + 1;
  EXPECT_EQ(wrong, 0u);
}

// A kernel sees what the host writes while it runs, and the host sees what the kernel writes: no copy, no stream.
TEST_F(MappedMemory, BytesTravelWhileTheKernelRuns) {
  PROVES("MAPPED-008");
  const PinnedBuffer block(Bytes(4096), CU_MEMHOSTALLOC_DEVICEMAP);
  const Stream stream;
  launchWaitForFlag(stream, deviceAddress(block.data()));
  EXPECT_FALSE(stream.idle());
  wordAt(block) = 1;
  const double start = now();
  stream.synchronize();
  EXPECT_LT(now() - start, 5) << "the kernel gave up";
}

// Nobody asked for CU_CTX_MAP_HOST, nor the block for DEVICEMAP.
TEST_F(MappedMemory, NeedsNoPermissionWithUnifiedAddresses) {
  PROVES("MAPPED-010", "MAPPED-011");
  DIFFERS("MAPPED-010", "with unified addresses every page-locked block has a device pointer, allowed or not");
  DIFFERS("MAPPED-011", "with unified addresses every page-locked block has a device pointer, allowed or not");
  if (!attribute(CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING)) GTEST_SKIP();
  const PinnedBuffer block(4096);
  launchStore(nullptr, deviceAddress(block.data()), 7);
  ASSERT_OK(cuCtxSynchronize());
  EXPECT_EQ(wordAt(block), 7u);
}

TEST_F(MappedMemory, OtherMemoryHasNoDevicePointer) {
  PROVES("MAPPED-004");
  Bytes pageable(64);
  const DeviceBuffer plain(64);
  const ManagedBuffer managed(64);
  CUdeviceptr address = 0;
  EXPECT_INVALID_VALUE(cuMemHostGetDevicePointer(&address, pageable.data(), 0));
  EXPECT_INVALID_VALUE(cuMemHostGetDevicePointer(&address, reinterpret_cast<void*>(CUdeviceptr{plain}), 0));
  EXPECT_INVALID_VALUE(cuMemHostGetDevicePointer(&address, managed.data(), 0));
  EXPECT_INVALID_VALUE(cuMemHostGetDevicePointer(&address, nullptr, 0));
  const PinnedBuffer block(64, CU_MEMHOSTALLOC_DEVICEMAP);
  EXPECT_INVALID_VALUE(cuMemHostGetDevicePointer(&address, block.data(), 1)) << "flags";
  EXPECT_INVALID_VALUE(cuMemHostGetDevicePointer(nullptr, block.data(), 0));
}

TEST_F(MappedMemory, TheAttributeSaysWhetherBlocksCanBeMapped) {
  PROVES("MAPPED-013");
  void* block = nullptr;
  ASSERT_OK(cuMemHostAlloc(&block, 64, CU_MEMHOSTALLOC_DEVICEMAP));
  CUdeviceptr address = 0;
  const bool mapped = cuMemHostGetDevicePointer(&address, block, 0) == CUDA_SUCCESS;
  EXPECT_EQ(mapped, attribute(CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY) == 1);
  EXPECT_OK(cuMemFreeHost(block));
}

// Stores nothing but zeros and nothing but ones in turn, 1, 2, 4, 8 and 16 bytes wide, at 0, 16, 32, 48 and 64.
constexpr char kAlternate[] = R"(.version 6.5
.target sm_50
.address_size 64
.visible .entry alternate(.param .u64 where, .param .u64 nanoseconds) {
  .reg .u64 %t<4>; .reg .u64 %a; .reg .u64 %v; .reg .u32 %w; .reg .u16 %h; .reg .pred %p;
  ld.param.u64 %a, [where];
  ld.param.u64 %t2, [nanoseconds];
  mov.u64 %v, 0;
  mov.u64 %t0, %globaltimer;
again:
  not.b64 %v, %v;
  cvt.u32.u64 %w, %v;
  cvt.u16.u64 %h, %v;
  st.global.u8 [%a], %h;
  st.global.u16 [%a+16], %h;
  st.global.u32 [%a+32], %w;
  st.global.u64 [%a+48], %v;
  st.global.v2.u64 [%a+64], {%v, %v};
  membar.sys;
  mov.u64 %t1, %globaltimer;
  sub.u64 %t3, %t1, %t0;
  setp.lt.u64 %p, %t3, %t2;
  @%p bra again;
  ret;
}
)";

template <class Word>
bool whole(const uint8_t* at) {
  const Word word = *reinterpret_cast<const volatile Word*>(at);
  return word == 0 || word == static_cast<Word>(~Word{0});
}

// One load of 16 bytes, which processors with AVX, or ARM's of version 8.4, keep in one piece.
bool whole16(const uint8_t* at) {
  uint8_t __attribute__((vector_size(16))) word;
#if defined(__x86_64__)
  asm volatile("movdqa %1, %0" : "=x"(word) : "m"(*reinterpret_cast<const decltype(word)*>(at)));
#else
  asm volatile("ldr %q0, %1" : "=w"(word) : "m"(*reinterpret_cast<const decltype(word)*>(at)));
#endif
  int zeros = 0;
  for (int i = 0; i < 16; ++i) zeros += word[i] == 0;
  return zeros == 0 || zeros == 16;
}

// Calls look(block) again and again while a kernel stores; what it returns is how often a store was seen in parts.
size_t tornStores(size_t (*look)(const uint8_t* block)) {
  const PinnedBuffer block(Bytes(4096), CU_MEMHOSTALLOC_DEVICEMAP);
  const Stream stream;
  CUmodule module = nullptr;
  CUfunction alternate = nullptr;
  EXPECT_OK(cuModuleLoadData(&module, kAlternate));
  EXPECT_OK(cuModuleGetFunction(&alternate, module, "alternate"));
  CUdeviceptr address = deviceAddress(block.data());
  uint64_t nanoseconds = 300'000'000, before = 0;
  void* parameters[] = {&address, &nanoseconds};
  EXPECT_OK(cuLaunchKernel(alternate, 1, 1, 1, 1, 1, 1, 0, stream, parameters, nullptr));
  size_t torn = 0, changes = 0;
  while (!stream.idle())
    for (int i = 0; i < 1000; ++i) {
      torn += look(block.data());
      const uint64_t value = *reinterpret_cast<const volatile uint64_t*>(block.data() + 48);
      changes += value != before;
      before = value;
    }
  EXPECT_GT(changes, 0u) << "nothing was seen while the kernel ran";
  EXPECT_OK(cuModuleUnload(module));
  return torn;
}

TEST_F(MappedMemory, AlignedStoresOfTheDeviceStayInOnePiece) {
  PROVES("MAPPED-016");
  EXPECT_EQ(tornStores([](const uint8_t* block) -> size_t {
              return !whole<uint8_t>(block) + !whole<uint16_t>(block + 16) + !whole<uint32_t>(block + 32) +
                     !whole<uint64_t>(block + 48);
            }),
            0u);
}

TEST_F(MappedMemory, AlignedStoresOf16BytesStayInOnePiece) {
  PROVES("MAPPED-016");
  EXPECT_EQ(tornStores([](const uint8_t* block) -> size_t { return !whole16(block + 64); }), 0u);
}

}  // namespace
