#include "activity/ring.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace vg::activity {
namespace {

Record numbered(uint64_t thread, uint64_t number) {
  Record record{};
  record.kind = RecordKind::Memory;
  record.memory = {};
  record.memory.address = thread;
  record.memory.bytes = number;
  return record;
}

TEST(Ring, HasRoomForSoManyAndThenForNoMoreUntilOneIsTaken) {
  const auto ring = std::make_unique<Ring>();
  uint64_t n = 0;
  for (uint64_t i = 0; i < Ring::kPlaces; ++i) {
    Record* const place = ring->claim(&n);
    ASSERT_TRUE(place);
    *place = numbered(0, i);
    ring->publish(n);
  }
  EXPECT_FALSE(ring->claim(&n));
  ASSERT_TRUE(ring->front());
  EXPECT_EQ(ring->front()->memory.bytes, 0u);
  ring->pop();
  EXPECT_TRUE(ring->claim(&n));
}

TEST(Ring, WhatIsNotPublishedIsNotThere) {
  const auto ring = std::make_unique<Ring>();
  uint64_t first = 0, second = 0;
  ASSERT_TRUE(ring->claim(&first));
  ASSERT_TRUE(ring->claim(&second));
  ring->publish(second);
  EXPECT_FALSE(ring->front());
  ring->publish(first);
  EXPECT_TRUE(ring->front());
}

TEST(Ring, LosesNothingOfManyThreadsAndKeepsTheOrderOfEach) {
  constexpr uint64_t kThreads = 4, kEach = 40'000;
  const auto ring = std::make_unique<Ring>();
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      for (uint64_t i = 0; i < kEach; ++i) {
        uint64_t n = 0;
        Record* place = nullptr;
        while (!(place = ring->claim(&n))) std::this_thread::yield();
        *place = numbered(t, i);
        ring->publish(n);
      }
    });
  uint64_t next[kThreads] = {};
  for (uint64_t taken = 0; taken < kThreads * kEach;) {
    const Record* const record = ring->front();
    if (!record) {
      std::this_thread::yield();
      continue;
    }
    ASSERT_EQ(record->memory.bytes, next[record->memory.address]++);
    ring->pop();
    ++taken;
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(ring->front());
}

}  // namespace
}  // namespace vg::activity
