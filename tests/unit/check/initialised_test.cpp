#include "check/memory/initialised.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace vg::check {
namespace {

// One table and one map for the process.
const alloc::MemoryTable& table() {
  static alloc::MemoryTable* const made = [] {
    auto* fresh = new alloc::MemoryTable;
    EXPECT_EQ(fresh->reserve(1, size_t{1} << 30), CUDA_SUCCESS);
    EXPECT_TRUE(initialised::start(*fresh));
    return fresh;
  }();
  return *made;
}

uintptr_t base() { return reinterpret_cast<uintptr_t>(table().windowStart(0)); }

TEST(Initialised, WhatIsNotTrackedCountsAsWritten) {
  EXPECT_EQ(initialised::writtenBytes(base() + 4096, 100), 100u);
  int local = 0;
  initialised::forget(reinterpret_cast<uintptr_t>(&local), 4);
  EXPECT_EQ(initialised::writtenBytes(reinterpret_cast<uintptr_t>(&local), 4), 4u);
}

TEST(Initialised, ByteForByteAsAPlainModel) {
  constexpr size_t kBytes = 300;
  const uintptr_t start = base() + (1 << 20) - 3;
  std::vector<bool> model(kBytes, true);
  std::mt19937 random(1);
  for (int round = 0; round < 20000; ++round) {
    const size_t first = random() % kBytes, count = random() % (kBytes - first + 1);
    const unsigned what = random() % 4;
    if (what == 0) {
      initialised::forget(start + first, count);
      std::fill_n(model.begin() + first, count, false);
    } else if (what == 1) {
      initialised::written(start + first, count);
      std::fill_n(model.begin() + first, count, true);
    } else if (what == 2) {
      const size_t to = random() % (kBytes - count + 1);
      initialised::copied(start + to, start + first, count);
      const std::vector<bool> copy(model.begin() + first, model.begin() + first + count);
      std::copy(copy.begin(), copy.end(), model.begin() + to);
    }
    size_t good = 0;
    while (good < count && model[first + good]) ++good;
    ASSERT_EQ(initialised::writtenBytes(start + first, count), good) << "round " << round;
  }
}

}  // namespace
}  // namespace vg::check
