// What is known of a kernel's grids after some have run.
#include "backend/cpu/code/kernel_times.h"

#include <gtest/gtest.h>

namespace vg::backend::cpu {
namespace {

using Ran = KernelTimes::Ran;

TEST(KernelTimes, SmallGridsSayNothingOfLargeOnesThatHaveRun) {
  KernelTimes times;
  EXPECT_EQ(times.ofWarp(1000), 0u);
  times.learn(2000, 6'000, Ran::Alone);
  EXPECT_NEAR(static_cast<double>(times.ofWarp(2000)), 3'000, 10);
  for (int n = 0; n < 100; ++n) times.learn(8, 400, Ran::Alone);
  EXPECT_NEAR(static_cast<double>(times.ofWarp(2000)), 3'000, 10);
  EXPECT_NEAR(static_cast<double>(times.ofWarp(8)), 50'000, 10);
}

TEST(KernelTimes, AnUnknownSizeIsAsTheNearestOne) {
  KernelTimes times;
  times.learn(1, 100, Ran::Alone);
  for (const uint64_t warps : {1, 2, 1000, 1 << 30}) EXPECT_GE(times.ofWarp(warps), 99'000u) << warps;
  times.learn(uint64_t{1} << 40, uint64_t{1} << 40, Ran::Together);
  EXPECT_NEAR(static_cast<double>(times.ofWarp(uint64_t{1} << 35)), 1'000, 10);
  EXPECT_NEAR(static_cast<double>(times.ofWarp(4)), 100'000, 10);
}

TEST(KernelTimes, WhatThreadsSharedCountsWhereNothingElseIsKnown) {
  KernelTimes times;
  times.learn(100, 50'000, Ran::Together);
  EXPECT_NEAR(static_cast<double>(times.ofWarp(100)), 500'000, 10);
  times.learn(100, 10'000, Ran::Alone);
  for (int n = 0; n < 100; ++n) times.learn(100, 50'000, Ran::Together);
  EXPECT_NEAR(static_cast<double>(times.ofWarp(100)), 100'000, 10);
}

TEST(KernelTimes, AKernelThatHasBecomeSlowerIsNoticed) {
  KernelTimes times;
  times.learn(100, 1'000, Ran::Alone);
  for (int n = 0; n < 20; ++n) times.learn(100, 500'000, Ran::Surprised);
  EXPECT_GE(times.ofWarp(100), 4'000'000u);
  times.learn(100, 1'000, Ran::Alone);
  EXPECT_LE(times.ofWarp(100), 11'000u);
}

// Such as that of a launch that was interrupted.
TEST(KernelTimes, ASlowGridAloneIsForgottenWhenThreadsTogetherTakeLess) {
  KernelTimes times;
  times.learn(100, 5'000'000, Ran::Alone);
  times.learn(100, 50'000, Ran::Together);
  EXPECT_NEAR(static_cast<double>(times.ofWarp(100)), 500'000, 10);
}

TEST(KernelTimes, EachSizeIsTriedAloneNowAndThen) {
  KernelTimes times;
  for (const uint64_t warps : {10, 1000}) {
    int tried = 0;
    EXPECT_TRUE(times.triesAlone(warps));
    for (int n = 1; n < 640; ++n) tried += times.triesAlone(warps);
    EXPECT_EQ(tried, 15);  // 2, 4, 8, 16, 32, and 64 to 640
  }
}

}  // namespace
}  // namespace vg::backend::cpu
