// PTX for one architecture runs on every emulated device, which says that a GPU would not take it.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>

#include "kernels/fixture.h"

namespace kernels {
namespace {

using Targets = KernelTest;

TEST_F(Targets, DISABLED_InAProcessOfItsOwn) {
  for (const char* target : {"sm_80", "sm_90a", "sm_90a", "sm_100f", "sm_103a"}) {
    const CUfunction kernel = function(
        module(entry("kernel", {".u64"}, std::string(kIndices) + "mov.u32 %r5, 7;\n" + kStore), target, "8.8"));
    const CUdeviceptr out = allocate(4);
    ASSERT_EQ(run(kernel, 1, 1, out), CUDA_SUCCESS);
    EXPECT_EQ(read(out, 1)[0], 7u);
  }
}

// What the log says on a device of this compute capability.
std::string saidBy(const char* capability) {
  const std::string log = "/tmp/vg-targets-" + std::to_string(getpid());
  const pid_t child = fork();
  if (!child) {
    setenv("VERDIGRIS_COMPUTE_CAPABILITY", capability, 1);
    setenv("VERDIGRIS_LOG", "warn", 1);
    setenv("VERDIGRIS_LOG_FILE", log.c_str(), 1);
    unsetenv("GTEST_TOTAL_SHARDS");
    unsetenv("GTEST_SHARD_INDEX");
    execl("/proc/self/exe", "kernels_test", "--gtest_filter=Targets.*", "--gtest_also_run_disabled_tests", nullptr);
    _exit(1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  std::ifstream file(log);
  const std::string said(std::istreambuf_iterator<char>(file), {});
  unlink(log.c_str());
  return said;
}

size_t countOf(const std::string& said, const std::string& words) {
  size_t count = 0;
  for (size_t at = said.find(words); at != std::string::npos; at = said.find(words, at + 1)) ++count;
  return count;
}

TEST(TargetsLog, NamesThoseThatAGpuWouldRefuse) {
  const std::string later = saidBy("12.1"), own = saidBy("10.3");
  EXPECT_EQ(countOf(later, "PTX for sm_90a runs here, but a GPU of compute capability 12.1 refuses it"), 1u) << later;
  EXPECT_EQ(countOf(later, "refuses it"), 3u) << later;
  EXPECT_EQ(countOf(own, "refuses it"), 1u) << own;
  EXPECT_EQ(countOf(own, "PTX for sm_90a"), 1u) << own;
}

}  // namespace
}  // namespace kernels
