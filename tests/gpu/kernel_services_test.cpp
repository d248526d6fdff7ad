// Printing, malloc and assertions of kernels on the fake GPU; the test writes what kernels would write. Skipped where
// no compiler makes the functions.
#include "backend/nvidia/kernels/kernel_services.h"

#include <cstring>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "backend/device_side/condition_table.h"
#include "backend/nvidia/kernels/gpu_image.h"
#include "gpu/fake_gpu.h"

namespace vg::testing {
namespace {

using namespace backend::nvidia;

constexpr size_t kWindow = 16 << 20;

struct Services : ::testing::Test {
  void SetUp() override {
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
  std::byte* const window = keptMemory(*device, kWindow);
  size_t used = 0;
  int released = 0;
  std::vector<Piece> pieces;  // code, heap, ring
  backend::ImageSource source;
};

#define MAKE_OR_SKIP(name)                                                              \
  auto made = KernelServices::of(device->parts(), source);                              \
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

// A kernel that reads a box with gradients, as compiled code names what it calls: by a word of constant bank 4.
cubin::Cubin gradientModule(const char* external) {
  cubin::Cubin c;
  c.architecture = fakeArchitecture();
  c.sections = {{".text.reads", cubin::Kind::Code, 0, cubin::kNone, 128, 128},
                {".nv.constant4", cubin::Kind::Constant, 4, cubin::kNone, 8, 8}};
  c.bytes.assign(128 + 8, '\0');
  c.fileOffsets = {0, 128};
  c.symbols = {{"", cubin::kNone, 0, false, false}, {external, cubin::kNone, 0, true, false}};
  c.relocations = {{}, {{0, 2, 1, 0, false}}};
  c.externals = {external};
  cubin::Kernel kernel;
  kernel.name = "reads";
  kernel.section = 0;
  kernel.registers = 8;
  kernel.parameterBase = kDriverWords;
  kernel.bank0Bytes = kDriverWords;
  kernel.maxThreads = 1024;
  c.kernels.push_back(kernel);
  return c;
}

TEST_F(Services, GradientFunctionsArePlacedWhenAModuleCallsThem) {
  MAKE_OR_SKIP(services);
  const size_t before = pieces.size();
  const uint32_t stack = services->stackBytes();
  source.name = "gradients";
  source.native = std::make_shared<const cubin::Cubin>(gradientModule("__cuda_syscall_tex_grad_3d_v4_f32_f32"));
  const auto image = must(loadImage(device->parts(), source));
  ASSERT_EQ(pieces.size(), before + 2);  // the module's, the functions'
  uint64_t named = 0;
  for (size_t at = 0; at + sizeof named <= pieces[before].bytes && !named; at += sizeof named)
    std::memcpy(&named, reinterpret_cast<const void*>(pieces[before].start + at), sizeof named);
  EXPECT_EQ(named, must(services->gradient(source, "__cuda_syscall_tex_grad_3d_v4_f32_f32")));
  EXPECT_GT(services->stackBytes(), 0u);
  EXPECT_GE(services->stackBytes(), stack);
  EXPECT_GE(services->registers(), 24u);

  std::set<uint64_t> addresses;
  for (const std::string geometry : {"3d", "cube", "acube"})
    for (const std::string type : {"f32", "s32", "u32"}) {
      const std::string tail = geometry + "_v4_" + type + "_f32";
      const uint64_t address = must(services->gradient(source, "__cuda_syscall_tex_grad_" + tail));
      EXPECT_GE(address, pieces[before + 1].start) << tail;
      EXPECT_LT(address, pieces[before + 1].start + pieces[before + 1].bytes) << tail;
      EXPECT_EQ(must(services->gradient(source, "__cuda_syscall_tex_grad_pred_" + tail)), address) << tail;
      addresses.insert(address);
    }
  EXPECT_EQ(addresses.size(), 9u);
  EXPECT_EQ(pieces.size(), before + 2);
}

TEST_F(Services, GradientsWithHalvesOffsetsOrComparisonsAreRefused) {
  MAKE_OR_SKIP(services);
  for (const char* name : {"__cuda_syscall_tex_grad_3d_v4_f16_f32", "__cuda_syscall_tex_grad_3d_v4_s32_f32_offset",
                           "__cuda_syscall_tex_grad_cube_v4_f32_f32_depth_compare"}) {
    source.native = std::make_shared<const cubin::Cubin>(gradientModule(name));
    EXPECT_EQ(loadImage(device->parts(), source).error(), CUDA_ERROR_NOT_SUPPORTED) << name;
  }
}

TEST_F(Services, AContextHasOneAndGetsItsMemoryBack) {
  {
    MAKE_OR_SKIP(services);
    EXPECT_EQ(must(KernelServices::of(device->parts(), source)).get(), services.get());
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
