#include "check/races/knowledge.h"

#include <gtest/gtest.h>

namespace vg::check {
namespace {

// A block of 64 threads that runs.
struct Block {
  explicit Block(uint64_t id) : id(id) {
    clocks.reset(64);
    knowledge.reset(id, 0);
  }
  void releases(uint64_t word, uint32_t thread) {
    knowledge.release(word, thread, clocks);
    clocks.pass(thread, word);
  }
  void acquires(uint64_t word, uint32_t thread) {
    knowledge.acquire(word, thread, clocks);
    clocks.pass(thread, word);
  }
  bool knows(const Block& other, uint32_t thread, uint32_t clock, uint32_t mine) const {
    return knowledge.orders(other.id, thread, clock, mine, clocks);
  }

  const uint64_t id;
  Clocks clocks;
  Knowledge knowledge;
};

TEST(Knowledge, AWordHandsOnWhatItsWriterDidBefore) {
  Block one(101), other(102);
  const uint32_t before = one.clocks.sinceBegin(3);
  one.releases(0x1000, 3);
  const uint32_t after = one.clocks.sinceBegin(3);
  EXPECT_FALSE(other.knows(one, 3, before, 0));
  other.acquires(0x1000, 0);
  EXPECT_TRUE(other.knows(one, 3, before, 0));
  EXPECT_FALSE(other.knows(one, 3, after, 0));
  EXPECT_FALSE(other.knows(one, 4, one.clocks.sinceBegin(4), 0));  // did not meet thread 3
}

TEST(Knowledge, OtherThreadsKnowItBehindABarrierOnly) {
  Block one(111), other(112);
  const uint32_t before = one.clocks.sinceBegin(40);
  one.clocks.meetAll();
  one.releases(0x2000, 0);
  other.acquires(0x2000, 0);
  EXPECT_TRUE(other.knows(one, 40, before, 0));
  EXPECT_FALSE(other.knows(one, 40, before, 9));
  other.clocks.meetAll();
  EXPECT_TRUE(other.knows(one, 40, before, 9));
}

TEST(Knowledge, ItGoesFromBlockToBlock) {
  Block one(121), second(122), third(123);
  const uint32_t before = one.clocks.sinceBegin(1);
  one.releases(0x3000, 1);
  second.acquires(0x3000, 7);
  second.releases(0x3004, 8);  // has not met thread 7
  third.acquires(0x3004, 2);
  EXPECT_FALSE(third.knows(one, 1, before, 2));
  second.releases(0x3004, 7);
  third.acquires(0x3004, 2);
  EXPECT_TRUE(third.knows(one, 1, before, 2));
}

TEST(Knowledge, SeveralWritersOfAWordAddUp) {
  Block one(131), second(132), third(133);
  const uint32_t first = one.clocks.sinceBegin(0), other = second.clocks.sinceBegin(0);
  one.releases(0x4000, 0);
  second.releases(0x4000, 0);
  third.acquires(0x4000, 5);
  EXPECT_TRUE(third.knows(one, 0, first, 5));
  EXPECT_TRUE(third.knows(second, 0, other, 5));
}

TEST(Knowledge, WhoReadsAnOpenWordKnowsEverything) {
  Block one(141), other(142);
  Knowledge::open(0x5000);
  other.acquires(0x5000, 0);
  EXPECT_TRUE(other.knows(one, 0, one.clocks.sinceBegin(0), 1));
}

TEST(Knowledge, TooManyBlocksBecomeEverything) {
  Block last(5999);
  for (uint64_t id = 1000; id < 1000 + 5000; ++id) {
    Block block(id + 5000);
    block.releases(0x6000, 0);
  }
  last.acquires(0x6000, 0);
  EXPECT_TRUE(last.knowledge.knowsAll());
}

}  // namespace
}  // namespace vg::check
