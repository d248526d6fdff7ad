// Special registers that tell the time, as elements of vectors: each instruction reads the time when it runs.
#include "kernels/fixture.h"

namespace kernels {
namespace {

class TimeTest : public KernelTest {
 protected:
  static constexpr uint32_t kThreads = 64, kReads = 6;

  // What each thread read one after the other, as `read` puts it into one or two words at %rd3.
  std::vector<std::vector<uint64_t>> times(const std::string& read, uint32_t words) {
    std::string reads;
    for (uint32_t n = 0; n < kReads; ++n) reads += read + "add.u64 %rd3, %rd3, " + std::to_string(8 * kThreads) + ";\n";
    const CUfunction kernel = function(module(entry("kernel", {".u64"},
                                                    "mov.u32 %r1, %tid.x;\nld.param.u64 %rd1, [p0];\n"
                                                    "mad.wide.u32 %rd3, %r1, 8, %rd1;\n" +
                                                        reads)));
    const CUdeviceptr out = allocate(size_t{kReads} * kThreads * 8);
    EXPECT_EQ(run(kernel, 1, kThreads, out), CUDA_SUCCESS);
    const std::vector<uint32_t> all = KernelTest::read(out, size_t{kReads} * kThreads * 2);
    std::vector<std::vector<uint64_t>> ofThreads(kThreads);
    for (uint32_t n = 0; n < kReads; ++n)
      for (uint32_t thread = 0; thread < kThreads; ++thread) {
        const size_t at = 2 * (size_t{n} * kThreads + thread);
        ofThreads[thread].push_back(words == 2 ? all[at] | uint64_t{all[at + 1]} << 32 : all[at + 1]);
      }
    return ofThreads;
  }
};

constexpr struct {
  const char* read;
  uint32_t words;
} kReadings[] = {{"st.global.v2.u32 [%rd3], {%r1, %clock};\n", 1},
                 {"st.global.v2.u32 [%rd3], {%globaltimer_lo, %globaltimer_hi};\n", 2},
                 {"mov.b64 %rd4, {%clock, %clock_hi};\nst.global.u64 [%rd3], %rd4;\n", 2}};

TEST_F(TimeTest, GoesOnBetweenInstructions) {
  for (const auto& [read, words] : kReadings)
    for (const auto& of : times(read, words)) {
      const uint64_t mask = words == 1 ? UINT32_MAX : UINT64_MAX;
      const uint64_t whole = (of.back() - of.front()) & mask;
      ASSERT_GT(whole, 0u) << read;
      for (size_t n = 1; n < of.size(); ++n) EXPECT_LE((of[n] - of[n - 1]) & mask, whole) << read;
    }
}

}  // namespace
}  // namespace kernels
