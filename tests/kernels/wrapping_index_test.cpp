// Indices of 32 bits that wrap around between two lanes of a warp, on their way to addresses of 64 bits: rows of
// elements that look consecutive and are not. Two pieces of memory lie 16 GiB apart, where the wrap tears the row.
#include "kernels/fixture.h"

namespace kernels {
namespace {

constexpr size_t kGranule = size_t{2} << 20;
constexpr uint32_t kBeforeWrap = 16;  // elements

class WrappingIndexTest : public KernelTest {
 protected:
  void SetUp() override {
    KernelTest::SetUp();
    const CUmemLocation here{CU_MEM_LOCATION_TYPE_DEVICE, 0};
    CUmemAllocationProp properties{};
    properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location = here;
    const CUmemAccessDesc access{here, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    ASSERT_EQ(cuMemAddressReserve(&start_, kSpan, 0, 0, 0), CUDA_SUCCESS);
    for (const CUdeviceptr place : {start_, start_ + kSpan - kGranule}) {
      CUmemGenericAllocationHandle memory = 0;
      ASSERT_EQ(cuMemCreate(&memory, kGranule, &properties, 0), CUDA_SUCCESS);
      ASSERT_EQ(cuMemMap(place, kGranule, 0, memory, 0), CUDA_SUCCESS);
      ASSERT_EQ(cuMemRelease(memory), CUDA_SUCCESS);
      ASSERT_EQ(cuMemSetAccess(place, kGranule, &access, 1), CUDA_SUCCESS);
      ASSERT_EQ(cuMemsetD32(place, 0, kGranule / 4), CUDA_SUCCESS);
    }
  }
  void TearDown() override {
    for (const CUdeviceptr place : {start_, start_ + kSpan - kGranule}) cuMemUnmap(place, kGranule);
    cuMemAddressFree(start_, kSpan);
    KernelTest::TearDown();
  }

  // The words that a warp of threads reached, thread 0's first.
  std::vector<uint32_t> words() {
    std::vector<uint32_t> all = read(start_ + kSpan - 4 * kBeforeWrap, kBeforeWrap);
    const std::vector<uint32_t> rest = read(start_, 32 - kBeforeWrap);
    all.insert(all.end(), rest.begin(), rest.end());
    return all;
  }

  static constexpr size_t kSpan = size_t{4} << 32;
  CUdeviceptr start_ = 0;
};

// Element p1 + tid of the array at p0 becomes three times itself plus tid + 1, in the threads that `guard` names.
std::string update(const std::string& type, const std::string& test, const std::string& guard) {
  return module(entry("kernel", {".u64", ".u32"},
                      "ld.param.u64 %rd1, [p0];\nld.param.u32 %r1, [p1];\nmov.u32 %r2, %tid.x;\n" + test +
                          "add.u32 %r3, %r1, %r2;\nmul.wide." + type +
                          " %rd2, %r3, 4;\nadd.u64 %rd3, %rd1, %rd2;\nadd.u32 %r5, %r2, 1;\n" + guard +
                          " bra SKIP;\nld.global.u32 %r4, [%rd3];\nmad.lo.u32 %r4, %r4, 3, %r5;\n"
                          "st.global.u32 [%rd3], %r4;\nSKIP:"));
}

TEST_F(WrappingIndexTest, UnsignedIndicesWrapToTheStartOfTheArray) {
  const CUfunction kernel = function(update("u32", "setp.gt.u32 %p1, %r2, 31;\n", "@%p1"));
  const uint32_t first = 0u - kBeforeWrap;
  for (int round = 0; round < 2; ++round) ASSERT_EQ(run(kernel, 1, 32, start_, first), CUDA_SUCCESS);
  const std::vector<uint32_t> got = words();
  for (uint32_t n = 0; n < 32; ++n) EXPECT_EQ(got[n], 4 * (n + 1)) << n;
}

TEST_F(WrappingIndexTest, SignedIndicesWrapToBelowTheArray) {
  const CUfunction kernel = function(update("s32", "setp.gt.u32 %p1, %r2, 31;\n", "@%p1"));
  const uint32_t first = 0x80000000u - kBeforeWrap;
  for (int round = 0; round < 2; ++round)
    ASSERT_EQ(run(kernel, 1, 32, start_ + (CUdeviceptr{2} << 32), first), CUDA_SUCCESS);
  const std::vector<uint32_t> got = words();
  for (uint32_t n = 0; n < 32; ++n) EXPECT_EQ(got[n], 4 * (n + 1)) << n;
}

TEST_F(WrappingIndexTest, LanesThatAreSwitchedOffTouchNothing) {
  const CUfunction kernel = function(update("u32", "and.b32 %r6, %r2, 5;\nsetp.eq.u32 %p1, %r6, 1;\n", "@%p1"));
  const uint32_t first = 0u - kBeforeWrap;
  for (int round = 0; round < 2; ++round) ASSERT_EQ(run(kernel, 1, 32, start_, first), CUDA_SUCCESS);
  const std::vector<uint32_t> got = words();
  for (uint32_t n = 0; n < 32; ++n) EXPECT_EQ(got[n], (n & 5) == 1 ? 0 : 4 * (n + 1)) << n;
}

// Two rows read and one written, twice, a third one read in between: element p1 + tid and the one 8 behind it, whose
// index is another and wraps at other lanes. What is read is added up in 32 bits.
TEST_F(WrappingIndexTest, OfSeveralRowsAnyMayWrap) {
  const CUfunction kernel = function(
      module(entry("kernel", {".u64", ".u32", ".u64"},
                   "ld.param.u64 %rd1, [p0];\nld.param.u32 %r1, [p1];\nld.param.u64 %rd6, [p2];\nmov.u32 %r2, %tid.x;\n"
                   "mul.wide.u32 %rd7, %r2, 4;\nadd.u64 %rd6, %rd6, %rd7;\nmov.u32 %r8, 0;\n"
                   "AGAIN:\nadd.u32 %r3, %r1, %r2;\nmul.wide.u32 %rd2, %r3, 4;\nadd.u64 %rd3, %rd1, %rd2;\n"
                   "ld.global.u32 %r4, [%rd3];\nadd.u32 %r5, %r3, 8;\nmul.wide.u32 %rd4, %r5, 4;\n"
                   "add.u64 %rd5, %rd1, %rd4;\nld.global.u32 %r6, [%rd5];\nmad.lo.u32 %r4, %r6, 5, %r4;\n"
                   "ld.global.u32 %r7, [%rd3];\nadd.u32 %r4, %r4, %r7;\nst.global.u32 [%rd3], %r4;\n"
                   "ld.global.u32 %r9, [%rd6];\nadd.u32 %r9, %r9, %r4;\nst.global.u32 [%rd6], %r9;\n"
                   "add.u32 %r8, %r8, 1;\nsetp.lt.u32 %p1, %r8, 2;\n@%p1 bra AGAIN;\n")));
  constexpr uint32_t kAround = 64;  // elements on each side of the wrap
  const CUdeviceptr sums = allocate(32 * 4);
  for (const uint32_t first : {8u, 0u - 40u, 0u - 32u, 0u - 24u, 0u - 20u, 0u - 8u, 0u - 1u, 0u}) {
    std::vector<uint32_t> around(2 * kAround), sum(32);
    for (uint32_t n = 0; n < around.size(); ++n) around[n] = n * 2654435761u;
    ASSERT_EQ(cuMemcpyHtoD(start_ + kSpan - 4 * kAround, around.data(), 4 * kAround), CUDA_SUCCESS);
    ASSERT_EQ(cuMemcpyHtoD(start_, &around[kAround], 4 * kAround), CUDA_SUCCESS);
    ASSERT_EQ(cuMemsetD32(sums, 0, 32), CUDA_SUCCESS);
    ASSERT_EQ(run(kernel, 1, 32, start_, first, sums), CUDA_SUCCESS);
    for (int round = 0; round < 2; ++round) {
      const std::vector<uint32_t> before = around;
      for (uint32_t t = 0; t < 32; ++t) {
        const uint32_t at = first + t + kAround;
        sum[t] += around[at] = 2 * before[at] + 5 * before[at + 8];
      }
    }
    EXPECT_EQ(read(sums, 32), sum) << static_cast<int>(first);
    std::vector<uint32_t> got = read(start_ + kSpan - 4 * kAround, kAround);
    const std::vector<uint32_t> rest = read(start_, kAround);
    got.insert(got.end(), rest.begin(), rest.end());
    EXPECT_EQ(got, around) << static_cast<int>(first);
  }
}

}  // namespace
}  // namespace kernels
