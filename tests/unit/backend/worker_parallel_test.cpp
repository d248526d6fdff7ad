#include "backend/cpu/run/worker_parallel.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

namespace vg::backend::cpu {
namespace {

// Workers are never destroyed: their threads would outlive them.
Workers& workersOf(uint32_t count) {
  static Workers* const many = new Workers(80);  // more than there are shares
  static Workers* const three = new Workers(3);
  return count > 3 ? *many : *three;
}

void countOnce(void* raw, size_t chunk) { static_cast<std::atomic<int>*>(raw)[chunk].fetch_add(1); }

bool runsEachOnce(WorkerParallel& parallel, size_t chunks) {
  std::vector<std::atomic<int>> runs(chunks + 1);
  parallel.run(chunks, countOnce, runs.data());
  return std::all_of(runs.begin(), runs.end() - 1, [](auto& n) { return n == 1; }) && runs.back() == 0;
}

TEST(WorkerParallel, EveryChunkRunsOnce) {
  for (uint32_t threads : {3u, 80u}) {
    WorkerParallel parallel(workersOf(threads));
    for (size_t chunks : {0, 1, 2, 3, 7, 64, 65, 1000}) EXPECT_TRUE(runsEachOnce(parallel, chunks)) << chunks;
  }
}

TEST(WorkerParallel, SeveralThreadsAtOnceGetTheirOwnChunks) {
  WorkerParallel parallel(workersOf(3));
  std::atomic<bool> right{true};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int round = 0; round < 50; ++round)
        if (!runsEachOnce(parallel, 40)) right = false;
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(right);
}

// A chunk that takes long must not keep others of its share from being run: another thread takes them.
TEST(WorkerParallel, WhoIsDoneHelpsTheOthers) {
  struct State {
    std::atomic<int> done{0};
    std::atomic<bool> others{false};
  } state;
  constexpr size_t kChunks = 30;
  WorkerParallel parallel(workersOf(3));
  parallel.run(
      kChunks,
      [](void* raw, size_t chunk) {
        auto& s = *static_cast<State*>(raw);
        if (chunk == 0) {
          while (s.done < static_cast<int>(kChunks) - 1) usleep(100);
          s.others = true;
        }
        s.done.fetch_add(1);
      },
      &state);
  EXPECT_TRUE(state.others);
  EXPECT_EQ(state.done, static_cast<int>(kChunks));
}

}  // namespace
}  // namespace vg::backend::cpu
