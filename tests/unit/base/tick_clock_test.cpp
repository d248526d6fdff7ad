#include "base/sync/tick_clock.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace vg::tick_clock {
namespace {

// Between two looks at the system's clock, give or take what a comparison may be wrong by.
void expectNear() {
  constexpr uint64_t kWrong = 20'000;
  const uint64_t before = monotonicNanoseconds(), between = now(), after = monotonicNanoseconds();
  EXPECT_GE(between + kWrong, before);
  EXPECT_LE(between, after + kWrong);
}

TEST(TickClock, IsTheSystemsClockWhileNobodyCompares) {
  rest();
  expectNear();
  EXPECT_EQ(line.slope.load(), 0u);
}

TEST(TickClock, KeepsToTheSystemsClock) {
  for (int i = 0; i < 40; ++i) {
    keep();
    expectNear();
    usleep(2'000);
    expectNear();
  }
  rest();
  expectNear();
}

TEST(TickClock, NeverStepsBackForAThreadWhileOthersCompare) {
  std::atomic<bool> ending{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t)
    threads.emplace_back([&] {
      for (uint64_t last = 0; !ending.load();) {
        const uint64_t next = now();
        ASSERT_GE(next, last);
        last = next;
      }
    });
  for (int i = 0; i < 60; ++i) {
    keep();
    usleep(1'000);
  }
  ending.store(true);
  for (std::thread& thread : threads) thread.join();
  rest();
}

// As after a sleep of the system: the line says what the clock does not.
TEST(TickClock, AsksTheSystemAgainOnceBothHaveParted) {
  for (int i = 0; i < 10; ++i, usleep(2'000)) keep();
  if (!line.slope.load()) GTEST_SKIP() << "the system does not keep its time by the processor's counter";
  line.nanoseconds.fetch_sub(1'000'000'000);
  keep();
  expectNear();
  rest();
}

// As in a child of a process that was laying the line at fork(): the version is odd, and nobody else makes it even.
TEST(TickClock, GoesOnAfterAForkInTheMiddleOfAChange) {
  for (int i = 0; i < 10; ++i, usleep(2'000)) keep();
  if (!line.slope.load()) GTEST_SKIP() << "the system does not keep its time by the processor's counter";
  line.version.fetch_or(1);
  rest();
  ASSERT_EQ(line.version.load() & 1, 0u);
  expectNear();
  line.version.fetch_or(1);
  rest();
  for (int i = 0; i < 10; ++i, usleep(2'000)) keep();
  ASSERT_EQ(line.version.load() & 1, 0u);
  expectNear();
  rest();
}

}  // namespace
}  // namespace vg::tick_clock
