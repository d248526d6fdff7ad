// A kernel that computes for long is named, with how far its grid has got.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>

#include "kernels/fixture.h"

namespace kernels {
namespace {

// Four billion dependent steps, which nothing can be said of before: much longer than the limit below.
constexpr const char* kLong = R"(
ld.param.u32 %r5, [p1];
mov.u32 %r6, %r5;
LOOP:
mad.lo.u32 %r6, %r6, 1664525, 1013904223;
setp.ne.u32 %p1, %r6, %r5;
@%p1 bra LOOP;
)";

using LongRun = KernelTest;

TEST_F(LongRun, DISABLED_InAProcessOfItsOwn) {
  const CUfunction kernel =
      function(module(entry("endless", {".u64", ".u32"}, std::string(kIndices) + kLong + kStore)), "endless");
  CUdeviceptr out = allocate(4 * 96);
  uint32_t seed = 7;
  void* values[] = {&out, &seed};
  ASSERT_EQ(cuLaunchKernel(kernel, 3, 1, 1, 32, 1, 1, 0, nullptr, values, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_ERROR_LAUNCH_TIMEOUT);
}

TEST(LongRunLog, NamesTheKernelOnceWithTheBlocksThatHaveEnded) {
  const std::string log = "/tmp/vg-long-" + std::to_string(getpid());
  const pid_t child = fork();
  if (!child) {
    setenv("VERDIGRIS_STUCK_AFTER", "0.2", 1);
    setenv("VERDIGRIS_LAUNCH_TIMEOUT", "2", 1);
    setenv("VERDIGRIS_LOG_FILE", log.c_str(), 1);
    unsetenv("GTEST_TOTAL_SHARDS");
    unsetenv("GTEST_SHARD_INDEX");
    execl("/proc/self/exe", "kernels_test", "--gtest_filter=LongRun.*", "--gtest_also_run_disabled_tests", nullptr);
    _exit(1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  std::ifstream file(log);
  const std::string said(std::istreambuf_iterator<char>(file), {});
  EXPECT_NE(said.find("kernel endless has run for"), std::string::npos) << said;
  EXPECT_NE(said.find("0 of 3 blocks have ended"), std::string::npos) << said;
  EXPECT_EQ(said.find("has run for"), said.rfind("has run for")) << said;
  unlink(log.c_str());
}

}  // namespace
}  // namespace kernels
