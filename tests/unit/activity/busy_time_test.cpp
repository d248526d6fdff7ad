#include "activity/busy_time.h"

#include <gtest/gtest.h>

#include <bitset>
#include <random>

namespace vg::activity {
namespace {

TEST(BusyTime, CountsWhatOverlapsOnce) {
  BusyTime time;
  time.add(10, 20);
  time.add(15, 30);
  time.add(40, 50);
  EXPECT_EQ(time.busy(), 30u);
  time.add(12, 14);
  EXPECT_EQ(time.busy(), 30u);
  time.add(30, 40);
  EXPECT_EQ(time.busy(), 40u);
}

TEST(BusyTime, KnowsWhenNothingRan) {
  BusyTime time;
  time.add(10, 20);
  time.add(30, 40);
  EXPECT_TRUE(time.idle(20, 30));
  EXPECT_TRUE(time.idle(40, 50));
  EXPECT_TRUE(time.idle(0, 10));
  EXPECT_FALSE(time.idle(19, 30));
  EXPECT_FALSE(time.idle(20, 31));
  EXPECT_FALSE(time.idle(0, 100));
}

TEST(BusyTime, IsTheUnionOfAnyIntervals) {
  std::mt19937 random(7);
  for (int round = 0; round < 50; ++round) {
    BusyTime time;
    std::bitset<400> covered;
    for (int i = 0; i < 60; ++i) {
      const uint64_t begin = random() % 390, end = begin + random() % 10;
      time.add(begin, end);
      for (uint64_t at = begin; at < end; ++at) covered.set(at);
    }
    EXPECT_EQ(time.busy(), covered.count());
  }
}

TEST(BusyTime, StaysRightAndBoundedWithManyPieces) {
  BusyTime time;
  for (uint64_t i = 0; i < 100'000; ++i) time.add(10 * i, 10 * i + 4);
  EXPECT_EQ(time.busy(), 400'000u);
  time.add(0, 500);  // long past: counted already
  EXPECT_EQ(time.busy(), 400'000u);
}

}  // namespace
}  // namespace vg::activity
