// Host memory that nobody registered: kernels reach it where their device says so, and fail with error 700 where it
// does not. This file runs with both answers (VERDIGRIS_PAGEABLE).
#include <sys/mman.h>

#include <cstdlib>
#include <vector>

#include "kernels/fixture.h"

namespace kernels {
namespace {

// Adds one to the word at the address p0.
std::string touch() {
  return module(entry("kernel", {".u64"},
                      "ld.param.u64 %rd1, [p0];\nld.global.u32 %r1, [%rd1];\n"
                      "add.u32 %r1, %r1, 1;\nst.global.u32 [%rd1], %r1;\n"));
}
// The same to the word whose address lies at p0.
std::string touchThere() {
  return module(entry("kernel", {".u64"},
                      "ld.param.u64 %rd2, [p0];\nld.global.u64 %rd1, [%rd2];\nld.u32 %r1, [%rd1];\n"
                      "add.u32 %r1, %r1, 1;\nst.u32 [%rd1], %r1;\n"));
}
// Generic accesses to shared and local memory and to a piece of the kernels' heap; the sum goes to p0.
std::string touchOwn() {
  return module(
      ".extern .func (.param .b64 r) malloc (.param .b64 n);\n"
      ".extern .func free (.param .b64 p);\n" +
      entry("kernel", {".u64"},
            ".shared .align 4 .b8 room[64];\n.local .align 4 .b8 frame[64];\n"
            "ld.param.u64 %rd1, [p0];\nmov.u32 %r1, %tid.x;\nand.b32 %r1, %r1, 1;\nmul.wide.u32 %rd2, %r1, 4;\n"
            "mov.u64 %rd3, room;\ncvta.shared.u64 %rd3, %rd3;\nadd.u64 %rd3, %rd3, %rd2;\nst.u32 [%rd3], 5;\n"
            "mov.u64 %rd4, frame;\ncvta.local.u64 %rd4, %rd4;\nadd.u64 %rd4, %rd4, %rd2;\nst.u32 [%rd4], 7;\n"
            "{ .param .b64 n; .param .b64 r; st.param.b64 [n], 64;\ncall (r), malloc, (n);\nld.param.b64 %rd5, [r]; }\n"
            "add.u64 %rd6, %rd5, %rd2;\nst.u32 [%rd6], 11;\nld.u32 %r2, [%rd3];\nld.u32 %r3, [%rd4];\n"
            "ld.u32 %r4, [%rd6];\nadd.u32 %r2, %r2, %r3;\nadd.u32 %r2, %r2, %r4;\nst.global.u32 [%rd1], %r2;\n"
            "{ .param .b64 p; st.param.b64 [p], %rd5;\ncall free, (p); }\n"));
}

class PageableTest : public KernelTest {
 protected:
  void SetUp() override {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    KernelTest::SetUp();
    int value = 0;
    ASSERT_EQ(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS, device_), CUDA_SUCCESS);
    reached_ = value;
    host_ = static_cast<uint32_t*>(mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  }
  void TearDown() override {
    munmap(host_, 8192);
    KernelTest::TearDown();
  }
  static CUdeviceptr address(const void* memory) { return reinterpret_cast<CUdeviceptr>(memory); }
  void expect(const std::string& text, CUdeviceptr argument, const uint32_t* counted) {
    if (reached_) {
      const uint32_t before = *counted;
      EXPECT_EQ(run(function(text), 1, 1, argument), CUDA_SUCCESS);
      EXPECT_EQ(*counted, before + 1);
      return;
    }
    const auto body = [&] {
      EXPECT_EQ(run(function(text), 1, 1, argument), CUDA_ERROR_ILLEGAL_ADDRESS);
      EXPECT_EQ(*counted, 0u);
      std::exit(HasFailure());
    };
    EXPECT_EXIT(body(), ::testing::ExitedWithCode(0), "illegal|does not reach");
  }

  bool reached_ = false;
  uint32_t* host_ = nullptr;
};

TEST_F(PageableTest, MemoryOfTheHostIsReachedWhereTheDeviceSaysSo) { expect(touch(), address(host_), host_); }

TEST_F(PageableTest, SoIsTheStackAndWhatMallocGave) {
  uint32_t local = 0;
  expect(touch(), address(&local), &local);
  std::vector<uint32_t> many(1000);
  expect(touch(), address(&many[500]), &many[500]);
}

TEST_F(PageableTest, SoIsWhatAPointerOutOfMemoryNames) {
  const CUdeviceptr place = allocate(8), pointer = address(host_);
  EXPECT_EQ(cuMemcpyHtoD(place, &pointer, sizeof pointer), CUDA_SUCCESS);
  expect(touchThere(), place, host_);
}

TEST_F(PageableTest, RegisteredAndPageLockedMemoryIsAlwaysReached) {
  EXPECT_EQ(cuMemHostRegister(host_, 8192, 0), CUDA_SUCCESS);
  EXPECT_EQ(run(function(touch()), 1, 1, address(host_ + 1500)), CUDA_SUCCESS);
  EXPECT_EQ(host_[1500], 1u);
  EXPECT_EQ(cuMemHostUnregister(host_), CUDA_SUCCESS);
  void* locked = nullptr;
  EXPECT_EQ(cuMemHostAlloc(&locked, 64, 0), CUDA_SUCCESS);
  EXPECT_EQ(run(function(touch()), 1, 1, address(locked)), CUDA_SUCCESS);
  EXPECT_EQ(cuMemFreeHost(locked), CUDA_SUCCESS);
  CUdeviceptr managed = 0, ordered = 0;
  EXPECT_EQ(cuMemAllocManaged(&managed, 64, CU_MEM_ATTACH_GLOBAL), CUDA_SUCCESS);
  EXPECT_EQ(run(function(touch()), 1, 1, managed), CUDA_SUCCESS);
  EXPECT_EQ(cuMemFree(managed), CUDA_SUCCESS);
  EXPECT_EQ(cuMemAllocAsync(&ordered, 64, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(run(function(touch()), 1, 1, ordered), CUDA_SUCCESS);
  EXPECT_EQ(cuMemFreeAsync(ordered, nullptr), CUDA_SUCCESS);
}

TEST_F(PageableTest, WhatKernelsHaveThemselvesIsAlwaysReached) {
  const CUdeviceptr out = allocate(4);
  EXPECT_EQ(run(function(touchOwn()), 1, 32, out), CUDA_SUCCESS);
  EXPECT_EQ(read(out, 1)[0], 23u);
}

// A parameter that only looks like a pointer does no harm.
TEST_F(PageableTest, AnAddressThatIsNotTouchedIsNoFault) {
  const std::string text = module(entry("kernel", {".u64", ".u64"},
                                        "ld.param.u64 %rd1, [p0];\nld.param.u64 %rd2, [p1];\n"
                                        "st.global.u64 [%rd1], %rd2;\n"));
  const CUdeviceptr out = allocate(8), number = address(host_);
  EXPECT_EQ(run(function(text), 1, 1, out, number), CUDA_SUCCESS);
  CUdeviceptr back = 0;
  EXPECT_EQ(cuMemcpyDtoH(&back, out, sizeof back), CUDA_SUCCESS);
  EXPECT_EQ(back, number);
}

}  // namespace
}  // namespace kernels
