// The heap against a simple model: a list of live ranges.
#include "alloc/heap.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <map>
#include <random>
#include <thread>

namespace vg::alloc {
namespace {

constexpr size_t kMiB = size_t{1} << 20;

// Counts what is committed and can be told to refuse.
class CountingSource final : public MemorySource {
 public:
  CUresult commit(std::byte* start, size_t bytes) override {
    if (refuse) return CUDA_ERROR_OUT_OF_MEMORY;
    committed += bytes;
    return memory_.commit(start, bytes);
  }
  void decommit(std::byte* start, size_t bytes) override {
    committed -= bytes;
    memory_.decommit(start, bytes);
  }
  size_t available() override { return left; }
  std::atomic<size_t> committed{0};
  bool refuse = false;
  size_t left = SIZE_MAX;

 private:
  ProcessMemory memory_;
};

class HeapTest : public testing::Test {
 protected:
  HeapTest() { EXPECT_EQ(table.reserve(2, 256 * kMiB), CUDA_SUCCESS); }
  ~HeapTest() override {
    heap.reset();
    table.unreserve();
  }
  void make(size_t capacity, size_t cache) { heap = std::make_unique<Heap>(table, 1, source, capacity, cache); }
  uintptr_t allocate(size_t bytes, size_t alignment = 0) {
    Result<Record*> record = heap->allocate(bytes, {.alignment = alignment});
    return record ? record.value()->base.load() : 0;
  }
  bool release(uintptr_t base) {
    const Record* record = table.find(base);
    return record && heap->release(base, record->id.load());
  }

  MemoryTable table;
  CountingSource source;
  std::unique_ptr<Heap> heap;
};

TEST_F(HeapTest, LiveRangesNeverOverlapAndEveryByteIsFound) {
  make(128 * kMiB, 16 * kMiB);
  std::mt19937_64 random(7);
  std::map<uintptr_t, size_t> live;
  const auto randomSize = [&] {
    switch (random() % 8) {
      case 0:
        return 1 + random() % (5 * kMiB);
      case 1:
      case 2:
        return 1 + random() % (2 * kMiB);
      case 3:
        return 1 + random() % (40 << 10);
      default:
        return 1 + random() % 3000;
    }
  };
  for (int round = 0; round < 60000; ++round) {
    if (random() % 2 || live.empty()) {
      const size_t bytes = randomSize();
      const size_t alignment = random() % 16 == 0 ? size_t{1} << random() % 22 : 0;
      const uintptr_t base = allocate(bytes, alignment);
      if (!base) continue;
      ASSERT_EQ(base % kUnit, 0u);
      ASSERT_EQ(base % std::max<size_t>(alignment, 1), 0u);
      auto next = live.lower_bound(base);
      ASSERT_TRUE(next == live.end() || base + bytes <= next->first);
      ASSERT_TRUE(next == live.begin() || std::prev(next)->first + std::prev(next)->second <= base);
      live[base] = bytes;
      memset(reinterpret_cast<void*>(base), 0xA5, std::min<size_t>(bytes, 64));
      reinterpret_cast<volatile char*>(base)[bytes - 1] = 1;
    } else {
      auto victim =
          live.lower_bound(random() % 2 ? live.rbegin()->first : live.begin()->first + random() % (64 * kMiB));
      if (victim == live.end()) victim = live.begin();
      ASSERT_TRUE(release(victim->first));
      ASSERT_EQ(table.find(victim->first), nullptr);
      live.erase(victim);
    }
    if (!live.empty()) {
      auto some = live.lower_bound(live.begin()->first + random() % (96 * kMiB));
      if (some == live.end()) some = live.begin();
      const Record* record = table.find(some->first + random() % some->second);
      ASSERT_NE(record, nullptr);
      ASSERT_EQ(record->base.load(), some->first);
      ASSERT_EQ(record->bytes(), some->second);
      const Record* behind = table.find(some->first + some->second);
      ASSERT_NE(behind, record);
    }
  }
  for (auto [base, bytes] : live) ASSERT_TRUE(release(base));
  EXPECT_EQ(heap->used(), 0u);
  heap->trim();
  EXPECT_LE(source.committed, 12 * kGranule);  // a granule for each kept slab at most
}

TEST_F(HeapTest, ReleasingTwiceOrElsewhereIsRefused) {
  make(64 * kMiB, 64 * kMiB);
  for (size_t bytes : {size_t{100}, size_t{100000}, 3 * kMiB}) {
    const uintptr_t base = allocate(bytes);
    const uint64_t id = table.find(base)->id.load();
    EXPECT_FALSE(heap->release(base + 1, id));
    EXPECT_FALSE(heap->release(base + 512, id));
    EXPECT_FALSE(heap->release(base, id + 1));
    EXPECT_FALSE(heap->release(0x1000, id));
    EXPECT_TRUE(heap->release(base, id));
    EXPECT_FALSE(heap->release(base, id));
  }
}

TEST_F(HeapTest, TheCapacityCountsGranulesWithSomethingLive) {
  make(8 * kMiB, 64 * kMiB);
  const uintptr_t one = allocate(1);
  EXPECT_EQ(heap->used(), 2 * kMiB);
  const uintptr_t page = allocate(1 * kMiB);
  EXPECT_EQ(heap->used(), 2 * kMiB);
  const uintptr_t big = allocate(6 * kMiB);
  EXPECT_EQ(heap->used(), 8 * kMiB);
  EXPECT_EQ(allocate(2 * kMiB), 0u);
  EXPECT_EQ(allocate(1 * kMiB), 0u);
  EXPECT_NE(allocate(100), 0u);
  EXPECT_TRUE(release(big));
  EXPECT_NE(allocate(5 * kMiB), 0u);
  EXPECT_TRUE(release(page));
  EXPECT_TRUE(release(one));
}

TEST_F(HeapTest, WhatIsAvailableIsTheCapacitysRestOrTheSourcesAndWhatIsCached) {
  make(64 * kMiB, 16 * kMiB);
  EXPECT_EQ(heap->available(), 64 * kMiB);
  const uintptr_t some = allocate(4 * kMiB);
  EXPECT_EQ(heap->available(), 60 * kMiB);
  source.left = 10 * kMiB;
  EXPECT_EQ(heap->available(), 10 * kMiB);
  EXPECT_TRUE(release(some));
  EXPECT_EQ(heap->available(), 14 * kMiB);
  source.left = 60 * kMiB;
  EXPECT_EQ(heap->available(), 64 * kMiB);
  source.left = SIZE_MAX;
  EXPECT_EQ(heap->available(), 64 * kMiB);
}

TEST_F(HeapTest, WholeCapacityCanBeUsedAgainAfterFragmentation) {
  make(128 * kMiB, 128 * kMiB);
  for (int round = 0; round < 20; ++round) {
    std::vector<uintptr_t> all;
    const size_t bytes = (1 + round % 7) * 2 * kMiB;
    while (uintptr_t base = allocate(bytes)) all.push_back(base);
    EXPECT_EQ(all.size(), 128 * kMiB / bytes);
    for (uintptr_t base : all) EXPECT_TRUE(release(base));
  }
  EXPECT_NE(allocate(128 * kMiB), 0u);
}

TEST_F(HeapTest, CachedMemoryStaysWithinItsBound) {
  make(200 * kMiB, 10 * kMiB);
  std::vector<uintptr_t> all;
  for (int i = 0; i < 40; ++i) all.push_back(allocate(4 * kMiB));
  for (uintptr_t base : all) release(base);
  EXPECT_LE(heap->cached(), 10 * kMiB);
  EXPECT_LE(source.committed, 10 * kMiB);
}

TEST_F(HeapTest, ReuseNeedsNoSystemCall) {
  make(128 * kMiB, 128 * kMiB);
  for (size_t bytes : {size_t{256}, size_t{70000}, 2 * kMiB, 64 * kMiB}) {
    release(allocate(bytes));
    source.refuse = true;
    for (int i = 0; i < 100; ++i) {
      const uintptr_t base = allocate(bytes);
      ASSERT_NE(base, 0u);
      ASSERT_TRUE(release(base));
    }
    source.refuse = false;
  }
}

TEST_F(HeapTest, MemoryThatWasGivenBackFaults) {
  make(64 * kMiB, 0);
  const uintptr_t base = allocate(4 * kMiB);
  *reinterpret_cast<volatile int*>(base) = 1;
  ASSERT_TRUE(release(base));
  EXPECT_DEATH(*reinterpret_cast<volatile int*>(base) = 2, "");
}

TEST_F(HeapTest, ASourceThatRefusesMeansOutOfMemoryAndNothingIsLost) {
  make(64 * kMiB, 64 * kMiB);
  source.refuse = true;
  EXPECT_EQ(heap->allocate(100, {}).error(), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(heap->allocate(9 * kMiB, {}).error(), CUDA_ERROR_OUT_OF_MEMORY);
  source.refuse = false;
  EXPECT_EQ(heap->used(), 0u);
  EXPECT_NE(allocate(64 * kMiB), 0u);
}

TEST_F(HeapTest, ReleaseIfEndsExactlyWhatMatches) {
  make(128 * kMiB, 128 * kMiB);
  int mine = 0, theirs = 0;
  std::vector<uintptr_t> kept;
  for (int i = 0; i < 300; ++i) {
    const size_t bytes = i % 3 == 0 ? 300 : i % 3 == 1 ? 100000 : 2 * kMiB;
    if (i >= 120 && i % 3 == 2) continue;
    kept.push_back(heap->allocate(bytes, {.owner = &mine}).value()->base.load());
    ASSERT_TRUE(heap->allocate(bytes / 8 + 1, {.owner = &theirs}));
  }
  EXPECT_EQ(heap->releaseIf([&](const Record& r) { return r.owner.load() == &theirs; }), kept.size());
  for (uintptr_t base : kept) EXPECT_NE(table.find(base), nullptr);
  EXPECT_EQ(heap->releaseIf([&](const Record& r) { return r.owner.load() == &mine; }), kept.size());
  EXPECT_EQ(heap->used(), 0u);
}

TEST_F(HeapTest, ThreadsAllocateReleaseAndLookUpAtOnce) {
  make(200 * kMiB, 20 * kMiB);
  std::atomic<bool> stop{false};
  std::atomic<uintptr_t> hint{reinterpret_cast<uintptr_t>(table.windowStart(1))};
  std::thread looker([&] {
    std::mt19937_64 random(3);
    while (!stop.load()) {
      const uintptr_t address = hint.load() + random() % (4 * kMiB);
      if (const Record* record = table.find(address)) {
        // Another thread may end and reuse the record meanwhile; its members are readable at any time.
        (void)record->bytes();
        (void)record->id.load();
      }
    }
  });
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937_64 random(t);
      std::vector<uintptr_t> live;
      for (int i = 0; i < 4000; ++i) {
        if (live.size() < 20 && random() % 2) {
          const size_t bytes = random() % 4 ? 1 + random() % 5000 : 1 + random() % (3 * kMiB);
          const uintptr_t base = allocate(bytes);
          if (!base) continue;
          hint.store(base);
          *reinterpret_cast<uintptr_t*>(base) = base + t;
          live.push_back(base);
        } else if (!live.empty()) {
          const size_t at = random() % live.size();
          ASSERT_EQ(*reinterpret_cast<uintptr_t*>(live[at]), live[at] + t);
          ASSERT_TRUE(release(live[at]));
          live[at] = live.back();
          live.pop_back();
        }
      }
      for (uintptr_t base : live) ASSERT_TRUE(release(base));
    });
  }
  for (std::thread& thread : threads) thread.join();
  stop = true;
  looker.join();
  EXPECT_EQ(heap->used(), 0u);
}

}  // namespace
}  // namespace vg::alloc
