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

}  // namespace
}  // namespace kernels
