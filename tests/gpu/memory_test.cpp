// Memory objects, ranges and blocks.
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

#include "gpu/fake_gpu.h"

namespace vg::testing {
namespace {

using namespace backend::nvidia;

constexpr size_t kMiB = size_t{1} << 20;

TEST(SharedAddresses, AreLowAlignedAndGivenBackWhole) {
  Addresses& addresses = Addresses::shared().value();
  std::byte* const small = must(addresses.take(4096, 4096));
  std::byte* const huge = must(addresses.take(2 * kMiB, 2 * kMiB));
  EXPECT_LT(reinterpret_cast<uintptr_t>(huge) + 2 * kMiB, uintptr_t{1} << 40);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(huge) % (2 * kMiB), 0u);
  addresses.giveBack(small, 4096);
  addresses.giveBack(huge, 2 * kMiB);
  EXPECT_EQ(addresses.take(addresses.bytes() + 4096, 4096).error(), CUDA_ERROR_OUT_OF_MEMORY);
  std::byte* const again = must(addresses.take(4096, 4096));
  EXPECT_EQ(again, small);
  addresses.giveBack(again, 4096);
}

TEST(GpuMemory, BlocksOfAllPageSizesAreSeenByTheCpu) {
  FakeGpu fake;
  for (const MemoryRequest& request :
       {MemoryRequest{Where::Video, kSmallPage, kSmallPage}, MemoryRequest{Where::Video, kBigPage, kBigPage},
        MemoryRequest{Where::Video, 3 * kMiB, kHugePage}, MemoryRequest{Where::System, kSmallPage, kSmallPage}}) {
    auto block = must(Block::create(*fake.gpu, fake.addresses(), request, SeenBy::GpuAndCpu));
    EXPECT_EQ(block->bytes() % request.pageBytes, 0u);
    EXPECT_EQ(block->address() % request.pageBytes, 0u);
    std::memset(block->start(), 1, block->bytes());
  }
  EXPECT_EQ(fake.driver.usedMemory(), 0u);
  EXPECT_EQ(fake.driver.ranges(), 0u);
}

TEST(GpuMemory, MoreThanThereIsIsOutOfMemory) {
  FakeGpu fake({.memory = 64 * kMiB});
  auto most = must(Block::create(*fake.gpu, fake.addresses(), {Where::Video, 40 * kMiB}, SeenBy::Gpu));
  const size_t ranges = fake.driver.ranges();
  EXPECT_EQ(Block::create(*fake.gpu, fake.addresses(), {Where::Video, 40 * kMiB}, SeenBy::Gpu).error(),
            CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(fake.driver.ranges(), ranges);
  most.reset();
  EXPECT_TRUE(Block::create(*fake.gpu, fake.addresses(), {Where::Video, 40 * kMiB}, SeenBy::Gpu).ok());
}

// What the driver's other clients have is not ours to hand out; what is kept for the next request is.
TEST(GpuMemory, WhatOthersHaveIsNotAvailable) {
  FakeGpu fake({.memory = 256 * kMiB});
  KnownRanges known;
  GpuMemory memory(*fake.gpu, known);
  const size_t before = memory.available();
  EXPECT_EQ(before, 256 * kMiB - fake.driver.usedMemory());
  auto others = must(Block::create(*fake.gpu, fake.addresses(), {Where::Video, 40 * kMiB}, SeenBy::Gpu));
  EXPECT_EQ(memory.available(), before - 40 * kMiB);
  alloc::PhysicalRef kept = must(memory.create(8 * kMiB, alloc::Sharing::Private, "kept"));
  EXPECT_EQ(memory.available(), before - 48 * kMiB);
  kept.reset();
  EXPECT_EQ(memory.available(), before - 40 * kMiB);
  others.reset();
  EXPECT_EQ(memory.available(), before);
}

TEST(GpuMemory, PagesOfTheProcessCanBePinnedOnce) {
  FakeGpu fake;
  void* const pages = mmap(nullptr, 8 * kSmallPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(pages, MAP_FAILED);
  auto block = must(Block::pin(*fake.gpu, pages, 8 * kSmallPage));
  EXPECT_EQ(block->start(), pages);
  EXPECT_EQ(Block::pin(*fake.gpu, pages, kSmallPage).error(), CUDA_ERROR_INVALID_VALUE);
  block.reset();
  EXPECT_TRUE(Block::pin(*fake.gpu, pages, 8 * kSmallPage, true).ok());
  munmap(pages, 8 * kSmallPage);
  EXPECT_FALSE(Block::pin(*fake.gpu, pages, 8 * kSmallPage).ok());
  EXPECT_EQ(fake.driver.ranges(), 0u);
}

TEST(HostPages, MemoryOfOursIsZeroedAndKnownUntilItIsGivenBack) {
  FakeGpu fake;
  KnownRanges known;
  HostPages pages(*fake.uvm);
  GpuHostPages own(pages, *fake.gpu, known);
  constexpr size_t kBytes = 3 * kSmallPage;
  std::byte* const memory = must(own.allocate(kBytes));
  for (size_t i = 0; i < kBytes; ++i) ASSERT_EQ(memory[i], std::byte{0});
  EXPECT_EQ(known.placeOf(memory, kBytes), Place::Pinned);
  own.release(memory, kBytes);
  EXPECT_EQ(known.placeOf(memory, kBytes), Place::Unknown);
  EXPECT_EQ(fake.driver.ranges(), 0u);
}

TEST(HostPages, ShownOnceIsShownOnce) {
  FakeGpu fake;
  KnownRanges known;
  HostPages pages(*fake.uvm);
  GpuHostPages own(pages, *fake.gpu, known);
  void* const memory = mmap(nullptr, 2 * kSmallPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  auto* const start = static_cast<std::byte*>(memory);
  EXPECT_EQ(own.showOnce(start, kSmallPage), CUDA_SUCCESS);
  const size_t ranges = fake.driver.ranges();
  EXPECT_EQ(own.showOnce(start, kSmallPage), CUDA_SUCCESS);
  EXPECT_EQ(fake.driver.ranges(), ranges);
  EXPECT_EQ(own.showOnce(start, 2 * kSmallPage), CUDA_ERROR_OUT_OF_MEMORY) << "the driver pins no page twice";
  pages.hide(start, kSmallPage);
  munmap(memory, 2 * kSmallPage);
}

// A buffer locked in pieces, in any order, of any size: all of it is pinned as long as a piece is that covers it.
TEST(HostPages, NeighboursThatShareAPageAreAllPinned) {
  FakeGpu fake;
  KnownRanges known;
  HostPages pages(*fake.uvm);
  const GpuHostPages sees(pages, *fake.gpu, known);
  constexpr size_t kBytes = 8 * kSmallPage;
  void* const memory = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  auto* const start = static_cast<std::byte*>(memory);
  std::mt19937 random(1);
  for (int round = 0; round < 50; ++round) {
    std::vector<std::pair<size_t, size_t>> pieces;  // offset, bytes
    for (size_t at = random() % 100; at < kBytes;) {
      const size_t bytes = std::min<size_t>(1 + random() % (random() % 2 ? 700 : 9000), kBytes - at);
      pieces.emplace_back(at, bytes);
      at += bytes;
    }
    std::shuffle(pieces.begin(), pieces.end(), random);
    for (const auto& [at, bytes] : pieces) ASSERT_TRUE(pages.lock(start + at, bytes, false).ok());
    while (!pieces.empty()) {
      for (const auto& [at, bytes] : pieces)
        ASSERT_EQ(known.placeOf(start + at, bytes), Place::Pinned)
            << "round " << round << ", " << bytes << " at " << at;
      pages.unlock(start + pieces.back().first, pieces.back().second);
      pieces.pop_back();
    }
    ASSERT_EQ(known.placeOf(start, 1), Place::Unknown);
    ASSERT_EQ(fake.driver.ranges(), 0u);
  }
  munmap(memory, kBytes);
}

TEST(HostPages, APageThatAWritableRangeSharesIsWritable) {
  FakeGpu fake;
  KnownRanges known;
  HostPages pages(*fake.uvm);
  const GpuHostPages sees(pages, *fake.gpu, known);
  void* const memory = mmap(nullptr, kSmallPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  auto* const start = static_cast<std::byte*>(memory);
  ASSERT_TRUE(pages.lock(start, 100, true).ok());
  EXPECT_FALSE(fake.driver.canWrite(0, start));
  ASSERT_TRUE(pages.lock(start + 100, 100, false).ok());
  EXPECT_TRUE(fake.driver.canWrite(0, start));
  pages.unlock(start, 100);
  EXPECT_EQ(known.placeOf(start + 100, 100), Place::Pinned);
  pages.unlock(start + 100, 100);
  EXPECT_EQ(fake.driver.ranges(), 0u);
  munmap(memory, kSmallPage);
}

TEST(HostPages, EveryGpuSeesAllWheneverItJoins) {
  FakeDriver::Description description;
  description.gpus = 2;
  FakeGpu fake(std::move(description));
  rm::CardInfo cards[4];
  must(fake.client->cards(cards, 4));
  const std::unique_ptr<Gpu> second = must(Gpu::open(*fake.client, *fake.uvm, cards[1]));
  KnownRanges known, knownToSecond;
  HostPages pages(*fake.uvm);
  const GpuHostPages sees(pages, *fake.gpu, known);
  constexpr size_t kBytes = 8 * kSmallPage;
  void* const memory = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  auto* const start = static_cast<std::byte*>(memory);
  pages.show(start, 4 * kSmallPage, false);
  {
    const GpuHostPages late(pages, *second, knownToSecond);
    EXPECT_TRUE(fake.driver.canWrite(1, start)) << "it was shown before";
    pages.show(start, 4 * kSmallPage, false);
    pages.show(start + 4 * kSmallPage, 4 * kSmallPage, true);
    EXPECT_FALSE(fake.driver.canWrite(1, start + 4 * kSmallPage)) << "to be read only";
    pages.hide(start + kSmallPage, 5 * kSmallPage);
    for (size_t page = 0; page < 8; ++page) {
      const Place place = page == 0 || page > 5 ? Place::Pinned : Place::Unknown;
      EXPECT_EQ(known.placeOf(start + page * kSmallPage, kSmallPage), place) << page;
      EXPECT_EQ(knownToSecond.placeOf(start + page * kSmallPage, kSmallPage), place) << page;
    }
    EXPECT_TRUE(fake.driver.canWrite(0, start));
    EXPECT_TRUE(fake.driver.canWrite(1, start));
  }
  EXPECT_TRUE(fake.driver.canWrite(0, start)) << "the other GPU left";
  EXPECT_FALSE(fake.driver.canWrite(1, start));
  EXPECT_EQ(knownToSecond.placeOf(start, 1), Place::Unknown);
  pages.hide(start, kBytes);
  EXPECT_EQ(known.placeOf(start, 1), Place::Unknown);
  EXPECT_EQ(fake.driver.ranges(), 0u);
  munmap(memory, kBytes);
}

// One of two GPUs, or both, cannot pin: the one that asks gets what it sees, and nothing stays of what nobody was
// given.
TEST(HostPages, WhatAGpuRefusesLeavesNothingBehind) {
  bool refusedOwn = false, refusedOther = false;
  for (uint32_t call = 1; call < 12; ++call) {
    FakeDriver::Description description;
    description.gpus = 2;
    FakeGpu fake(std::move(description));
    rm::CardInfo cards[4];
    must(fake.client->cards(cards, 4));
    const std::unique_ptr<Gpu> second = must(Gpu::open(*fake.client, *fake.uvm, cards[1]));
    KnownRanges known, knownToSecond;
    HostPages pages(*fake.uvm);
    GpuHostPages one(pages, *fake.gpu, known), other(pages, *second, knownToSecond);
    fake.driver.refuse(call, 0x51);
    if (Result<std::byte*> first = one.allocate(kSmallPage); first.ok()) {
      EXPECT_TRUE(fake.driver.canWrite(0, *first)) << call;
      refusedOther |= !fake.driver.canWrite(1, *first);
      one.release(*first, kSmallPage);
    } else {
      refusedOwn = true;
    }
    EXPECT_EQ(fake.driver.ranges(), 0u) << call;
    if (!fake.driver.refused()) break;
    std::byte* const again = must(other.allocate(kSmallPage));
    EXPECT_TRUE(fake.driver.canWrite(0, again) && fake.driver.canWrite(1, again)) << call;
    other.release(again, kSmallPage);
  }
  EXPECT_TRUE(refusedOwn && refusedOther);
}

TEST(GpuMemory, RangesCanBeMappedUnmappedAndReplaced) {
  FakeGpu fake;
  Addresses& addresses = fake.addresses();
  std::byte* const start = must(addresses.take(4 * kMiB, 2 * kMiB));
  const uint64_t base = reinterpret_cast<uint64_t>(start);
  const CUuuid gpu = fake.gpu->facts().uuid;
  auto memory = must(MemoryObject::allocate(*fake.gpu, {Where::Video, 2 * kMiB}));
  Uvm& uvm = *fake.uvm;
  EXPECT_EQ(uvm.mapMemory(gpu, base, 2 * kMiB, memory->handle(), 0, false), CUDA_ERROR_INVALID_VALUE);
  ASSERT_EQ(uvm.createRange(base, 4 * kMiB), CUDA_SUCCESS);
  EXPECT_EQ(uvm.createRange(base + kMiB, kMiB), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(uvm.mapMemory(gpu, base, 2 * kMiB, memory->handle(), 0, false), CUDA_SUCCESS);
  EXPECT_EQ(uvm.mapMemory(gpu, base + 2 * kMiB, 2 * kMiB, memory->handle(), 0, true), CUDA_SUCCESS);
  EXPECT_EQ(uvm.unmapMemory(gpu, base, 2 * kMiB), CUDA_SUCCESS);
  // The mapping that is left keeps the memory.
  memory.reset();
  EXPECT_EQ(fake.driver.usedMemory(), 2 * kMiB);
  EXPECT_EQ(uvm.freeRange(base, 4 * kMiB), CUDA_SUCCESS);
  EXPECT_EQ(fake.driver.usedMemory(), 0u);
  addresses.giveBack(start, 4 * kMiB);
}

}  // namespace
}  // namespace vg::testing
