#include "base/sync/timeline.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace vg {
namespace {

TEST(Timeline, ReachesWhatItWasAdvancedToAndNeverFallsBack) {
  Timeline* timeline = Timeline::create();
  const uint64_t start = timeline->value();
  timeline->advance(start + 5);
  EXPECT_TRUE(timeline->reached(start + 5));
  EXPECT_FALSE(timeline->reached(start + 6));
  timeline->advance(start + 2);
  EXPECT_EQ(timeline->value(), start + 5);
  Timeline::destroy(timeline);
}

TEST(Timeline, APointOfADestroyedTimelineStaysDone) {
  Timeline* timeline = Timeline::create();
  const Point point{timeline, timeline->value() + 1};
  timeline->advance(point.value);
  Timeline::destroy(timeline);
  Timeline* again = Timeline::create();
  EXPECT_TRUE(point.done());
  Timeline::destroy(again);
}

TEST(Timeline, APointWithoutTimelineIsDone) {
  EXPECT_TRUE(Point{}.done());
  Point{}.wait();
}

TEST(Timeline, WaitForGivesUpWhenTimeRunsOut) {
  Timeline* timeline = Timeline::create();
  const uint64_t value = timeline->value() + 1;
  EXPECT_FALSE(timeline->waitFor(value, 1'000));
  EXPECT_FALSE(timeline->waitFor(value, 2'000'000));
  timeline->advance(value);
  EXPECT_TRUE(timeline->waitFor(value, 0));
  Timeline::destroy(timeline);
}

TEST(Timeline, SleepersWakeAtTheirValues) {
  Timeline* timeline = Timeline::create();
  const uint64_t start = timeline->value();
  std::vector<std::thread> threads;
  for (uint64_t i = 1; i <= 8; ++i)
    threads.emplace_back([=] {
      timeline->wait(start + i);
      EXPECT_GE(timeline->value(), start + i);
    });
  for (uint64_t i = 1; i <= 8; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    timeline->advance(start + i);
  }
  for (std::thread& thread : threads) thread.join();
  Timeline::destroy(timeline);
}

struct Counted : Continuation {
  std::atomic<int>* runs;
};

TEST(Timeline, AContinuationRunsOnceWhenItsValueIsReached) {
  Timeline* timeline = Timeline::create();
  const uint64_t start = timeline->value();
  std::atomic<int> runs{0};
  Counted early, late;
  for (Counted* c : {&early, &late}) {
    c->runs = &runs;
    c->run = [](Continuation* self) { static_cast<Counted*>(self)->runs->fetch_add(1); };
  }
  early.value = start + 1;
  late.value = start + 3;
  ASSERT_TRUE(timeline->whenReached(&early));
  ASSERT_TRUE(timeline->whenReached(&late));
  timeline->advance(start + 2);
  EXPECT_EQ(runs, 1);
  timeline->advance(start + 3);
  EXPECT_EQ(runs, 2);
  EXPECT_FALSE(timeline->whenReached(&late));
  Timeline::destroy(timeline);
}

// Registration races with advancing: every continuation either runs exactly once or is refused.
TEST(Timeline, NoContinuationIsLostUnderRaces) {
  constexpr int kThreads = 4, kEach = 5000;
  Timeline* timeline = Timeline::create();
  const uint64_t start = timeline->value();
  std::atomic<int> runs{0}, refused{0};
  std::vector<std::vector<Counted>> continuations(kThreads, std::vector<Counted>(kEach));
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < kEach; ++i) {
        Counted& c = continuations[t][i];
        c.runs = &runs;
        c.run = [](Continuation* self) { static_cast<Counted*>(self)->runs->fetch_add(1); };
        c.value = start + 1 + i;
        if (!timeline->whenReached(&c)) refused.fetch_add(1);
      }
    });
  for (int i = 1; i <= kEach; ++i) {
    timeline->advance(start + i);
    if (i % 64 == 0) std::this_thread::yield();
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(runs + refused, kThreads * kEach);
  Timeline::destroy(timeline);
}

// Two threads hand values to each other; a lost wake-up hangs the test.
TEST(Timeline, PingPongLosesNoWakeUp) {
  constexpr uint64_t kRounds = 3000;
  Timeline* ping = Timeline::create();
  Timeline* pong = Timeline::create();
  const uint64_t a = ping->value(), b = pong->value();
  std::thread other([=] {
    for (uint64_t i = 1; i <= kRounds; ++i) {
      ping->wait(a + i);
      if (i % 100 == 0) std::this_thread::sleep_for(std::chrono::microseconds(100));  // the peer falls asleep
      pong->advance(b + i);
    }
  });
  for (uint64_t i = 1; i <= kRounds; ++i) {
    ping->advance(a + i);
    pong->wait(b + i);
  }
  other.join();
  EXPECT_EQ(pong->value(), b + kRounds);
}

// Threads that wait for values far apart while others advance step by step; a lost wake-up hangs the test.
TEST(Timeline, SleepersForDifferentValuesLoseNoWakeUp) {
  constexpr uint64_t kEnd = 20'000;
  Timeline* timeline = Timeline::create();
  const uint64_t start = timeline->value();
  std::vector<std::thread> threads;
  for (uint64_t step : {1, 7, 100, 1'999, 20'000})
    threads.emplace_back([=] {
      for (uint64_t value = step; value <= kEnd; value += step) {
        while (step == 7 && !timeline->waitFor(start + value, 1'000)) {
        }
        timeline->wait(start + value);
        ASSERT_TRUE(timeline->reached(start + value));
      }
    });
  std::atomic<uint64_t> next{0};
  for (int advancing = 0; advancing < 2; ++advancing)
    threads.emplace_back([=, &next] {
      for (uint64_t value; (value = ++next) <= kEnd;) {
        timeline->advance(start + value);
        if (value % 512 == 0) std::this_thread::sleep_for(std::chrono::microseconds(200));  // all fall asleep
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(timeline->value(), start + kEnd);
  Timeline::destroy(timeline);
}

// Who waits for the last of many commands is not woken for each of them.
TEST(Timeline, ASleeperSleepsOnWhileLessIsReached) {
  constexpr uint64_t kSteps = 300;
  Timeline* timeline = Timeline::create();
  const uint64_t start = timeline->value();
  std::atomic<bool> begun{false};
  long changes = 0;
  std::thread sleeper([&] {
    rusage before, after;
    begun = true;
    getrusage(RUSAGE_THREAD, &before);
    timeline->wait(start + kSteps);
    getrusage(RUSAGE_THREAD, &after);
    changes = after.ru_nvcsw - before.ru_nvcsw;
  });
  while (!begun) std::this_thread::yield();
  for (uint64_t value = 1; value <= kSteps; ++value) {
    std::this_thread::sleep_for(std::chrono::microseconds(200));
    timeline->advance(start + value);
  }
  sleeper.join();
  EXPECT_LT(changes, 100);  // it also looks up now and then on its own
  Timeline::destroy(timeline);
}

}  // namespace
}  // namespace vg
