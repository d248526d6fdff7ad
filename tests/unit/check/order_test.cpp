#include "check/races/order.h"

#include <gtest/gtest.h>

namespace vg::check {
namespace {

using order::Form;
using order::Line;

// Streams of a test: each a line of its own, in a group that nobody else has.
struct Streams {
  char lines[6] = {}, group = 0;
  Line free(int k) const { return {&lines[k], &group, Line::Kind::Free}; }
  Line blocking(int k) const { return {&lines[k], &group, Line::Kind::Blocking}; }
  Line legacy() const { return {&lines[5], &group, Line::Kind::Legacy}; }
};

// As in the library, what tests leave behind is never at an address that a later one uses.
Streams& streams() { return *new Streams; }

uint64_t kernel(const Line& line) { return order::submitted(line, Form::Kernel, 4); }
bool before(uint64_t one, uint64_t other) { return order::before(*order::find(one), *order::find(other)); }
bool ordered(uint64_t one, uint64_t other) { return order::ordered(*order::find(one), *order::find(other)); }

TEST(Order, WorkOfAStreamIsInOrderAndThatOfOthersIsNot) {
  const Streams& s = streams();
  const uint64_t first = kernel(s.free(0)), second = kernel(s.free(0)), other = kernel(s.free(1));
  EXPECT_TRUE(before(first, second));
  EXPECT_FALSE(before(second, first));
  EXPECT_FALSE(ordered(second, other));
}

TEST(Order, IdsOfAllBlocksNameTheWork) {
  const uint64_t work = kernel(streams().free(0));
  EXPECT_EQ(order::find(work + 3), order::find(work));
  EXPECT_TRUE(order::find(work)->holds(work + 3));
  EXPECT_FALSE(order::find(work)->holds(work + 4));
}

TEST(Order, AnEventOrdersWhatWasBeforeItsRecord) {
  const Streams& s = streams();
  const uint64_t first = kernel(s.free(0));
  order::marked(s.free(0), 1);
  const uint64_t late = kernel(s.free(0));
  order::waits(s.free(1), s.free(0).timeline, 1);
  const uint64_t behind = kernel(s.free(1));
  EXPECT_TRUE(before(first, behind));
  EXPECT_FALSE(ordered(late, behind));
}

TEST(Order, WhatTheHostHasWaitedForIsBeforeAllThatItGivesLater) {
  const Streams& s = streams();
  order::hostWaitedForAll();
  const uint64_t first = kernel(s.free(0));
  const uint64_t early = kernel(s.free(1));
  order::hostWaited(s.free(0));
  const uint64_t late = kernel(s.free(1));
  EXPECT_FALSE(ordered(first, early));
  EXPECT_TRUE(before(first, late));
  EXPECT_GE(order::find(late)->horizon, first + 3);
}

TEST(Order, TheLegacyStreamIsInOrderWithBlockingOnesOnly) {
  const Streams& s = streams();
  const uint64_t blocking = kernel(s.blocking(0)), free = kernel(s.free(1));
  const uint64_t legacy = kernel(s.legacy());
  const uint64_t other = kernel(s.blocking(2)), freeAgain = kernel(s.free(1));
  EXPECT_TRUE(before(blocking, legacy));
  EXPECT_TRUE(before(legacy, other));
  EXPECT_TRUE(before(blocking, other));
  EXPECT_FALSE(ordered(free, legacy));
  EXPECT_FALSE(ordered(legacy, freeAgain));
}

TEST(Order, NodesOfAGraphFollowItsEdgesAndTheGraphItsStream) {
  const Streams& s = streams();
  for (int round = 0; round < 3; ++round) {
    const uint64_t first = kernel(s.free(0));
    const uint64_t begin = order::beginGraph(s.free(0));
    const uint64_t root = order::nodeSubmitted(begin, {}, Form::Kernel, 2);
    const uint64_t left = order::nodeSubmitted(begin, {root}, Form::Kernel, 2);
    const uint64_t right = order::nodeSubmitted(begin, {root}, Form::Copy, 1);
    const uint64_t alone = order::nodeSubmitted(begin, {}, Form::Fill, 1);
    const uint64_t join = order::nodeSubmitted(begin, {left, right}, Form::Kernel, 2);
    order::endGraph(s.free(0), {root, left, right, alone, join});
    const uint64_t last = kernel(s.free(0)), other = kernel(s.free(1));
    for (const uint64_t node : {root, left, right, alone, join}) {
      EXPECT_TRUE(before(first, node));
      EXPECT_TRUE(before(node, last));
      EXPECT_FALSE(ordered(node, other));
    }
    EXPECT_TRUE(before(root, left));
    EXPECT_TRUE(before(root, join));
    EXPECT_TRUE(before(right, join));
    EXPECT_FALSE(ordered(left, right));
    EXPECT_FALSE(ordered(alone, join));
  }
}

TEST(Order, AStreamThatWaitsForMemoryIsInAnyOrder) {
  const Streams& s = streams();
  const uint64_t first = kernel(s.free(0));
  order::loseOrder(s.free(1));
  EXPECT_TRUE(ordered(first, kernel(s.free(1))));
}

TEST(Order, GridsOfNoKnownWorkAreInAnyOrder) {
  const Streams& s = streams();
  const uint64_t first = kernel(s.free(0));
  order::began(77, 0, 5);
  const order::WorkPointer work = order::ofGrid(77);
  ASSERT_TRUE(work);
  EXPECT_EQ(work->blocks, 5u);
  EXPECT_TRUE(order::ordered(*order::find(first), *work));
  order::ended(77);
  EXPECT_FALSE(order::ofGrid(77));
}

}  // namespace
}  // namespace vg::check
