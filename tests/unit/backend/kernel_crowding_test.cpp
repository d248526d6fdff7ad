#include "backend/cpu/run/crowding.h"

#include <gtest/gtest.h>

namespace vg::backend::cpu {
namespace {

constexpr uint64_t kWarps = 1000, kLong = 10'000'000;

TEST(KernelCrowding, StartsWithAllThreadsAndThenTriesOne) {
  KernelCrowding kernel;
  EXPECT_EQ(kernel.choose(4), 4u);
  kernel.learn(4, 4, kWarps, kLong);
  EXPECT_EQ(kernel.choose(4), 1u);
}

TEST(KernelCrowding, StaysWithWhatIsFasterFromBeginToEnd) {
  KernelCrowding fights, shares;
  fights.learn(4, 4, kWarps, 8 * kLong);
  fights.learn(1, 4, kWarps, kLong);
  EXPECT_EQ(fights.choose(4), 1u);
  shares.learn(4, 4, kWarps, 2 * kLong);
  shares.learn(1, 4, kWarps, kLong);
  EXPECT_EQ(shares.choose(4), 4u);
}

TEST(KernelCrowding, TriesTheSlowerWayAgainNowAndThen) {
  KernelCrowding kernel;
  kernel.learn(2, 2, kWarps, 8 * kLong);
  kernel.learn(1, 2, kWarps, kLong);
  int together = 0;
  for (int grid = 0; grid < 1000; ++grid) together += kernel.choose(2) == 2;
  EXPECT_GT(together, 0);
  EXPECT_LT(together, 20);
}

TEST(KernelCrowding, LearnsNothingFromShortGridsAndSingleThreads) {
  KernelCrowding kernel;
  kernel.learn(4, 4, kWarps, 1000);
  kernel.learn(1, 1, kWarps, kLong);
  EXPECT_EQ(kernel.choose(4), 4u);
  EXPECT_EQ(kernel.choose(1), 1u);
}

}  // namespace
}  // namespace vg::backend::cpu
