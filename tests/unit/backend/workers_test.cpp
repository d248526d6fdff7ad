#include "backend/cpu/run/workers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <thread>
#include <vector>

#include "backend/cpu/run/idle_spin.h"
#include "base/system/os.h"

namespace vg::backend::cpu {
namespace {

// Workers are never destroyed: their threads would outlive them.
Workers& fourWorkers() {
  static Workers* const workers = new Workers(4);
  return *workers;
}

struct Counts {
  explicit Counts(uint64_t blocks) : runs(blocks) {}
  std::vector<std::atomic<int>> runs;
  std::atomic<uint64_t> highest{0};
  std::atomic<int> wrong{0};
};

template <class Run>
void forEach(Workers::Items& items, Run&& run) {
  for (uint64_t first, end; items.next(&first, &end);)
    for (uint64_t i = first; i < end; ++i) run(i);
}

void count(void* raw, uint32_t worker, Workers::Items& items) {
  auto& counts = *static_cast<Counts*>(raw);
  if (worker >= 4) counts.wrong.fetch_add(1);
  for (uint64_t first, end; items.next(&first, &end);) {
    if (first >= end) counts.wrong.fetch_add(1);
    for (uint64_t i = first; i < end; ++i) counts.runs[i].fetch_add(1);
  }
}

TEST(Workers, EveryBlockRunsOnce) {
  for (uint64_t blocks : {0, 1, 2, 3, 7, 64, 1000, 65537}) {
    Counts counts(blocks);
    fourWorkers().runGrid(blocks, 4, count, &counts);
    EXPECT_TRUE(std::all_of(counts.runs.begin(), counts.runs.end(), [](auto& n) { return n == 1; })) << blocks;
    EXPECT_EQ(counts.wrong, 0);
  }
}

TEST(Workers, OneWorkerRunsInOrderOnTheCallingThread) {
  struct State {
    std::thread::id thread = std::this_thread::get_id();
    std::vector<uint64_t> seen;
  } state;
  const auto body = [](void* raw, uint32_t worker, Workers::Items& items) {
    auto& s = *static_cast<State*>(raw);
    EXPECT_EQ(worker, 0u);
    EXPECT_EQ(std::this_thread::get_id(), s.thread);
    forEach(items, [&](uint64_t i) { s.seen.push_back(i); });
  };
  fourWorkers().runGrid(100, 1, body, &state);
  ASSERT_EQ(state.seen.size(), 100u);
  EXPECT_TRUE(std::is_sorted(state.seen.begin(), state.seen.end()));
}

// Each block waits for the one before it: works only when the first that nobody has is always given out next to a
// thread that makes progress.
TEST(Workers, ABlockMayWaitForEarlierBlocks) {
  const auto body = [](void* raw, uint32_t, Workers::Items& items) {
    auto& finished = *static_cast<std::atomic<uint64_t>*>(raw);
    forEach(items, [&](uint64_t i) {
      while (finished.load() != i) std::this_thread::yield();
      finished.store(i + 1);
    });
  };
  for (const uint64_t together : {1, 7, 100}) {
    std::atomic<uint64_t> done{0};
    fourWorkers().runGrid(2000, 4, body, &done, together);
    EXPECT_EQ(done, 2000u);
  }
}

// What a thread wrote the last time is in its caches.
TEST(Workers, EachThreadBeginsAtTheSamePlaceOfEveryGrid) {
  struct State {
    std::atomic<uint64_t> first[4];
    std::atomic<uint32_t> begun{0};
  };
  const auto body = [](void* raw, uint32_t, Workers::Items& items) {
    auto& s = *static_cast<State*>(raw);
    uint64_t first, end;
    if (!items.next(&first, &end)) return;
    s.first[Workers::thisThread()] = first;
    s.begun.fetch_add(1);
    while (s.begun < 4) std::this_thread::yield();  // everybody gets something
  };
  for (int round = 0; round < 3; ++round) {
    State state;
    fourWorkers().runGrid(1000, 4, body, &state, 10);
    for (uint64_t thread = 0; thread < 4; ++thread) EXPECT_EQ(state.first[thread], thread * 250);
  }
}

TEST(Workers, HandfulsGetSmallerTowardsTheEndOfAShare) {
  std::vector<uint64_t> handfuls;
  const auto body = [](void* raw, uint32_t worker, Workers::Items& items) {
    if (worker) return;  // leaves both shares to the calling thread
    for (uint64_t first, end; items.next(&first, &end);)
      static_cast<std::vector<uint64_t>*>(raw)->push_back(end - first);
  };
  fourWorkers().runGrid(20'000, 2, body, &handfuls, 128);
  const auto half = handfuls.begin() + static_cast<ptrdiff_t>(handfuls.size() / 2);
  EXPECT_EQ(handfuls.front(), 128u);
  EXPECT_TRUE(std::is_sorted(handfuls.begin(), half, std::greater<>()));
  EXPECT_TRUE(std::is_sorted(half, handfuls.end(), std::greater<>()));
  EXPECT_EQ(handfuls.back(), 2u);
}

TEST(Workers, AWorkerNumberBelongsToOneThreadOfAGrid) {
  struct State {
    std::atomic<int> busy[4] = {};
    std::atomic<int> clashes{0};
  } state;
  const auto body = [](void* raw, uint32_t worker, Workers::Items& items) {
    auto& s = *static_cast<State*>(raw);
    forEach(items, [&](uint64_t) {
      if (s.busy[worker].fetch_add(1) != 0) s.clashes.fetch_add(1);
      std::this_thread::yield();
      s.busy[worker].fetch_sub(1);
    });
  };
  for (int round = 0; round < 50; ++round) fourWorkers().runGrid(100, 4, body, &state, 1);
  EXPECT_EQ(state.clashes, 0);
}

TEST(Workers, MaxWorkersLimitsTheThreadsOfAGrid) {
  struct State {
    std::atomic<int> inside{0}, most{0};
  } state;
  const auto body = [](void* raw, uint32_t worker, Workers::Items& items) {
    auto& s = *static_cast<State*>(raw);
    EXPECT_LT(worker, 2u);
    forEach(items, [&](uint64_t) {
      const int now = s.inside.fetch_add(1) + 1;
      for (int most = s.most; most < now && !s.most.compare_exchange_weak(most, now);) {
      }
      std::this_thread::sleep_for(std::chrono::microseconds(50));
      s.inside.fetch_sub(1);
    });
  };
  fourWorkers().runGrid(100, 2, body, &state, 1);
  EXPECT_LE(state.most, 2);
}

void addAll(void* raw, uint32_t, Workers::Items& items) {
  forEach(items, [&](uint64_t) { static_cast<std::atomic<int>*>(raw)->fetch_add(1); });
}

void addTenEach(void* raw, uint32_t, Workers::Items& items) {
  forEach(items, [&](uint64_t) { fourWorkers().runGrid(10, 4, addAll, raw); });
}

TEST(Workers, ManyThreadsRunGridsAtOnceAndInsideEachOther) {
  std::vector<std::thread> threads;
  std::atomic<int> total{0};
  for (int t = 0; t < 6; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 100; ++i) {
        fourWorkers().runGrid(20, 4, addAll, &total);
        fourWorkers().runGrid(5, 4, addTenEach, &total);
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(total, 6 * 100 * (20 + 50));
}

TEST(Workers, SleepingThreadsWakeForTheNextGrid) {
  for (int i = 0; i < 5; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    Counts counts(64);
    fourWorkers().runGrid(64, 4, count, &counts, 1);
    EXPECT_TRUE(std::all_of(counts.runs.begin(), counts.runs.end(), [](auto& n) { return n == 1; }));
  }
}

// Items wait until three threads have begun one, so only threads that are asked later can end the grid.
TEST(Workers, AGridThatTurnsOutToBeLongGetsTheOtherThreads) {
  struct State {
    std::atomic<uint32_t> seen{0};
    std::atomic<int> runs{0};
  };
  const auto body = [](void* raw, uint32_t worker, Workers::Items& items) {
    auto& state = *static_cast<State*>(raw);
    forEach(items, [&](uint64_t i) {
      state.seen.fetch_or(1u << worker);
      state.runs.fetch_add(1);
      if (!worker && i < 3) return std::this_thread::sleep_for(std::chrono::milliseconds(1));
      while (__builtin_popcount(state.seen.load()) < 3) std::this_thread::yield();
    });
  };
  for (const uint32_t first : {1, 2}) {
    State state;
    fourWorkers().runGrid(1000, 4, body, &state, 1, first);
    EXPECT_EQ(state.runs, 1000);
  }
}

TEST(IdleSpin, AThreadPollsForAnEighthOfWhatItWorkedAtMost) {
  IdleSpin idle;
  EXPECT_EQ(idle.allowed(0), 0u);
  uint64_t polled = 0, worked = 0;
  for (int grid = 0; grid < 1000; ++grid) {
    idle.worked(3'000), worked += 3'000;
    polled += idle.allowed(0) / 2;
    idle.polled(idle.allowed(0) / 2);
  }
  EXPECT_LE(polled, worked / 8);
  EXPECT_GE(polled, worked / 8 - 3'000);
  idle.polled(1'000'000);
  EXPECT_EQ(idle.allowed(0), 0u);
  idle.worked(1'000'000'000);
  EXPECT_LE(idle.allowed(0), 1'000'000u) << "a long kernel is no reason to poll for long";
}

TEST(IdleSpin, AThreadAwaitsGridsThatFollowEachOtherClosely) {
  IdleSpin idle;
  const auto run = [&](uint64_t gap, uint64_t work, int grids) {
    for (int i = 0; i < grids; ++i) {
      idle.followed(gap), idle.worked(work);
      idle.polled(1'000'000);  // nothing is left of what it may poll for its work
    }
  };
  run(4'000, 10'000, 20);
  EXPECT_GE(idle.allowed(0), 8'000u);
  EXPECT_LE(idle.allowed(0), 12'000u);
  EXPECT_EQ(idle.allowed(0) - idle.allowed(3'000), 3'000u) << "the time is counted from the end of its work";
  EXPECT_EQ(idle.allowed(100'000), 0u);
  run(4'000, 1'000, 20);
  EXPECT_EQ(idle.allowed(0), 0u) << "work that is not worth the wait";
  run(100'000, 1'000'000, 20);
  EXPECT_EQ(idle.allowed(0), 0u) << "grids that come seldom";
  run(4'000, 10'000, 2);
  EXPECT_EQ(idle.allowed(0), 0u) << "two close ones are no habit";
}

// Each item waits for all others, which one thread alone would never begin; again after a while without such grids.
TEST(Workers, ItemsThatWaitForOthersGetThreadsWhateverWasExpected) {
  for (const int grids : {3, 1}) {
    for (int n = 0; n < grids; ++n) {
      std::atomic<int> arrived{0};
      const auto body = [](void* raw, uint32_t, Workers::Items& items) {
        auto& there = *static_cast<std::atomic<int>*>(raw);
        forEach(items, [&](uint64_t) {
          there.fetch_add(1);
          while (there.load() < 4) std::this_thread::yield();
        });
      };
      EXPECT_EQ(fourWorkers().runGrid(4, 4, body, &arrived, 1, 1, true), 4u);
      EXPECT_EQ(arrived, 4);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
  }
}

// The first item waits for all others, so the thread that has it must have no other one.
TEST(Workers, ItemsThatMayWaitComeInHandfulsAsSmallAsForAllThreads) {
  struct State {
    std::atomic<int> others{0};
    std::atomic<bool> late{false};
  };
  const auto body = [](void* raw, uint32_t, Workers::Items& items) {
    auto& state = *static_cast<State*>(raw);
    forEach(items, [&](uint64_t i) {
      if (i) {
        state.others.fetch_add(1);
        return;
      }
      const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
      while (state.others.load() < 15 && !state.late) {
        state.late = std::chrono::steady_clock::now() > end;
        std::this_thread::yield();
      }
    });
  };
  for (const uint64_t together : {2, 64, 1024})
    for (const uint32_t first : {1, 2, 3, 4}) {
      State state;
      fourWorkers().runGrid(16, 4, body, &state, together, first, true);
      EXPECT_FALSE(state.late) << together << " at a time, " << first << " threads at first";
    }
}

TEST(Workers, FewAreAskedForItemsThatMayWaitButDoNot) {
  for (int n = 0; n < 100; ++n) {
    Counts counts(64);
    fourWorkers().runGrid(64, 4, count, &counts, 1, 1, true);
    EXPECT_TRUE(std::all_of(counts.runs.begin(), counts.runs.end(), [](auto& runs) { return runs == 1; }));
  }
}

TEST(Workers, ThereIsAtLeastOneUsableCore) {
  EXPECT_GE(os::usableCores(), 1u);
  EXPECT_LE(os::usableCores(), std::max(1u, std::thread::hardware_concurrency()));
}

}  // namespace
}  // namespace vg::backend::cpu
