#include "alloc/address_space.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <random>
#include <vector>

#include "alloc/host_memory.h"

using namespace vg;
using namespace vg::alloc;

namespace {

constexpr size_t kMiB = size_t{1} << 20;

class AddressSpaceTest : public testing::Test {
 protected:
  ~AddressSpaceTest() override { table.unreserve(); }

  uintptr_t reserved(size_t bytes, size_t alignment = 0, uintptr_t wanted = 0) {
    Result<uintptr_t> start = space.reserve(bytes, alignment, wanted);
    EXPECT_TRUE(start.ok());
    return start.ok() ? start.value() : 0;
  }
  Record* published(uintptr_t base, size_t bytes) {
    Record prototype;
    prototype.base = base;
    prototype.size = bytes;
    prototype.kind = Kind::Imported;
    return space.publish(prototype);
  }

  // Two windows, the second a spare one.
  struct Table : MemoryTable {
    Table() { EXPECT_EQ(reserve(1, 64 * kMiB, 1), CUDA_SUCCESS); }
  } table;
  AddressSpace space{table, 0, 2};
};

TEST_F(AddressSpaceTest, RangesAreDisjointAndAlignedAndComeBack) {
  const uintptr_t first = reserved(4 * kMiB), second = reserved(2 * kMiB, 16 * kMiB), third = reserved(2 * kMiB);
  EXPECT_EQ(first % kGranule, 0u);
  EXPECT_EQ(second % (16 * kMiB), 0u);
  EXPECT_TRUE(third + 2 * kMiB <= second || third >= second + 2 * kMiB);
  EXPECT_TRUE(third >= first + 4 * kMiB);
  EXPECT_EQ(space.reservationAt(first + 3 * kMiB).start, first);
  EXPECT_EQ(space.reservationAt(first + 3 * kMiB).bytes, 4 * kMiB);
  EXPECT_FALSE(space.free(first, 2 * kMiB)) << "only whole reservations";
  EXPECT_FALSE(space.free(first + 2 * kMiB, 2 * kMiB));
  EXPECT_TRUE(space.free(first, 4 * kMiB));
  EXPECT_FALSE(space.free(first, 4 * kMiB));
  EXPECT_EQ(space.reservationAt(first).bytes, 0u);
  EXPECT_TRUE(space.free(third, 2 * kMiB));
  EXPECT_TRUE(space.free(second, 2 * kMiB));
  EXPECT_TRUE(space.free(reserved(128 * kMiB), 128 * kMiB)) << "everything is joined again";
}

TEST_F(AddressSpaceTest, AWantedAddressIsGivenWhileItIsFree) {
  const uintptr_t base = reserved(8 * kMiB);
  EXPECT_TRUE(space.free(base, 8 * kMiB));
  const uintptr_t wanted = base + 32 * kMiB;
  EXPECT_EQ(reserved(4 * kMiB, 0, wanted), wanted);
  EXPECT_NE(reserved(4 * kMiB, 0, wanted + 2 * kMiB), wanted + 2 * kMiB);
  EXPECT_NE(reserved(4 * kMiB, 0, 0x1000), 0x1000u);
}

TEST_F(AddressSpaceTest, MoreThanThereIsIsOutOfMemory) {
  EXPECT_EQ(space.reserve(130 * kMiB).error(), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(space.reserve(~size_t{0} / kGranule * kGranule).error(), CUDA_ERROR_OUT_OF_MEMORY);
}

TEST_F(AddressSpaceTest, LookupsKnowWhatIsPublishedUntilItIsWithdrawn) {
  const uintptr_t base = reserved(8 * kMiB);
  EXPECT_EQ(table.find(base), nullptr);
  Record* record = published(base + 2 * kMiB, 3 * kMiB + 5);
  EXPECT_EQ(table.find(base + 2 * kMiB - 1), nullptr);
  EXPECT_EQ(table.find(base + 2 * kMiB), record);
  EXPECT_EQ(table.find(base + 5 * kMiB + 4), record);
  EXPECT_EQ(table.find(base + 5 * kMiB + 5), nullptr);
  space.withdraw(record);
  EXPECT_EQ(table.find(base + 2 * kMiB), nullptr);
}

TEST_F(AddressSpaceTest, RandomReservationsNeverOverlap) {
  std::mt19937 random(3);
  std::vector<AddressSpace::Range> live;
  for (int step = 0; step < 20000; ++step) {
    if (!live.empty() && random() % 2) {
      const size_t which = random() % live.size();
      ASSERT_TRUE(space.free(live[which].start, live[which].bytes));
      live[which] = live.back();
      live.pop_back();
      continue;
    }
    const size_t bytes = (1 + random() % 8) * kGranule;
    Result<uintptr_t> start = space.reserve(bytes, size_t{1} << (20 + random() % 6));
    if (!start.ok()) continue;
    for (const AddressSpace::Range& other : live)
      ASSERT_TRUE(start.value() + bytes <= other.start || other.start + other.bytes <= start.value());
    live.push_back({start.value(), bytes});
  }
}

TEST_F(AddressSpaceTest, MemoryShowsAtSeveralAddresses) {
  for (Sharing sharing : {Sharing::Private, Sharing::Shareable}) {
    Result<PhysicalRef> memory = HostMemory::create(4 * kMiB, sharing);
    ASSERT_TRUE(memory.ok());
    auto* one = reinterpret_cast<std::byte*>(reserved(4 * kMiB));
    auto* two = reinterpret_cast<std::byte*>(reserved(2 * kMiB));
    ASSERT_EQ(memory.value()->map(one, 0, 4 * kMiB, Protection::ReadWrite), CUDA_SUCCESS);
    ASSERT_EQ(memory.value()->map(two, 2 * kMiB, 2 * kMiB, Protection::Read), CUDA_SUCCESS);
    std::memset(one, 1, 4 * kMiB);
    one[2 * kMiB + 17] = std::byte{42};
    EXPECT_EQ(two[17], std::byte{42});
    memory.value()->unmap(one, 4 * kMiB);
    EXPECT_EQ(two[17], std::byte{42});
    memory.value()->unmap(two, 2 * kMiB);
  }
}

TEST_F(AddressSpaceTest, ADescriptorIsTheSameMemoryAndOutlivesItsMaker) {
  Result<PhysicalRef> memory = HostMemory::create(2 * kMiB, Sharing::Shareable);
  ASSERT_TRUE(memory.ok());
  Result<int> descriptor = memory.value()->duplicate();
  ASSERT_TRUE(descriptor.ok());
  EXPECT_EQ(fcntl(descriptor.value(), F_GETFD), FD_CLOEXEC);
  EXPECT_NE(ftruncate(descriptor.value(), 4096), 0) << "sealed";
  auto* at = reinterpret_cast<std::byte*>(reserved(2 * kMiB));
  ASSERT_EQ(memory.value()->map(at, 0, 2 * kMiB, Protection::ReadWrite), CUDA_SUCCESS);
  at[5] = std::byte{7};
  memory.value()->unmap(at, 2 * kMiB);

  Result<PhysicalRef> imported = HostMemory::fromDescriptor(descriptor.value(), 2 * kMiB);
  ASSERT_TRUE(imported.ok());
  EXPECT_EQ(imported.value()->identity(), memory.value()->identity());
  EXPECT_FALSE(HostMemory::fromDescriptor(descriptor.value(), 2 * kMiB + 1).ok());
  close(descriptor.value());
  memory.value().reset();
  ASSERT_EQ(imported.value()->map(at, 0, 2 * kMiB, Protection::Read), CUDA_SUCCESS);
  EXPECT_EQ(at[5], std::byte{7});
  imported.value()->unmap(at, 2 * kMiB);
}

TEST_F(AddressSpaceTest, WhatIsNoMemoryIsNotImported) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  EXPECT_EQ(HostMemory::fromDescriptor(ends[0]).error(), CUDA_ERROR_INVALID_VALUE);
  close(ends[0]);
  close(ends[1]);
  EXPECT_EQ(HostMemory::fromDescriptor(-1).error(), CUDA_ERROR_INVALID_VALUE);
  const int unsealable = memfd_create("test", MFD_CLOEXEC);
  ASSERT_EQ(ftruncate(unsealable, 1 << 20), 0);
  EXPECT_EQ(HostMemory::fromDescriptor(unsealable).error(), CUDA_ERROR_INVALID_VALUE);
  close(unsealable);
  const int sealable = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  ASSERT_EQ(ftruncate(sealable, 1 << 20), 0);
  EXPECT_TRUE(HostMemory::fromDescriptor(sealable).ok());
  close(sealable);
}

TEST_F(AddressSpaceTest, PrivateMemoryIsHandedOutOnce) {
  std::mt19937 random(5);
  std::vector<PhysicalRef> live;
  for (int step = 0; step < 5000; ++step) {
    if (!live.empty() && random() % 2) {
      live.erase(live.begin() + static_cast<std::ptrdiff_t>(random() % live.size()));
      if (random() % 50 == 0) HostMemory::trim();
      continue;
    }
    Result<PhysicalRef> made = HostMemory::create((1 + random() % 4) * kGranule, Sharing::Private);
    ASSERT_TRUE(made.ok());
    const size_t start = made.value()->identity().offset, end = start + made.value()->bytes();
    for (const PhysicalRef& other : live)
      ASSERT_TRUE(end <= other->identity().offset || other->identity().offset + other->bytes() <= start);
    live.push_back(std::move(made).value());
  }
}

}  // namespace
