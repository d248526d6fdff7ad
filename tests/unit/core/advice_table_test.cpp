#include "core/memory/advice_table.h"

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <random>
#include <thread>
#include <vector>

#include "core/memory/memory.h"

namespace vg::core::memory {
namespace {

constexpr size_t kPage = 4096;

// A record as a heap makes them; the table asks for no more than these three.
struct Allocation : alloc::Record {
  explicit Allocation(size_t bytes, uintptr_t address = 0x7000'0000'0000) {
    base = address;
    size = bytes;
    id = nextId();
  }
  static uint64_t nextId() {
    static std::atomic<uint64_t> next{uint64_t{1} << 40};  // none that a heap gives
    return next++;
  }
  void readMostly(size_t offset, size_t bytes, bool on = true) const {
    advice::update(*this, base + offset, bytes, [&](RangeAdvice& range) { range.readMostly = on; });
  }
  bool isReadMostly(size_t offset, size_t bytes) const {
    return advice::common(*this, base + offset, bytes).readMostly;
  }
};

size_t pieces() { return advice::size().pieces; }
size_t entries() { return advice::size().entries; }

TEST(AdviceTable, NothingIsSaidOfMemoryAtFirst) {
  const Allocation made(10 * kPage);
  EXPECT_EQ(advice::common(made, made.base, 10 * kPage), RangeAdvice{});
}

TEST(AdviceTable, AdviceHoldsForEveryPageThatTheRangeTouches) {
  const Allocation made(10 * kPage);
  made.readMostly(kPage + 4095, 2);
  EXPECT_FALSE(made.isReadMostly(0, kPage));
  EXPECT_TRUE(made.isReadMostly(kPage, 2 * kPage));
  EXPECT_FALSE(made.isReadMostly(3 * kPage, 1));
  EXPECT_FALSE(made.isReadMostly(2 * kPage, kPage + 1));
}

TEST(AdviceTable, TheLastPageNeedNotBeWhole) {
  const Allocation made(kPage + 10);
  made.readMostly(kPage + 9, 1);
  EXPECT_TRUE(made.isReadMostly(kPage, 10));
  EXPECT_FALSE(made.isReadMostly(0, kPage + 10));
}

// Takes hours where each call looks at all that was said before.
TEST(AdviceTable, ManyRangesOfOneAllocation) {
  constexpr size_t kRanges = 400'000;
  const Allocation made(2 * kRanges * kPage);
  const size_t before = pieces();
  for (size_t k = 0; k < kRanges; ++k) made.readMostly(2 * k * kPage, kPage);
  EXPECT_EQ(pieces() - before, 2 * kRanges);
  for (size_t k = 0; k < kRanges; ++k) made.readMostly((2 * k + 1) * kPage, kPage);
  EXPECT_EQ(pieces() - before, 2u);  // the second is what would follow the allocation
  EXPECT_TRUE(made.isReadMostly(0, 2 * kRanges * kPage));
  made.readMostly(0, 2 * kRanges * kPage, false);
  EXPECT_EQ(pieces(), before);
}

TEST(AdviceTable, RangesOutsideTheAllocationAreIgnored) {
  const Allocation made(2 * kPage);
  for (const auto& [offset, bytes] : std::vector<std::pair<size_t, size_t>>{
           {2 * kPage, 1}, {0, 2 * kPage + 1}, {kPage, SIZE_MAX}, {size_t{0} - kPage, kPage}, {size_t{0} - 1, 2}}) {
    made.readMostly(offset, bytes);
    EXPECT_FALSE(made.isReadMostly(offset, bytes));
  }
  EXPECT_FALSE(made.isReadMostly(0, 1));
}

TEST(AdviceTable, WhatIsTakenBackLeavesNothing) {
  const size_t before = entries();
  const Allocation made(100 * kPage);
  for (size_t page = 0; page < 100; page += 2) made.readMostly(page * kPage, 1);
  EXPECT_EQ(entries(), before + 1);
  made.readMostly(0, 100 * kPage, false);
  EXPECT_EQ(entries(), before);
}

TEST(AdviceTable, EqualNeighboursBecomeOnePiece) {
  const size_t before = pieces();
  const Allocation made(100 * kPage);
  for (size_t page = 0; page < 100; ++page) made.readMostly(page * kPage, kPage);
  EXPECT_LE(pieces(), before + 2);
  made.readMostly(0, 100 * kPage, false);
}

TEST(AdviceTable, WhereLocationsDifferNoneIsSaid) {
  const Allocation made(2 * kPage);
  const auto prefer = [&](size_t offset, CUmemLocationType type, int id) {
    advice::update(made, made.base + offset, kPage, [&](RangeAdvice& range) {
      range.preferredType = range.prefetchType = type;
      range.preferredId = range.prefetchId = id;
    });
  };
  prefer(0, CU_MEM_LOCATION_TYPE_DEVICE, 0);
  prefer(kPage, CU_MEM_LOCATION_TYPE_DEVICE, 1);
  EXPECT_EQ(advice::common(made, made.base, kPage).preferredId, 0);
  EXPECT_EQ(advice::common(made, made.base + kPage, kPage).prefetchId, 1);
  EXPECT_EQ(advice::common(made, made.base, 2 * kPage), RangeAdvice{});
  advice::update(made, made.base, 2 * kPage, [](RangeAdvice& range) { range = {}; });
}

TEST(AdviceTable, DevicesBeyondSixtyFourAreThemselves) {
  Accessors accessors;
  accessors.set(64, true);
  accessors.set(Accessors::kHost, true);
  EXPECT_FALSE(accessors.has(0));
  EXPECT_TRUE(accessors.has(64));
  EXPECT_TRUE(accessors.has(Accessors::kHost));
}

TEST(AdviceTable, EntriesOfEndedAllocationsGo) {
  for (int i = 0; i < 10000; ++i) {
    const Allocation made(kPage, 0x1000);  // an address that no lookup knows
    made.readMostly(0, 1);
  }
  EXPECT_LT(entries(), 200u);
}

// What the table says against one RangeAdvice a page.
class Model {
 public:
  explicit Model(size_t pages) : pages_(pages) {}
  void apply(size_t first, size_t end, const std::function<void(RangeAdvice&)>& change) {
    for (size_t page = first; page < end; ++page) change(pages_[page]);
  }
  RangeAdvice common(size_t first, size_t end) const {
    RangeAdvice all = pages_[first];
    for (size_t page = first + 1; page < end; ++page) {
      const RangeAdvice& other = pages_[page];
      all.readMostly = all.readMostly && other.readMostly;
      for (unsigned a : {0u, 5u, 200u, Accessors::kHost})
        all.accessors.set(a, all.accessors.has(a) && other.accessors.has(a));
      if (all.preferredType != other.preferredType || all.preferredId != other.preferredId)
        all.preferredType = CU_MEM_LOCATION_TYPE_INVALID, all.preferredId = CU_DEVICE_INVALID;
      if (all.prefetchType != other.prefetchType || all.prefetchId != other.prefetchId)
        all.prefetchType = CU_MEM_LOCATION_TYPE_INVALID, all.prefetchId = CU_DEVICE_INVALID;
    }
    return all;
  }

 private:
  std::vector<RangeAdvice> pages_;
};

std::function<void(RangeAdvice&)> randomChange(std::mt19937& random) {
  const auto type = static_cast<CUmemLocationType>(random() % 3);
  const int id = static_cast<int>(random() % 2);
  const unsigned accessor = std::array{0u, 5u, 200u, Accessors::kHost}[random() % 4];
  const bool on = random() % 2;
  switch (random() % 4) {
    case 0:
      return [=](RangeAdvice& range) { range.readMostly = on; };
    case 1:
      return [=](RangeAdvice& range) { range.preferredType = type, range.preferredId = id; };
    case 2:
      return [=](RangeAdvice& range) { range.prefetchType = type, range.prefetchId = id; };
    default:
      return [=](RangeAdvice& range) { range.accessors.set(accessor, on); };
  }
}

TEST(AdviceTable, RandomSequencesAgreeWithAModelOfSinglePages) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    std::mt19937 random(seed);
    const size_t bytes = 1 + random() % (64 * kPage);
    const Allocation made(bytes);
    Model model(64);
    for (int step = 0; step < 400; ++step) {
      const size_t offset = random() % bytes, length = 1 + random() % (bytes - offset);
      const size_t first = offset / kPage, end = (offset + length + kPage - 1) / kPage;
      if (random() % 2) {
        const auto change = randomChange(random);
        advice::update(made, made.base + offset, length, change);
        model.apply(first, end, change);
      }
      ASSERT_EQ(advice::common(made, made.base + offset, length), model.common(first, end))
          << "seed " << seed << ", step " << step;
    }
  }
}

// Under a thread sanitizer this says whether the lock covers all.
TEST(AdviceTable, ThreadsMayAdviseAndAskAtOnce) {
  const Allocation shared(64 * kPage);
  std::vector<std::thread> threads;
  for (unsigned seed = 0; seed < 4; ++seed)
    threads.emplace_back([&shared, seed] {
      std::mt19937 random(seed);
      const Allocation own(64 * kPage);
      for (int step = 0; step < 2000; ++step) {
        const size_t offset = random() % (60 * kPage), length = 1 + random() % (4 * kPage);
        for (const Allocation* made : {&shared, &own}) {
          advice::update(*made, made->base + offset, length, randomChange(random));
          advice::common(*made, made->base, 64 * kPage);
        }
      }
    });
  for (std::thread& thread : threads) thread.join();
}

// The record's memory goes to another allocation while someone still holds it: nothing wild may happen.
TEST(AdviceTable, RecordsMayChangeHandsMeanwhile) {
  Allocation made(64 * kPage);
  std::atomic<bool> stop = false;
  std::thread other([&] {
    for (unsigned i = 0; !stop; ++i) {
      made.base = 0x1000'0000'0000 + i % 3 * 0x1'0000'0000;
      made.size = (1 + i % 64) * kPage;
      made.id = Allocation::nextId();
    }
  });
  for (int i = 0; i < 20000; ++i) {
    const uintptr_t base = made.base;
    advice::update(made, base + 3 * kPage, 5 * kPage, [](RangeAdvice& range) { range.readMostly = true; });
    advice::common(made, base, 64 * kPage);
  }
  stop = true;
  other.join();
}

}  // namespace
}  // namespace vg::core::memory
