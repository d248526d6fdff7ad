// Memory of the library's own (handles, tables, records) is none that a kernel or a copy may touch, and nothing that
// can be touched lies where an index gone wrong leads to.
#include <sys/mman.h>

#include <cstdio>
#include <cstdlib>

#include "kernels/fixture.h"

namespace kernels {
namespace {

std::string touch() {
  return module(entry("kernel", {".u64"},
                      "ld.param.u64 %rd1, [p0];\nld.global.u32 %r1, [%rd1];\n"
                      "add.u32 %r1, %r1, 1;\nst.global.u32 [%rd1], %r1;\n"));
}

class OwnMemoryTest : public KernelTest {
 protected:
  void SetUp() override {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    KernelTest::SetUp();
    memory_ = allocate(4096);
    ASSERT_EQ(cuStreamCreate(&stream_, 0), CUDA_SUCCESS);
  }
  void expectIllegal(CUdeviceptr address) {
    const auto body = [&] {
      EXPECT_EQ(run(function(touch()), 1, 1, address), CUDA_ERROR_ILLEGAL_ADDRESS) << std::hex << address;
      std::exit(HasFailure());
    };
    EXPECT_EXIT(body(), ::testing::ExitedWithCode(0), "");
  }
  // A handle is the address of an object of the library's.
  char* object() const { return reinterpret_cast<char*>(stream_); }
  CUdeviceptr objectAddress() const { return reinterpret_cast<CUdeviceptr>(stream_); }

  CUdeviceptr memory_ = 0;
  CUstream stream_ = nullptr;
};

TEST_F(OwnMemoryTest, IsNothingThatCopiesRead) {
  EXPECT_EQ(cuMemcpyHtoD(memory_, object(), 8), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemcpyHtoDAsync(memory_, object(), 8, stream_), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemcpy(memory_, objectAddress(), 8), CUDA_ERROR_INVALID_VALUE);
  CUDA_MEMCPY2D box{};
  box.srcMemoryType = CU_MEMORYTYPE_HOST;
  box.srcHost = object();
  box.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  box.dstDevice = memory_;
  box.WidthInBytes = 8;
  box.Height = 1;
  EXPECT_EQ(cuMemcpy2D(&box), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(OwnMemoryTest, IsNothingThatCopiesAndFillsWrite) {
  EXPECT_EQ(cuMemcpyDtoH(object(), memory_, 8), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemcpyDtoH(object() - 4096, memory_, 4096), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemsetD8(objectAddress(), 0, 8), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuStreamQuery(stream_), CUDA_SUCCESS);
}

TEST_F(OwnMemoryTest, CannotBeRegistered) {
  char* const page = reinterpret_cast<char*>(objectAddress() & ~CUdeviceptr{4095});
  EXPECT_EQ(cuMemHostRegister(page, 4096, 0), CUDA_ERROR_INVALID_VALUE);
}

// As a parameter; tests/reach has the other ways to it.
TEST_F(OwnMemoryTest, IsAnIllegalAddressToKernels) { expectIllegal(objectAddress()); }

// Indices of 32 bits of four and of sixteen bytes.
TEST_F(OwnMemoryTest, WhatAnIndexGoneWrongNamesIsAnIllegalAddress) {
  for (const size_t bytes : {size_t{4}, size_t{64} << 10, size_t{1} << 31, size_t{1} << 33, size_t{1} << 35})
    expectIllegal(memory_ - bytes);
  for (const size_t bytes : {size_t{1} << 33, size_t{1} << 35}) expectIllegal(memory_ + bytes);
}

struct Mapping {
  uintptr_t start, end;
  bool accessible;
};
std::vector<Mapping> mappings() {
  std::vector<Mapping> all;
  std::FILE* const file = std::fopen("/proc/self/maps", "re");
  char line[512], rights[5];
  unsigned long start, end;
  while (file && std::fgets(line, sizeof line, file))
    if (std::sscanf(line, "%lx-%lx %4s", &start, &end, rights) == 3)
      all.push_back({start, end, rights[0] == 'r' || rights[1] == 'w'});
  if (file) std::fclose(file);
  return all;
}

TEST_F(OwnMemoryTest, NothingThatCanBeTouchedLiesBelowTheFirstAllocation) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "the thread sanitizer says where memory may lie";
#endif
  constexpr uintptr_t kFar = uintptr_t{1} << 35;  // 32 GiB
  const uintptr_t granule = memory_ & ~((uintptr_t{2} << 20) - 1);
  for (const Mapping& one : mappings())
    if (one.accessible && one.end > granule - kFar && one.start < granule) {
      ADD_FAILURE() << std::hex << one.start << " to " << one.end << ", first allocation at " << memory_;
    }
}

}  // namespace
}  // namespace kernels
