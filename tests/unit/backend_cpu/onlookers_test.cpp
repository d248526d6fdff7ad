#include "backend/cpu/blocks/onlookers.h"

#include <gtest/gtest.h>

namespace vg::backend::cpu {
namespace {

constexpr uint32_t kAll = ~0u;

struct OnlookersTest : testing::Test {
  std::byte places[2]{};
  const std::byte *const object = &places[0], *const other = &places[1];
  Onlookers onlookers;
};

TEST_F(OnlookersTest, WarpsThatWereToldToWaitOweALookWhenThePhaseEnds) {
  onlookers.asked(3, object, kAll, kAll);
  EXPECT_EQ(onlookers.owed(object), 0u);
  EXPECT_EQ(onlookers.waiting(), 1u << 3);
  onlookers.changed(object, 0);
  EXPECT_EQ(onlookers.owed(object), 1u << 3);
  EXPECT_EQ(onlookers.waiting(), 0u);
  onlookers.stopped(3);  // one that sleeps between two looks
  EXPECT_EQ(onlookers.owed(object), 1u << 3);
  onlookers.asked(3, object, kAll, 0);
  EXPECT_EQ(onlookers.owed(object), 0u);
}

TEST_F(OnlookersTest, SoDoTheLanesThatHaveNotAskedYet) {
  onlookers.asked(1, object, 0xff, 0xff);
  onlookers.asked(1, other, 0xff00, 0xff00);
  onlookers.changed(object, 0);
  onlookers.asked(1, other, 0xff00, 0xff00);
  EXPECT_EQ(onlookers.owed(object), 1u << 1);
  onlookers.asked(1, object, 0x0f, 0);
  EXPECT_EQ(onlookers.owed(object), 1u << 1);
  onlookers.asked(1, object, 0xf0, 0);
  EXPECT_EQ(onlookers.owed(object), 0u);
}

TEST_F(OnlookersTest, AndWarpsThatSawTheLastPhaseEnd) {
  onlookers.asked(2, object, kAll, 0);
  onlookers.changed(object, 0);
  EXPECT_EQ(onlookers.owed(object), 1u << 2);
}

TEST_F(OnlookersTest, RunningWarpsOweALookUntilTheyStop) {
  onlookers.changed(object, 0b110);
  EXPECT_EQ(onlookers.owed(object), 0b110u);
  onlookers.stopped(1);
  EXPECT_EQ(onlookers.owed(object), 0b100u);
  onlookers.asked(2, object, kAll, kAll);
  EXPECT_EQ(onlookers.owed(object), 0u);
}

TEST_F(OnlookersTest, WhoNeverLooksIsNotAwaitedForEver) {
  onlookers.asked(0, object, kAll, kAll);
  onlookers.asked(1, object, kAll, kAll);
  onlookers.changed(object, 0);
  for (int k = 0; k < 10000; ++k) onlookers.stopped(0);
  EXPECT_EQ(onlookers.owed(object), 0b10u);
  onlookers.ended(1);
  EXPECT_EQ(onlookers.owed(object), 0u);
}

}  // namespace
}  // namespace vg::backend::cpu
