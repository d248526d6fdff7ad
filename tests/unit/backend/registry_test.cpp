#include "backend/registry.h"

#include <gtest/gtest.h>

namespace vg::backend {
namespace {

TEST(Registry, ReadsKindsAndCounts) {
  const auto entries = parseDevices("cpu:2,nvidia,cpu:1");
  ASSERT_EQ(entries.size(), 3u);
  EXPECT_EQ(entries[0].kind, "cpu");
  EXPECT_EQ(entries[0].count, 2);
  EXPECT_EQ(entries[1].kind, "nvidia");
  EXPECT_EQ(entries[1].count, 1);
}

TEST(Registry, LeavesOutEntriesThatMakeNoSense) {
  EXPECT_TRUE(parseDevices("").empty());
  EXPECT_TRUE(parseDevices("cpu:").empty());
  EXPECT_TRUE(parseDevices("cpu:x,cpu:-1,cpu:2x,cpu:100000").empty());
  EXPECT_EQ(parseDevices("cpu:0").at(0).count, 0);
  EXPECT_EQ(parseDevices(",cpu,").size(), 1u);
}

TEST(Registry, TakesAllRealDevicesButNotAllEmulatedOnes) {
  const auto entries = parseDevices("gpu:all,cpu:all,cpu:2");
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_TRUE(entries[0].all);
  EXPECT_FALSE(entries[1].all);
}

}  // namespace
}  // namespace vg::backend
