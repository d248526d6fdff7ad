#include "base/memory/own_memory.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>
#include <memory>
#include <set>

#include "base/memory/guarded_range.h"

namespace vg {
namespace {

// Whether anything is mapped there at all.
bool mapped(const void* address) {
  unsigned char state = 0;
  return mincore(const_cast<void*>(address), 4096, &state) == 0;
}

TEST(GuardedRange, KeepsItsGuardsForItself) {
  GuardedRange range = GuardedRange::reserve(1 << 20, GuardedRange::kNarrow, 1 << 21);
  ASSERT_TRUE(range);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(range.start) % (1 << 21), 0u);
  ASSERT_GE(range.guard, GuardedRange::kNarrow);
  EXPECT_TRUE(mapped(range.start - range.guard));
  EXPECT_TRUE(mapped(range.start + range.bytes + range.guard - 4096));
  ASSERT_EQ(mprotect(range.start, range.bytes, PROT_READ | PROT_WRITE), 0);
  EXPECT_DEATH(range.start[-1] = std::byte{1}, "");
  EXPECT_DEATH(range.start[range.bytes] = std::byte{1}, "");
  range.release();
  EXPECT_FALSE(range);
}

TEST(OwnMemory, IsKnownFromItsFirstToItsLastByte) {
  std::byte* const piece = own_memory::take(8192);
  ASSERT_NE(piece, nullptr);
  for (size_t i = 0; i < 8192; ++i) ASSERT_EQ(piece[i], std::byte{});
  EXPECT_TRUE(own_memory::overlaps(piece, 1));
  EXPECT_TRUE(own_memory::overlaps(piece + 8191, 1));
  EXPECT_TRUE(own_memory::overlaps(piece + 100, 0));
  own_memory::give(piece, 8192);
}

TEST(OwnMemory, IsFoundByRangesThatBeginBeforeIt) {
  std::byte* const piece = own_memory::reserve(4096);
  const auto address = reinterpret_cast<uintptr_t>(piece);
  EXPECT_TRUE(own_memory::overlaps(uintptr_t{4096}, address));
  EXPECT_TRUE(own_memory::overlaps(address - (size_t{1} << 50), ~uintptr_t{0} - address));
  own_memory::give(piece, 4096);
}

// Where kernels' tests of addresses are cheapest.
TEST(OwnMemory, LiesWhereOthersDoNot) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "the thread sanitizer says where memory may lie";
#endif
  own_memory::give(own_memory::take(4096), 4096);
  const own_memory::Bounds all = own_memory::vastBounds();
  if (!all.highest) GTEST_SKIP() << "the system limits addresses";
  int local = 0;
  if (!(reinterpret_cast<uintptr_t>(&local) & own_memory::kElsewhere)) GTEST_SKIP() << "a system with other addresses";
  EXPECT_LT(all.highest, own_memory::kElsewhere);
}

TEST(OwnMemory, IsNotWhatOthersHave) {
  static char fixed[64];
  char local[64];
  const auto made = std::make_unique<char[]>(1 << 20);
  for (const char* const memory : std::initializer_list<const char*>{fixed, local, made.get()})
    EXPECT_FALSE(own_memory::overlaps(memory, 64));
  EXPECT_FALSE(own_memory::overlaps(uintptr_t{0}, 0));
}

TEST(OwnMemory, IsUsedAgainAndComesBackAsZeros) {
  std::set<std::byte*> seen;
  for (int round = 0; round < 100; ++round) {
    std::byte* const piece = own_memory::take(1 << 16);
    ASSERT_NE(piece, nullptr);
    ASSERT_EQ(piece[77], std::byte{});
    std::memset(piece, 1, 1 << 16);
    seen.insert(piece);
    own_memory::give(piece, 1 << 16);
  }
  EXPECT_EQ(seen.size(), 1u);
}

TEST(OwnMemory, KnowsTheStacksOfItsThreadsWhileTheyLive) {
  char local[64];
  {
    const own_memory::AdoptedStack adopted;
    EXPECT_TRUE(own_memory::overlaps(local, sizeof local));
  }
  EXPECT_FALSE(own_memory::overlaps(local, sizeof local));
}

}  // namespace
}  // namespace vg
