// What a program has set of its own floating point changes nothing in kernels: neither how they are read and compiled
// nor how they run.
#include <cfenv>
#include <cstdlib>

#include "kernels/fixture.h"

namespace kernels {
namespace {

constexpr unsigned kThreads = 64;

// Quotients, directed sums and products, a constant that has to be rounded, each thread eight words.
std::string sums(int number) {
  return module(
      "// " + std::to_string(number) + "\n" +
          entry("kernel", {".u64"},
                std::string(kIndices) +
                    "ld.param.u64 %rd1, [p0];\nmul.wide.u32 %rd2, %r2, 32;\nadd.u64 %rd3, %rd1, %rd2;\n"
                    "cvt.rn.f32.u32 %f1, %r2;\nadd.rn.f32 %f1, %f1, 1.0;\nmov.f32 %f2, 3.7;\n"
                    ".reg .f64 %d<8>;\ncvt.f64.f32 %d1, %f1;\nmov.f64 %d2, 0.1;\n"
                    "add.rm.f64 %d3, %d1, %d2;\nst.global.f64 [%rd3], %d3;\n"
                    "fma.rp.f64 %d3, %d1, %d2, %d3;\nst.global.f64 [%rd3+8], %d3;\n"
                    "fma.rm.f64 %d3, %d1, %d2, %d3;\ndiv.rn.f64 %d3, %d3, %d1;\nst.global.f64 [%rd3+16], %d3;\n"
                    "div.rn.f32 %f3, %f1, %f2;\nst.global.f32 [%rd3+24], %f3;\n"
                    "sqrt.rn.f32 %f3, %f1;\nst.global.f32 [%rd3+28], %f3;\n",
                ""),
      "sm_80");
}

class FloatEnvironmentTest : public KernelTest {
 protected:
  std::vector<uint32_t> results(int number) {
    const CUdeviceptr out = allocate(kThreads * 32);
    EXPECT_EQ(run(function(sums(number)), 1, kThreads, out), CUDA_SUCCESS);
    return read(out, kThreads * 8);
  }
};

TEST_F(FloatEnvironmentTest, TheRoundingOfTheProgramIsNotThatOfKernels) {
  const std::vector<uint32_t> expected = results(0);
  int number = 0;
  for (const int mode : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
    std::fesetround(mode);
    const std::vector<uint32_t> found = results(++number);
    EXPECT_EQ(std::fegetround(), mode);
    std::fesetround(FE_TONEAREST);
    EXPECT_EQ(found, expected) << "mode " << mode;
  }
}

// The first kernel of a process, which opens the code generator.
TEST_F(FloatEnvironmentTest, ExceptionsThatTheProgramWantsSignalsForAreNotRaised) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto body = [&] {
    setenv("CUDA_CACHE_DISABLE", "1", 1);
    feenableexcept(FE_ALL_EXCEPT);
    const std::vector<uint32_t> found = results(100);
    fedisableexcept(FE_ALL_EXCEPT);
    std::exit(HasFailure() || found != results(101));
  };
  EXPECT_EXIT(body(), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace kernels
