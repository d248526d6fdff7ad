#include "base/sync/handover.h"

#include <gtest/gtest.h>

#include <memory>
#include <thread>

namespace vg {
namespace {

TEST(Handover, GivesWhatWasPutInInOrderAndThenNothing) {
  Handover<int> queue;
  EXPECT_EQ(queue.front(), nullptr);
  for (int i = 0; i < 100; ++i) queue.push(i);
  EXPECT_EQ(queue.pushed(), 100u);
  for (int i = 0; i < 100; ++i) {
    ASSERT_NE(queue.front(), nullptr);
    EXPECT_EQ(*queue.front(), i);
    queue.pop();
  }
  EXPECT_EQ(queue.front(), nullptr);
}

TEST(Handover, TheFirstStaysWhereItIsWhileMoreIsPutIn) {
  Handover<int> queue;
  queue.push(7);
  int* const first = queue.front();
  for (int i = 0; i < 100; ++i) queue.push(i);
  EXPECT_EQ(queue.front(), first);
  EXPECT_EQ(*first, 7);
}

TEST(Handover, DropsWhatNobodyTookOut) {
  const auto counted = std::make_shared<int>();
  {
    Handover<std::shared_ptr<int>> queue;
    for (int i = 0; i < 20; ++i) queue.push(counted);
    for (int i = 0; i < 3; ++i) {
      ASSERT_NE(queue.front(), nullptr);
      queue.pop();
    }
    EXPECT_EQ(counted.use_count(), 18);
  }
  EXPECT_EQ(counted.use_count(), 1);
}

// Bursts of all lengths, so that it grows while the other thread takes out, and wraps around.
TEST(Handover, TwoThreadsSeeTheSameOrder) {
  constexpr uint64_t kAll = 200'000;
  Handover<uint64_t> queue;
  std::thread taker([&] {
    for (uint64_t next = 0; next < kAll;) {
      const uint64_t* const first = queue.front();
      if (!first) {
        std::this_thread::yield();
        continue;
      }
      ASSERT_EQ(*first, next);
      ++next;
      queue.pop();
    }
  });
  for (uint64_t i = 0; i < kAll; ++i) {
    queue.push(i);
    if (i % 1024 < 3) std::this_thread::yield();
  }
  taker.join();
  EXPECT_EQ(queue.front(), nullptr);
}

}  // namespace
}  // namespace vg
