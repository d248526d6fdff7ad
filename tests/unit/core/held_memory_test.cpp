#include "core/pools/reusable_memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <random>

namespace vg::core::memory {
namespace {

constexpr auto kAny = [](const HeldBlock&) { return true; };

TEST(HeldMemory, AStreamHasItsNewestBlockOfTheSizeBack) {
  alloc::Record records[3];
  HeldMemory held;
  held.add({.record = &records[0], .bytes = 512, .stream = 1});
  held.add({.record = &records[1], .bytes = 512, .stream = 1});
  held.add({.record = &records[2], .bytes = 512, .stream = 2});
  EXPECT_EQ(held.take(1024, 1), nullptr);
  EXPECT_EQ(held.take(512, 3), nullptr);
  EXPECT_EQ(held.take(512, 1), &records[1]);
  EXPECT_EQ(held.take(512, 1), &records[0]);
  EXPECT_EQ(held.take(512, 1), nullptr);
  EXPECT_EQ(held.bytes(), 512u);
}

TEST(HeldMemory, FindsTheOldestOfASizeAmongManyOthers) {
  alloc::Record records[2], other;
  HeldMemory held;
  held.add({.record = &records[0], .bytes = 512, .stream = 1});
  for (size_t i = 2; i < 20000; ++i) held.add({.record = &other, .bytes = i * 512, .stream = 1});
  held.add({.record = &records[1], .bytes = 512, .stream = 1});
  ASSERT_NE(held.find(512, kAny), nullptr);
  EXPECT_EQ(held.find(512, kAny)->record, &records[0]);
  HeldBlock* const second = held.find(512, [&](const HeldBlock& block) { return block.record != &records[0]; });
  ASSERT_NE(second, nullptr);
  EXPECT_EQ(held.remove(*second), &records[1]);
  EXPECT_EQ(held.find(20000 * 512, kAny), nullptr);
}

// Against a plain list in the order of the frees.
TEST(HeldMemory, RandomSequencesAgreeWithAModel) {
  struct Freed {
    alloc::Record* record;
    size_t bytes;
    uint64_t stream;
  };
  std::mt19937 random(1);
  std::vector<alloc::Record> records(300);
  std::vector<alloc::Record*> unused;
  for (alloc::Record& record : records) unused.push_back(&record);
  std::deque<Freed> model;
  HeldMemory held;
  for (int step = 0; step < 50000; ++step) {
    const size_t bytes = 512 * (1 + random() % 40);
    const uint64_t stream = random() % 3;
    const auto fits = [&](const Freed& freed) { return freed.bytes == bytes && freed.stream == stream; };
    alloc::Record* expected = nullptr;
    alloc::Record* got = nullptr;
    switch (random() % 4) {
      case 0:
      case 1:
        if (unused.empty()) continue;
        held.add({.record = unused.back(), .bytes = bytes, .stream = stream});
        model.push_back({unused.back(), bytes, stream});
        unused.pop_back();
        continue;
      case 2:
        if (const auto found = std::find_if(model.rbegin(), model.rend(), fits); found != model.rend())
          expected = found->record;
        got = held.take(bytes, stream);
        break;
      default:
        if (const auto found = std::find_if(model.begin(), model.end(), fits); found != model.end())
          expected = found->record;
        if (HeldBlock* block = held.find(bytes, [&](const HeldBlock& b) { return b.stream == stream; }))
          got = held.remove(*block);
    }
    ASSERT_EQ(got, expected) << "step " << step;
    if (!got) continue;
    unused.push_back(got);
    std::erase_if(model, [&](const Freed& freed) { return freed.record == got; });
    ASSERT_EQ(held.oldest() ? held.oldest()->record : nullptr, model.empty() ? nullptr : model.front().record);
  }
}

}  // namespace
}  // namespace vg::core::memory
