#include "backend/cpu/code/streaming.h"

#include <gtest/gtest.h>

namespace vg::backend::cpu {
namespace {

constexpr size_t kMiB = size_t{1} << 20, kCache = 260 * kMiB;
constexpr uint64_t kWarps = 1000, kTime = 1'000'000;

TEST(KernelStreaming, LeavesSmallResultsInTheCachesAndStreamsWhatNoCacheHolds) {
  KernelStreaming kernel;
  EXPECT_FALSE(kernel.choose(0, kCache));
  EXPECT_FALSE(kernel.choose(31 * kMiB, kCache));
  EXPECT_TRUE(kernel.choose(kCache, kCache));
  EXPECT_TRUE(kernel.choose(1024 * kMiB, kCache));
}

TEST(KernelStreaming, ASmallCacheIsOursAlone) {
  KernelStreaming kernel;
  constexpr size_t kSmall = 16 * kMiB;
  for (int grid = 0; grid < 3; ++grid) {
    EXPECT_FALSE(kernel.choose(kSmall - 1, kSmall));
    kernel.learn(kSmall - 1, kSmall, false, kWarps, kTime);
    EXPECT_TRUE(kernel.choose(kSmall, kSmall));
  }
}

TEST(KernelStreaming, TriesBothBetweenAndKeepsTheFaster) {
  for (const bool streamingIsFaster : {false, true}) {
    KernelStreaming kernel;
    EXPECT_FALSE(kernel.choose(64 * kMiB, kCache));
    kernel.learn(64 * kMiB, kCache, false, kWarps, streamingIsFaster ? 2 * kTime : kTime);
    EXPECT_TRUE(kernel.choose(64 * kMiB, kCache));
    kernel.learn(64 * kMiB, kCache, true, kWarps, streamingIsFaster ? kTime : 2 * kTime);
    EXPECT_EQ(kernel.choose(64 * kMiB, kCache), streamingIsFaster);
    EXPECT_EQ(kernel.choose(70 * kMiB, kCache), streamingIsFaster);
  }
}

TEST(KernelStreaming, EverySizeIsMeasuredOnItsOwn) {
  KernelStreaming kernel;
  kernel.learn(64 * kMiB, kCache, false, kWarps, 2 * kTime);
  kernel.learn(64 * kMiB, kCache, true, kWarps, kTime);
  EXPECT_FALSE(kernel.choose(32 * kMiB, kCache));
  EXPECT_TRUE(kernel.choose(64 * kMiB, kCache));
}

}  // namespace
}  // namespace vg::backend::cpu
