#include "base/memory/memory_limit.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <filesystem>
#include <fstream>

#include "base/system/cgroups.h"

namespace vg {
namespace {

namespace fs = std::filesystem;

class MemoryLimit : public testing::Test {
 protected:
  void SetUp() override { ASSERT_NE(mkdtemp(root_), nullptr); }
  void TearDown() override { fs::remove_all(root_); }
  void put(const std::string& path, const std::string& content) const {
    const fs::path whole = root_ + path;
    fs::create_directories(whole.parent_path());
    std::ofstream(whole) << content << "\n";
  }
  uint64_t of(const std::string& membership) const { return memory_limit::ofCgroups(membership, root_); }

  char root_[40] = "/tmp/vg-groups-XXXXXX";
};

TEST_F(MemoryLimit, IsTheLeastOfTheOwnGroupAndThoseAboveIt) {
  put("/a/memory.max", "5000");
  put("/a/b/memory.max", "max");
  put("/a/b/c/memory.max", "9000");
  put("/other/memory.max", "1");
  EXPECT_EQ(of("0::/a/b/c\n"), 5000u);
  EXPECT_EQ(of("0::/a/b\n"), 5000u);
  put("/a/b/c/memory.max", "700");
  EXPECT_EQ(of("0::/a/b/c\n"), 700u);
  EXPECT_EQ(of("0::/a/b\n"), 5000u);
  EXPECT_EQ(of("0::/\n"), UINT64_MAX);
}

TEST_F(MemoryLimit, IsFoundInTheFirstVersionOfCgroupsToo) {
  put("/memory/memory.limit_in_bytes", "9223372036854771712");
  put("/memory/user/memory.limit_in_bytes", "3000");
  put("/memory/user/own/memory.limit_in_bytes", "4000");
  EXPECT_EQ(of("5:cpu,cpuacct:/x\n4:memory:/user/own\n0::/\n"), 3000u);
  EXPECT_EQ(of("4:cpuset,memory:/user\n"), 3000u);
  EXPECT_EQ(of("4:memoryless:/user\n"), uint64_t{9223372036854771712u});
}

TEST_F(MemoryLimit, InAContainerIsThatOfWhatIsMountedThere) {
  put("/memory.max", "800");
  EXPECT_EQ(of("0::/system.slice/docker-1234\n"), 800u);
  put("/memory/memory.limit_in_bytes", "600");
  EXPECT_EQ(of("3:memory:/docker/1234\n"), 600u);
}

TEST(Cgroups, TheVersionOfAControllerIsThatOfTheLineThatNamesIt) {
  constexpr auto of = versionOfController;
  EXPECT_EQ(of("0::/a\n", "memory"), CgroupVersion::Second);
  EXPECT_EQ(of("5:cpu,cpuacct:/x\n0::/\n", "cpu"), CgroupVersion::First);
  EXPECT_EQ(of("5:cpu,cpuacct:/x\n0::/\n", "memory"), CgroupVersion::Second);
  EXPECT_EQ(of("9:name=systemd:/\n4:cpuset:/\n", "cpu"), CgroupVersion::Unknown);
  EXPECT_EQ(of("", "cpu"), CgroupVersion::Unknown);
}

TEST(MemoryLimitOfAProcess, FollowsTheLimitOfItsAddresses) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_AS, &before), 0);
  if (before.rlim_cur != RLIM_INFINITY) GTEST_SKIP() << "there is one already";
  const uint64_t whole = memory_limit::bytes();
  rlimit limited = before;
  limited.rlim_cur = whole;
  ASSERT_EQ(setrlimit(RLIMIT_AS, &limited), 0);
  const uint64_t half = memory_limit::bytes();
  ASSERT_EQ(setrlimit(RLIMIT_AS, &before), 0);
  EXPECT_EQ(half, whole / 2);
}

}  // namespace
}  // namespace vg
