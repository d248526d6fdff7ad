#include "alloc/pieces.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace vg::alloc {
namespace {

// Against a plain account of which granules are whose.
TEST(Pieces, AreApartWhateverTheOrder) {
  constexpr uint32_t kGranules = 5000;
  Pieces heap;
  ASSERT_TRUE(heap.begin(kGranules));
  std::vector<bool> taken(kGranules, false);
  std::vector<std::pair<uint32_t, uint32_t>> pieces;
  uint32_t seed = 1;
  const auto random = [&](uint32_t below) { return (seed = seed * 1664525 + 1013904223) / 65536 % below; };
  const auto mark = [&](std::pair<uint32_t, uint32_t> piece, bool how) {
    for (uint32_t n = piece.first; n < piece.first + piece.second; ++n) {
      ASSERT_NE(taken[n], how);
      taken[n] = how;
    }
  };
  for (int step = 0; step < 40000; ++step) {
    if (random(2) || pieces.empty()) {
      const uint32_t size = 1 + random(random(20) ? 20 : 900), first = heap.take(size);
      if (first == Pieces::kNone) continue;
      ASSERT_LE(first + size, kGranules);
      mark({first, size}, true);
      pieces.push_back({first, size});
    } else {
      std::swap(pieces[random(static_cast<uint32_t>(pieces.size()))], pieces.back());
      mark(pieces.back(), false);
      ASSERT_TRUE(heap.give(pieces.back().first));
      ASSERT_FALSE(heap.give(pieces.back().first));
      pieces.pop_back();
    }
  }
  for (const auto& [first, size] : pieces) ASSERT_TRUE(heap.give(first));
  EXPECT_EQ(heap.take(kGranules), 0u);
}

}  // namespace
}  // namespace vg::alloc
