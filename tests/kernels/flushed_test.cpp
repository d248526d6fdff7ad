// What .ftz leaves of results beside the smallest normal number, as an H100 answered (driver 580.159.04). A result is
// zero if it is too small after rounding to 24 bits, whatever its exponent; not if only a sum before rounding is.
#include "kernels/fixture.h"

namespace kernels {
namespace {

class FlushedTest : public KernelTest {
 protected:
  // a * b + c in the one thread.
  uint32_t fused(const std::string& rounding, uint32_t a, uint32_t b, uint32_t c) {
    const CUfunction kernel = function(module(entry("kernel", {".u64", ".u32", ".u32", ".u32"},
                                                    "ld.param.u64 %rd1, [p0];\nld.param.f32 %f1, [p1];\n"
                                                    "ld.param.f32 %f2, [p2];\nld.param.f32 %f3, [p3];\n"
                                                    "fma." +
                                                        rounding +
                                                        ".ftz.f32 %f1, %f1, %f2, %f3;\n"
                                                        "st.global.f32 [%rd1], %f1;\n"),
                                              "sm_80"));
    const CUdeviceptr out = allocate(4);
    EXPECT_EQ(run(kernel, 1, 1, out, a, b, c), CUDA_SUCCESS);
    return read(out, 1)[0];
  }
};

TEST_F(FlushedTest, ResultsThatRoundingMakesNormalStay) {
  EXPECT_EQ(fused("rp", 0x00800001, 0x3f7ffffe, 0), 0x00800000u);
  EXPECT_EQ(fused("rm", 0x00800001, 0xbf7ffffe, 0x80000000), 0x80800000u);
  EXPECT_EQ(fused("rm", 0x00800002, 0xbf7ffffe, 0), 0x80800001u);
  EXPECT_EQ(fused("rm", 0x00800002, 0x3f7ffffe, 0x80000000), 0x00800000u);
}

TEST_F(FlushedTest, ResultsThatOnlySubnormalStepsLiftAreZero) {
  EXPECT_EQ(fused("rp", 0x00800000, 0x3f7fffff, 0), 0u);
  EXPECT_EQ(fused("rz", 0x00800000, 0x3f7fffff, 0), 0u);
  EXPECT_EQ(fused("rz", 0x00800001, 0x3f7ffffe, 0), 0u);
}

}  // namespace
}  // namespace kernels
