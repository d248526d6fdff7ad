// Printing, malloc and assertions of kernels on the fake GPU; the test writes what kernels would write. Skipped where
// no compiler makes the functions.
#include "backend/nvidia/kernel_services.h"

#include <sys/mman.h>

#include <cstring>
#include <string_view>
#include <vector>

#include "backend/condition_table.h"
#include "gpu/fake_gpu.h"

namespace vg::testing {
namespace {

using namespace backend::nvidia;

constexpr size_t kWindow = 16 << 20;

struct Services : ::testing::Test {
  void SetUp() override {
    void* const raw = mmap(nullptr, 2 * kWindow, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    window = reinterpret_cast<std::byte*>((reinterpret_cast<uintptr_t>(raw) + kHugePage - 1) & ~(kHugePage - 1));
    ASSERT_EQ(device->memory().commit(window, kWindow), CUDA_SUCCESS);
    device->showToHost(window, kWindow);
    source.memoryOwner = this;
    source.allocate = [](void* owner, size_t bytes, size_t alignment) -> Result<CUdeviceptr> {
      auto& self = *static_cast<Services*>(owner);
      const size_t at = (self.used + alignment - 1) / alignment * alignment;
      if (at + bytes > kWindow) return CUDA_ERROR_OUT_OF_MEMORY;
      self.used = at + bytes;
      self.pieces.push_back({reinterpret_cast<CUdeviceptr>(self.window + at), bytes});
      return self.pieces.back().start;
    };
    source.release = [](void* owner, CUdeviceptr) { ++static_cast<Services*>(owner)->released; };
  }

  struct Piece {
    CUdeviceptr start;
    size_t bytes;
  };
  FakeGpu fake;
  GpuDevice* const device = keptDevice(fake);
  std::byte* window = nullptr;
  size_t used = 0;
  int released = 0;
  std::vector<Piece> pieces;  // code, heap, ring
  backend::ImageSource source;
};

#define MAKE_OR_SKIP(name)                                                              \
  auto made = KernelServices::of(*device, source);                                      \
  if (made.error() == CUDA_ERROR_JIT_COMPILER_NOT_FOUND) GTEST_SKIP() << "no compiler"; \
  ASSERT_TRUE(made.ok());                                                               \
  auto name = std::move(*made)

TEST_F(Services, FunctionsLieInTheContextsMemory) {
  MAKE_OR_SKIP(services);
  ASSERT_EQ(pieces.size(), 3u);
  for (const char* name : {"vprintf", "malloc", "free", "__assertfail"}) {
    const uint64_t address = must(services->external(name));
    EXPECT_GE(address, pieces[0].start) << name;
    EXPECT_LT(address, pieces[0].start + pieces[0].bytes) << name;
  }
  EXPECT_EQ(services->external("memcpy").error(), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(services->external("__cuda_syscall_cnpv2LaunchDeviceV2").error(), CUDA_ERROR_NOT_SUPPORTED);
  cubin::HeapHeader heap;
  std::memcpy(&heap, reinterpret_cast<const void*>(pieces[1].start), sizeof heap);
  EXPECT_EQ(heap.size, size_t{8} << 20);
}

TEST_F(Services, AContextHasOneAndGetsItsMemoryBack) {
  {
    MAKE_OR_SKIP(services);
    EXPECT_EQ(must(KernelServices::of(*device, source)).get(), services.get());
    EXPECT_EQ(released, 0);
  }
  EXPECT_EQ(released, 3);
}

TEST_F(Services, WhatKernelsWriteIsPrinted) {
  MAKE_OR_SKIP(services);
  struct {
    cubin::OutputHeader header;
    cubin::RecordHeader record{32, cubin::markOf(0), cubin::RecordKind::Print, 4};
    char format[8] = "n %d\n";
    int value = 41;
    int fill = 0;
  } memory;
  memory.header.capacity = pieces[2].bytes - sizeof memory.header;
  memory.header.reserved = 32;
  std::memcpy(reinterpret_cast<void*>(pieces[2].start), &memory, sizeof memory);
  ::testing::internal::CaptureStdout();
  device->flushOutput();
  std::fflush(stdout);
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "n 41\n");
  EXPECT_FALSE(services->flush());
}

TEST_F(Services, ConditionsAreShownWhenAModuleSetsThem) {
  MAKE_OR_SKIP(services);
  const auto table = reinterpret_cast<uint64_t>(must(backend::conditions::memory()));
  const auto known = [&] {
    const char* const code = reinterpret_cast<const char*>(pieces[0].start);
    const std::string_view memory(code, pieces[0].bytes);
    return memory.find({reinterpret_cast<const char*>(&table), sizeof table}) != std::string_view::npos;
  };
  EXPECT_FALSE(known());
  EXPECT_NE(must(services->external("cudaGraphSetConditional")), 0u);
  EXPECT_TRUE(known());
}

}  // namespace
}  // namespace vg::testing
