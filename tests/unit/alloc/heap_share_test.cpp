// Sharing allocations: nothing is lost while memory moves, and nothing that comes later is ever shared.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "alloc/heap.h"
#include "alloc/memory_move.h"

namespace vg::alloc {
namespace {

void onFault(int signal, siginfo_t* info, void*) {
  if (info->si_code == SEGV_ACCERR && awaitMove(info->si_addr)) return;
  struct sigaction standard {};
  standard.sa_handler = SIG_DFL;
  sigaction(signal, &standard, nullptr);
}

class HeapShare : public testing::Test {
 protected:
  void SetUp() override {
    struct sigaction action {};
    action.sa_sigaction = onFault;
    action.sa_flags = SA_SIGINFO | SA_NODEFER;
    sigaction(SIGSEGV, &action, &before_);
    ASSERT_EQ(table_.reserve(1, size_t{1} << 30), CUDA_SUCCESS);
    heap_ = std::make_unique<Heap>(table_, 0, memory_, size_t{1} << 30, size_t{1} << 28);
  }
  void TearDown() override {
    heap_->releaseIf([](const Record&) { return true; });
    heap_.reset();
    table_.unreserve();
    sigaction(SIGSEGV, &before_, nullptr);
  }

  Record& allocate(size_t bytes) {
    Result<Record*> record = heap_->allocate(bytes, {});
    EXPECT_TRUE(record.ok());
    return *record.value();
  }
  std::shared_ptr<const Heap::Share> share(const Record& record) {
    Result<std::shared_ptr<const Heap::Share>> share = heap_->share(record.base, record.id);
    EXPECT_TRUE(share.ok());
    return share.ok() ? *share : nullptr;
  }
  void release(const Record& record) { EXPECT_TRUE(heap_->release(record.base, record.id)); }

  MemoryTable table_;
  ProcessMemory memory_;
  std::unique_ptr<Heap> heap_;
  struct sigaction before_ {};
};

// What another process would see.
class View {
 public:
  explicit View(const Heap::Share& share) : bytes_(share.memory->bytes()) {
    Result<int> copy = share.memory->duplicate();
    const int file = *copy;
    base_ = static_cast<std::byte*>(mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
    close(file);
    data_ = base_ + share.offset;
  }
  ~View() { munmap(base_, bytes_); }
  std::byte* data() const { return data_; }

 private:
  std::byte *base_, *data_;
  const size_t bytes_;
};

constexpr size_t kSizes[] = {1, 512, 5000, 32 << 10, 100 << 10, 1 << 20, 2 << 20, (6 << 20) + 5};

TEST_F(HeapShare, BothSidesSeeTheSameBytesBothWays) {
  for (const size_t bytes : kSizes) {
    const Record& record = allocate(bytes);
    std::memset(record.data(), 0x5c, bytes);
    const View view(*share(record));
    ASSERT_EQ(std::memcmp(view.data(), record.data(), bytes), 0) << bytes;
    record.data()[bytes - 1] = std::byte{1};
    EXPECT_EQ(view.data()[bytes - 1], std::byte{1});
    view.data()[0] = std::byte{2};
    EXPECT_EQ(record.data()[0], std::byte{2});
  }
}

TEST_F(HeapShare, NeighboursKeepTheirContent) {
  std::vector<Record*> all;
  for (int i = 0; i < 300; ++i) {
    all.push_back(&allocate(512));
    std::memset(all.back()->data(), i, 512);
  }
  for (size_t i = 0; i < all.size(); i += 7) share(*all[i]);
  for (size_t i = 0; i < all.size(); ++i)
    for (size_t b = 0; b < 512; ++b) ASSERT_EQ(all[i]->data()[b], std::byte(i)) << i;
}

TEST_F(HeapShare, SharingAgainGivesTheSameObjectUntilTheAllocationEnds) {
  const Record& record = allocate(4096);
  std::weak_ptr<const Heap::Share> first = share(record);
  EXPECT_EQ(share(record), first.lock());
  release(record);
  EXPECT_TRUE(first.expired());
}

TEST_F(HeapShare, WhatIsAllocatedLaterIsNeverShared) {
  for (const size_t bytes : kSizes) {
    const Record& old = allocate(bytes);
    std::memset(old.data(), 0x11, bytes);
    const View view(*share(old));
    std::vector<const Record*> neighbours;
    for (int i = 0; i < 20; ++i) neighbours.push_back(&allocate(bytes));
    release(old);
    for (int i = 0; i < 200; ++i) neighbours.push_back(&allocate(std::min<size_t>(bytes, 64 << 10)));
    for (const Record* record : neighbours) std::memset(record->data(), 0x22, record->bytes());
    for (size_t b = 0; b < bytes; ++b) ASSERT_EQ(view.data()[b], std::byte{0x11}) << bytes << " at " << b;
    for (const Record* record : neighbours) release(*record);
  }
}

TEST_F(HeapShare, NothingIsLeftWhenAllHasEnded) {
  for (int round = 0; round < 20; ++round) {
    std::vector<const Record*> all;
    for (const size_t bytes : kSizes)
      for (int i = 0; i < 3; ++i) all.push_back(&allocate(bytes));
    for (size_t i = 0; i < all.size(); i += 2) share(*all[i]);
    for (const Record* record : all) release(*record);
    EXPECT_EQ(heap_->used(), 0u);
  }
  heap_->trim();
  EXPECT_EQ(heap_->cached() > (64 << 20), false);
}

TEST_F(HeapShare, AFreedAllocationCannotBeShared) {
  const Record& record = allocate(1000);
  const uintptr_t base = record.base;
  const uint64_t id = record.id;
  release(record);
  EXPECT_EQ(heap_->share(base, id).error(), CUDA_ERROR_INVALID_VALUE);
}

// Threads count in memory of their own lines while it moves; no step is lost and none is seen twice.
TEST_F(HeapShare, NoStoreIsLostWhileMemoryMoves) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "the protection of pages orders what looks like races";
#endif
  for (int round = 0; round < 40; ++round) {
    const size_t bytes = round % 4 == 0 ? 9000 : size_t{4} << 20;
    const Record& record = allocate(bytes);
    auto* words = reinterpret_cast<std::atomic<uint64_t>*>(record.data());
    const size_t count = bytes / 8;
    for (size_t i = 0; i < count; ++i) words[i] = 0;
    constexpr int kThreads = 4;
    std::atomic<bool> stop{false};
    uint64_t steps[kThreads] = {};
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t)
      threads.emplace_back([&, t] {
        for (size_t i = t; !stop.load(std::memory_order_relaxed); i = (i + kThreads * 509) % count) {
          words[i].fetch_add(1, std::memory_order_relaxed);
          words[t * 8].fetch_add(1, std::memory_order_relaxed);  // every thread's own hot word
          ++steps[t];
        }
      });
    while (words[0] < 100) std::this_thread::yield();
    const auto shared = share(record);
    const uint64_t then = words[0];
    while (words[0] < then + 100) std::this_thread::yield();
    stop = true;
    for (std::thread& thread : threads) thread.join();
    uint64_t all = 0, expected = 0;
    for (size_t i = 0; i < count; ++i) all += words[i];
    for (uint64_t s : steps) expected += 2 * s;
    ASSERT_EQ(all, expected);
    const View view(*shared);
    ASSERT_EQ(std::memcmp(view.data(), record.data(), bytes), 0);
    release(record);
  }
}

// Allocating, sharing and releasing from several threads at once.
TEST_F(HeapShare, SharingAndReleasingRace) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "the protection of pages orders what looks like races";
#endif
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([this, t] {
      unsigned random = 77 + t;
      for (int i = 0; i < 300; ++i) {
        random = random * 1103515245 + 12345;
        const size_t bytes = kSizes[random / 65536 % 6];
        Result<Record*> made = heap_->allocate(bytes, {});
        ASSERT_TRUE(made.ok());
        const uintptr_t base = made.value()->base;
        const uint64_t id = made.value()->id;
        *reinterpret_cast<uint8_t*>(base) = static_cast<uint8_t>(i);
        std::thread other([&] { (void)heap_->share(base, id); });
        if (i % 3) (void)heap_->share(base, id);
        EXPECT_EQ(*reinterpret_cast<uint8_t*>(base), static_cast<uint8_t>(i));
        EXPECT_TRUE(heap_->release(base, id));
        other.join();
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(heap_->used(), 0u);
}

// Memory of a device, of which only whole commits become fresh again.
class WholeCommits final : public ProcessMemory {
 public:
  CUresult commit(std::byte* start, size_t bytes) override {
    committed += bytes;
    return ProcessMemory::commit(start, bytes);
  }
  void decommit(std::byte* start, size_t bytes) override {
    committed -= bytes;
    ProcessMemory::decommit(start, bytes);
  }
  CUresult unshare(std::byte* start, size_t bytes) override {
    return bytes % kGranule ? CUDA_ERROR_NOT_SUPPORTED : ProcessMemory::unshare(start, bytes);
  }
  size_t committed = 0;
};

TEST_F(HeapShare, WhatCannotBecomeFreshGoesWithItsGranule) {
  WholeCommits memory;
  Heap heap(table_,
            HeapRange{heap_->capacity() / 2 + reinterpret_cast<uintptr_t>(table_.windowStart(0)), kGranule * 16, 0},
            memory, kGranule * 16, kGranule * 16);
  const auto made = [&](size_t bytes) -> const Record* {
    const Result<Record*> record = heap.allocate(bytes, {});
    return record ? record.value() : nullptr;
  };
  for (const size_t bytes : {3 * kPage, size_t{512}}) {
    const Record* const shared = made(bytes);
    const Record* const kept = made(2 * kPage);
    const uintptr_t base = shared->base;
    ASSERT_TRUE(heap.share(base, shared->id).ok());
    EXPECT_TRUE(heap.release(base, shared->id));
    for (int i = 0; i < 100; ++i) {
      const Record* const later = made(bytes);
      ASSERT_TRUE(later);
      EXPECT_TRUE(later->base + bytes <= base || base + bytes <= later->base);
    }
    heap.releaseIf([&](const Record& record) { return &record != kept; });
    EXPECT_TRUE(heap.release(kept->base, kept->id));
    heap.trim();
    EXPECT_EQ(heap.used(), 0u);
    EXPECT_EQ(memory.committed, bytes < kPage ? kGranule : 0);  // an empty slab stays
  }
}

TEST_F(HeapShare, ARealFaultStaysAFault) {
  const Record& record = allocate(4096);
  share(record);
  EXPECT_EXIT(
      {
        alarm(10);
        *reinterpret_cast<volatile char*>(record.data() + (512 << 20)) = 1;
      },
      testing::KilledBySignal(SIGSEGV), "");
}

}  // namespace
}  // namespace vg::alloc
