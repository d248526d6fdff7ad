// Compiles on several threads at once: they pass memory on to each other (compile_heap.h).
#include <gtest/gtest.h>

#include <mutex>
#include <thread>

#include "ptx_compiler/harness.h"

namespace vg::ptx::test {
namespace {

// Sums that differ in length, so that compiles of different sizes follow each other.
std::string kernelOf(uint32_t terms) {
  std::string body;
  for (uint32_t n = 0; n < terms; ++n)
    body += "ld.shared.u32 %r2, [%r1+" + std::to_string(4 * n) + "]; mad.lo.u32 %r3, %r3, 3, %r2;\n";
  return R"(.version 7.8
.target sm_90
.address_size 64
.visible .entry k(.param .u64 out)
{
  .reg .b32 %r<8>;
  .reg .b64 %rd<4>;
  .shared .align 4 .b8 box[4096];
  ld.param.u64 %rd1, [out];
  mov.u32 %r4, %tid.x;
  mul.lo.u32 %r1, %r4, 20;
  mov.u32 %r5, box;
  add.u32 %r1, %r1, %r5;
  mov.u32 %r3, %r4;
)" + body +
         R"(
  mul.wide.u32 %rd2, %r4, 4;
  add.s64 %rd3, %rd1, %rd2;
  st.global.u32 [%rd3], %r3;
  ret;
}
)";
}

TEST(CompilesOnSeveralThreads, MakeTheSameCode) {
  constexpr uint32_t kThreads = 4, kRounds = 12, kKernels = 6;
  std::mutex mutex;
  std::vector<std::vector<uint8_t>> codes(kKernels);
  const auto compileAll = [&](uint32_t first) {
    for (uint32_t round = 0; round < kRounds; ++round) {
      const uint32_t which = (first + round) % kKernels;
      CompiledKernel kernel;
      std::string log;
      ASSERT_EQ(kernel.compile(kernelOf(1 + 8 * which), "k", targets().front(), {64}, &log), CUDA_SUCCESS) << log;
      const std::lock_guard lock(mutex);
      if (codes[which].empty()) codes[which] = kernel.blob.code;
      EXPECT_EQ(codes[which], kernel.blob.code) << "kernel " << which;
    }
  };
  std::vector<std::thread> threads;
  for (uint32_t n = 0; n < kThreads; ++n) threads.emplace_back(compileAll, n);
  for (std::thread& thread : threads) thread.join();
  for (const auto& code : codes) EXPECT_FALSE(code.empty());
}

}  // namespace
}  // namespace vg::ptx::test
