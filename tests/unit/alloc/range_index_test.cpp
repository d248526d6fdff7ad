#include "alloc/range_index.h"

#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <random>
#include <thread>

namespace vg::alloc {
namespace {

Record* insert(RangeIndex& index, uintptr_t base, size_t bytes) {
  Record prototype;
  prototype.base = base;
  prototype.size = bytes;
  return index.insert(prototype);
}

TEST(RangeIndexTest, AgreesWithAnOrderedMap) {
  RangeIndex index;
  std::map<uintptr_t, size_t> model;
  std::mt19937_64 random(11);
  for (int round = 0; round < 40000; ++round) {
    const uintptr_t base = 0x10000 + random() % 500000;
    const size_t bytes = 1 + random() % 300;
    const auto overlaps = [&](uintptr_t from, uintptr_t to) {
      auto next = model.lower_bound(to);
      return next != model.begin() && std::prev(next)->first + std::prev(next)->second > from;
    };
    switch (random() % 4) {
      case 0:
      case 1: {
        const bool taken = overlaps(base, base + bytes);
        ASSERT_EQ(index.overlapping(base, bytes) != nullptr, taken);
        ASSERT_EQ(insert(index, base, bytes) == nullptr, taken);
        if (!taken) model[base] = bytes;
        break;
      }
      case 2: {
        auto victim = model.lower_bound(base);
        if (victim == model.end()) break;
        ASSERT_FALSE(index.remove(victim->first + 1) && victim->second > 1);
        ASSERT_TRUE(index.remove(victim->first));
        ASSERT_FALSE(index.remove(victim->first));
        model.erase(victim);
        break;
      }
      default: {
        const Record* found = index.find(base);
        ASSERT_EQ(found != nullptr, overlaps(base, base + 1));
        ASSERT_TRUE(!found || found->contains(base));
      }
    }
  }
}

TEST(RangeIndexTest, RangesThatStayAreAlwaysFoundWhileOthersComeAndGo) {
  RangeIndex index;
  insert(index, 1000000, 100);
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    std::mt19937_64 random(5);
    for (int round = 0; round < 3000; ++round) {
      const uintptr_t base = 1000 + random() % 1000 * 1000;
      if (insert(index, base, 10)) index.remove(base);
      if (round % 2) insert(index, 2000000 + round * 100, 50);
    }
    stop = true;
  });
  size_t looked = 0;
  while (!stop.load() || looked == 0) {
    const Record* found = index.find(1000050);
    ASSERT_NE(found, nullptr);
    ASSERT_EQ(found->base.load(), 1000000u);
    ++looked;
  }
  writer.join();
}

}  // namespace
}  // namespace vg::alloc
