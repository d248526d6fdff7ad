#include "check/races/clocks.h"

#include <gtest/gtest.h>

namespace vg::check {
namespace {

TEST(Clocks, ThreadsThatNeverMetAreUnordered) {
  Clocks clocks;
  clocks.reset(64);
  EXPECT_FALSE(clocks.ordered(1, clocks.now(1), 0));
  EXPECT_TRUE(clocks.ordered(0, clocks.now(0), 0));
}

TEST(Clocks, AMeetingOfAllOrdersWhatWasBeforeItAndNothingAfter) {
  Clocks clocks;
  clocks.reset(64);
  const uint32_t before = clocks.now(1);
  clocks.meetAll();
  EXPECT_TRUE(clocks.ordered(1, before, 40));
  EXPECT_FALSE(clocks.ordered(1, clocks.now(1), 40));
}

TEST(Clocks, AWarpOrdersItsOwnLanesOnly) {
  Clocks clocks;
  clocks.reset(64);
  const uint32_t lane1 = clocks.now(1), lane5 = clocks.now(5);
  clocks.meetWarp(0, 0xf);
  EXPECT_TRUE(clocks.ordered(1, lane1, 0));
  EXPECT_FALSE(clocks.ordered(5, lane5, 0));   // not of the mask
  EXPECT_FALSE(clocks.ordered(1, lane1, 33));  // of another warp
  EXPECT_FALSE(clocks.ordered(1, clocks.now(1), 0));
}

TEST(Clocks, OrderIsHandedOnFromWarpToWarp) {
  Clocks clocks;
  clocks.reset(96);
  const uint32_t first = clocks.now(0);
  clocks.meetWarp(0, 3);    // 0 -> 1
  clocks.pass(1, 0x1000);   // 1 -> a flag
  clocks.pass(32, 0x1000);  // -> 32
  clocks.meetWarp(1, ~0u);  // -> 33
  clocks.meet({33}, {64});  // -> 64, which waits
  EXPECT_TRUE(clocks.ordered(0, first, 64));
  EXPECT_FALSE(clocks.ordered(0, first, 65));
}

TEST(Clocks, WhoOnlyArrivesLearnsNothing) {
  Clocks clocks;
  clocks.reset(64);
  const uint32_t producer = clocks.now(0), consumer = clocks.now(32);
  clocks.meet({0, 32}, {32});
  EXPECT_TRUE(clocks.ordered(0, producer, 32));
  EXPECT_FALSE(clocks.ordered(32, consumer, 0));
}

TEST(Clocks, ABlockOfAnotherSizeKnowsNothingOfTheOneBefore) {
  Clocks clocks;
  clocks.reset(64);
  clocks.pass(1, 0x1000);
  clocks.pass(40, 0x1000);
  clocks.reset(48);
  for (uint32_t a = 0; a < 48; ++a)
    for (uint32_t b = 0; b < 48; ++b) EXPECT_EQ(clocks.ordered(a, clocks.now(a), b), a == b);
}

}  // namespace
}  // namespace vg::check
