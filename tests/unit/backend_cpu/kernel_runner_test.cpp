#include <gtest/gtest.h>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "backend/cpu/run/runner.h"
#include "unit/backend_cpu/native_kernel.h"

namespace vg::backend::cpu {
namespace {

using namespace testing;
using ptx::BlockState;

constexpr uint32_t kAllLanes = ~0u;

TEST(Runner, EveryWarpOfEveryBlockRunsOnce) {
  struct Counts {
    std::atomic<uint32_t> warps[1000][4];
  };
  static Counts counts{};
  NativeKernel kernel([](BlockState* block, uint32_t first, uint32_t end) {
    for (uint32_t warp = first; warp < end; ++warp) ++parametersOf<Counts>(block).warps[block->blockNumber][warp];
  });
  EXPECT_EQ(launch(kernel, 1000, 128, &counts).result, CUDA_SUCCESS);
  for (auto& block : counts.warps)
    for (auto& warp : block) EXPECT_EQ(warp.load(), 1u);
}

TEST(Runner, BlockIndicesFollowTheLinearNumber) {
  static std::atomic<int> wrong;
  wrong = 0;
  NativeKernel kernel([](BlockState* block, uint32_t, uint32_t) {
    const auto& launch = *block->launch;
    const uint64_t linear =
        block->blockIndex[0] +
        uint64_t{launch.gridSize[0]} * (block->blockIndex[1] + uint64_t{launch.gridSize[1]} * block->blockIndex[2]);
    wrong += linear != block->blockNumber || block->blockIndex[2] >= launch.gridSize[2];
  });
  FakeDevice device;
  Faults faults;
  LaunchRecord record;
  record.kernel = &kernel;
  record.shape = {{7, 5, 3}, {32, 1, 1}, {1, 1, 1}, 0, false};
  EXPECT_EQ(runLaunch(device, record, faults, LaunchPlace{2}), CUDA_SUCCESS);
  EXPECT_EQ(wrong, 0);
}

TEST(Runner, SharedMemoryIsAlignedAndWritableToItsEnd) {
  ptx::KernelTraits traits;
  traits.staticShared = 1000;
  traits.dynamicSharedOffset = 1008;
  NativeKernel kernel(
      [](BlockState* block, uint32_t, uint32_t) {
        constexpr uint32_t kInPieces = (1008 + 40000 + 127) / 128 * 128;
        if (reinterpret_cast<uintptr_t>(block->shared) % 1024 || block->sharedLimit != kInPieces)
          callsOf(block).trap(block, 0, 1, ptx::TrapReason::Trap, 0);
        std::memset(block->shared, 1, block->sharedLimit);
      },
      traits);
  EXPECT_EQ(launch(kernel, 64, 32, nullptr, 40000).result, CUDA_SUCCESS);
}

// Each warp writes, all meet, each reads what its neighbour wrote; many times over.
TEST(Runner, ABarrierSeparatesWhatIsBeforeFromWhatIsAfter) {
  ptx::KernelTraits traits = waiting();
  traits.staticShared = 32 * sizeof(uint32_t);
  NativeKernel kernel(
      [](BlockState* block, uint32_t warp, uint32_t end) {
        auto* const shared = reinterpret_cast<uint32_t*>(block->shared);
        const uint32_t warps = block->launch->warpsPerBlock;
        if (end != warp + 1) callsOf(block).trap(block, warp, 1, ptx::TrapReason::Trap, 0);
        for (uint32_t round = 0; round < 100; ++round) {
          shared[warp] = round * 100 + warp;
          callsOf(block).barrier(block, warp, 0, 0, kAllLanes);
          const uint32_t neighbour = (warp + 1) % warps;
          if (shared[neighbour] != round * 100 + neighbour)
            callsOf(block).trap(block, warp, 1, ptx::TrapReason::Trap, 0);
          callsOf(block).barrier(block, warp, round % 16, 0, kAllLanes);
        }
      },
      traits);
  for (uint32_t threads : {33u, 64u, 256u, 1000u, 1024u})
    EXPECT_EQ(launch(kernel, 50, threads).result, CUDA_SUCCESS) << threads;
}

TEST(Runner, AWarpThatEndsIsNotWaitedFor) {
  NativeKernel kernel(
      [](BlockState* block, uint32_t warp, uint32_t) {
        if (warp % 2) return;
        callsOf(block).barrier(block, warp, 0, 0, kAllLanes);
        callsOf(block).barrier(block, warp, 3, 0, kAllLanes);
      },
      waiting());
  EXPECT_EQ(launch(kernel, 20, 512).result, CUDA_SUCCESS);
}

TEST(Runner, ProducersArriveAndConsumersWait) {
  ptx::KernelTraits traits = waiting();
  traits.staticShared = 64;
  NativeKernel kernel(
      [](BlockState* block, uint32_t warp, uint32_t) {
        auto* const shared = reinterpret_cast<uint32_t*>(block->shared);
        if (warp == 0) shared[0] = 0;
        callsOf(block).barrier(block, warp, 0, 0, kAllLanes);
        for (uint32_t round = 1; round <= 10; ++round) {
          if (warp == 1) {  // the producer
            shared[0] = round;
            callsOf(block).barrierArrive(block, warp, 1, 64, kAllLanes);
            callsOf(block).barrier(block, warp, 2, 64, kAllLanes);
          } else if (warp == 0) {
            callsOf(block).barrier(block, warp, 1, 64, kAllLanes);
            if (shared[0] != round) callsOf(block).trap(block, warp, 1, ptx::TrapReason::Trap, 0);
            callsOf(block).barrierArrive(block, warp, 2, 64, kAllLanes);
          }
        }
      },
      traits);
  EXPECT_EQ(launch(kernel, 10, 96).result, CUDA_SUCCESS);
}

TEST(Runner, PartialWarpsCountWholeAtABarrierWithACount) {
  NativeKernel kernel([](BlockState* block, uint32_t warp,
                         uint32_t) { callsOf(block).barrier(block, warp, 1, 64, warp ? 0xFFFF : kAllLanes); },
                      waiting());
  EXPECT_EQ(launch(kernel, 4, 48).result, CUDA_SUCCESS);
}

TEST(Runner, ReductionsCombineThePredicatesOfAllThreads) {
  struct Results {
    std::atomic<uint32_t> count, all, any, none;
  };
  static Results results{};
  NativeKernel kernel(
      [](BlockState* block, uint32_t warp, uint32_t) {
        const uint32_t lanes = warp == 3 ? 0xF : kAllLanes;  // 100 threads
        const auto reduce = [&](ptx::BarrierReduction operation, uint32_t predicates) {
          return callsOf(block).barrierReduce(block, warp, 0, 0, lanes, operation, predicates);
        };
        Results& out = parametersOf<Results>(block);
        out.count += reduce(ptx::BarrierReduction::Popc, 0x55555555) == 16 * 3 + 2;
        out.all += reduce(ptx::BarrierReduction::And, lanes) == 1;
        out.all += reduce(ptx::BarrierReduction::And, warp == 2 ? 1 : lanes) == 0;
        out.any += reduce(ptx::BarrierReduction::Or, warp == 1) == 1;
        out.none += reduce(ptx::BarrierReduction::Or, 0) == 0;
      },
      waiting());
  EXPECT_EQ(launch(kernel, 1, 100, &results).result, CUDA_SUCCESS);
  EXPECT_EQ(results.count, 4u);
  EXPECT_EQ(results.all, 8u);
  EXPECT_EQ(results.any, 4u);
  EXPECT_EQ(results.none, 4u);
}

TEST(Runner, ABarrierThatNobodyCanCompleteEndsTheLaunch) {
  NativeKernel kernel(
      [](BlockState* block, uint32_t warp, uint32_t) { callsOf(block).barrier(block, warp, 0, 512, kAllLanes); },
      waiting());
  EXPECT_EQ(launch(kernel, 3, 64).result, CUDA_ERROR_LAUNCH_TIMEOUT);
  EXPECT_EQ(launch(kernel, 3, 32).result, CUDA_ERROR_LAUNCH_TIMEOUT);
}

// Warp w goes on when all later warps are done: the first to run needs the last.
TEST(Runner, AWarpThatPollsLetsTheWarpItWaitsForRun) {
  ptx::KernelTraits traits = polling();
  traits.staticShared = 4;
  NativeKernel kernel(
      [](BlockState* block, uint32_t warp, uint32_t) {
        auto* const done = reinterpret_cast<std::atomic<uint32_t>*>(block->shared);
        if (warp == 0) *done = 0;
        callsOf(block).barrier(block, warp, 0, 0, kAllLanes);
        while (*done < block->launch->warpsPerBlock - 1 - warp) callsOf(block).yield(block, warp);
        ++*done;
      },
      traits);
  EXPECT_EQ(launch(kernel, 10, 512).result, CUDA_SUCCESS);
}

// Decoupled look-back: each block waits for the one before it, with many more blocks than workers.
TEST(Runner, BlocksMayWaitForEarlierBlocks) {
  struct Chain {
    std::atomic<uint32_t> done[500];
  };
  static Chain chain;
  for (auto& flag : chain.done) flag = 0;
  NativeKernel kernel(
      [](BlockState* block, uint32_t warp, uint32_t) {
        auto& flags = parametersOf<Chain>(block).done;
        if (block->blockNumber)
          while (flags[block->blockNumber - 1].load() < 2) callsOf(block).yield(block, warp);
        ++flags[block->blockNumber];
      },
      polling());
  EXPECT_EQ(launch(kernel, 500, 64, &chain).result, CUDA_SUCCESS);
  for (auto& flag : chain.done) EXPECT_EQ(flag.load(), 2u);
}

// A grid barrier: every block needs all others to have begun.
TEST(Runner, AllBlocksOfACooperativeGridAreResident) {
  struct Grid {
    std::atomic<uint32_t> arrived;
    std::atomic<uint64_t> workspace;
  };
  static Grid grid;
  grid.arrived = 0;
  NativeKernel kernel(
      [](BlockState* block, uint32_t warp, uint32_t) {
        Grid& all = parametersOf<Grid>(block);
        const auto* const workspace = reinterpret_cast<const uint32_t*>(block->launch->cooperativeWorkspace);
        if (!workspace || workspace[1]) callsOf(block).trap(block, warp, 1, ptx::TrapReason::Trap, 0);
        if (warp == 0) ++all.arrived;
        while (all.arrived < block->launch->gridSize[0]) callsOf(block).yield(block, warp);
      },
      polling());
  EXPECT_EQ(launch(kernel, 200, 64, &grid, 0, true).result, CUDA_SUCCESS);
}

// How the processor treats numbers, and what of it flushes denormals to zero.
#if defined(__x86_64__)
uint64_t floatControl() { return _mm_getcsr(); }
void setFloatControl(uint64_t value) { _mm_setcsr(static_cast<unsigned>(value)); }
constexpr uint64_t kFlushAndDenormals = 0x8040;
#else
uint64_t floatControl() {
  uint64_t value;
  asm volatile("mrs %0, fpcr" : "=r"(value));
  return value;
}
void setFloatControl(uint64_t value) { asm volatile("msr fpcr, %0" : : "r"(value)); }
constexpr uint64_t kFlushAndDenormals = uint64_t{1} << 24;
#endif

TEST(Runner, KernelsSeeDefaultFloatingPointAndTheCallerKeepsItsOwn) {
  const uint64_t before = floatControl();
  setFloatControl(before | kFlushAndDenormals);
  NativeKernel kernel([](BlockState* block, uint32_t, uint32_t) {
    if (floatControl() & kFlushAndDenormals) callsOf(block).trap(block, 0, 1, ptx::TrapReason::Trap, 0);
  });
  EXPECT_EQ(launch(kernel, 1, 32).result, CUDA_SUCCESS);
  EXPECT_EQ(floatControl() & kFlushAndDenormals, kFlushAndDenormals);
  setFloatControl(before);
}

TEST(Runner, ClocksAdvance) {
  NativeKernel kernel([](BlockState* block, uint32_t, uint32_t) {
    const uint64_t first = callsOf(block).clock(block), timer = callsOf(block).globalTimer(block);
    uint64_t second = first;
    for (int i = 0; i < 1000 && second == first; ++i) second = callsOf(block).clock(block);
    if (second <= first || callsOf(block).globalTimer(block) < timer)
      callsOf(block).trap(block, 0, 1, ptx::TrapReason::Trap, 0);
  });
  EXPECT_EQ(launch(kernel, 1, 32).result, CUDA_SUCCESS);
}

TEST(Runner, DeviceMallocServesFromALimitedHeap) {
  static std::atomic<int> failures, successes;
  failures = successes = 0;
  NativeKernel kernel([](BlockState* block, uint32_t, uint32_t) {
    uint64_t sizes[32], pieces[32];
    for (uint64_t& size : sizes) size = 1000;
    callsOf(block).allocate(block, 0, 0xFFFF, sizes, pieces);
    for (int lane = 0; lane < 16; ++lane) {
      if (!pieces[lane]) {
        ++failures;
        continue;
      }
      ++successes;
      std::memset(reinterpret_cast<void*>(pieces[lane]), lane, 1000);
    }
    for (int lane = 0; lane < 16; ++lane)
      if (pieces[lane] && *reinterpret_cast<char*>(pieces[lane]) != lane)
        callsOf(block).trap(block, 0, 1, ptx::TrapReason::Trap, 0);
    callsOf(block).release(block, 0, 0xFFFF, pieces);
  });
  kernel.limits.heapBytes = 8192;
  for (int round = 0; round < 3; ++round) EXPECT_EQ(launch(kernel, 1, 32).result, CUDA_SUCCESS);
  EXPECT_EQ(successes, 3 * 8);  // eight pieces with their headers fit, and are used again each time
  EXPECT_EQ(failures, 3 * 8);
}

TEST(Runner, FreeingAForeignAddressFailsTheLaunch) {
  NativeKernel kernel([](BlockState* block, uint32_t, uint32_t) {
    uint64_t foreign[32] = {0x1000};
    callsOf(block).release(block, 0, 1, foreign);
  });
  EXPECT_EQ(launch(kernel, 1, 32).result, CUDA_ERROR_LAUNCH_FAILED);
}

TEST(Runner, LaunchesFromManyThreadsKeepApart) {
  struct Sum {
    std::atomic<uint64_t> value{0};
  };
  ptx::KernelTraits traits = waiting();
  NativeKernel kernel(
      [](BlockState* block, uint32_t warp, uint32_t) {
        callsOf(block).barrier(block, warp, 0, 0, kAllLanes);
        parametersOf<Sum>(block).value += block->blockNumber;
      },
      traits);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int round = 0; round < 50; ++round) {
        Sum sum;
        EXPECT_EQ(launch(kernel, 40, 64, &sum).result, CUDA_SUCCESS);
        EXPECT_EQ(sum.value, 2u * 40 * 39 / 2);
      }
    });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace vg::backend::cpu
