// Video memory without addresses: mapped at several, handed to other processes, to other drivers, to other GPUs.

#include "backend/cpu/faults/faults.h"
#include "backend/nvidia/device.h"
#include "backend/nvidia/traits.h"
#include "copy/copy.h"
#include "copy/guard.h"
#include "gpu/fake_gpu.h"

namespace vg::testing {
namespace {

using namespace backend::nvidia;
using alloc::Protection;
using alloc::Sharing;

constexpr size_t kMiB = size_t{1} << 20;

FakeDriver::Description gpus(unsigned count, bool linked = true, bool bus = true) {
  FakeDriver::Description description;
  description.memory = 96 * kMiB;
  description.gpus = count;
  description.linked = linked;
  description.bus = bus;
  return description;
}

struct SharingTest : ::testing::Test {
  explicit SharingTest(FakeDriver::Description description = gpus(2)) : fake(std::move(description)) {
    backend::cpu::faults::arm();
    rm::CardInfo cards[4];
    must(fake.client->cards(cards, 4));
    std::unique_ptr<Gpu> second = must(Gpu::open(*fake.client, *fake.uvm, cards[1]));
    const backend::Traits traits = must(traitsOf(*fake.gpu));
    one = std::make_unique<GpuDevice>(std::move(fake.gpu), *fake.hostPages, fake.addresses(), traits);
    other = std::make_unique<GpuDevice>(std::move(second), *fake.hostPages, fake.addresses(), traits);
    addresses = must(reserveAnywhere(64 * kMiB, kHugePage));
  }
  ~SharingTest() { munmap(addresses, 64 * kMiB); }

  alloc::MemorySource& memory() { return one->memory(); }
  // Whether a GPU finds `value` at the address, by a copy of its own.
  static bool finds(GpuDevice& device, const std::byte* address, uint32_t value) {
    std::vector<uint32_t> seen(40000);  // more than the CPU would read itself
    copy::Shape shape;
    shape.source.base = const_cast<std::byte*>(address);
    shape.destination.base = reinterpret_cast<std::byte*>(seen.data());
    shape.width = seen.size() * sizeof seen[0];
    return device.transfer().copy(shape) == CUDA_SUCCESS && seen[0] == value;
  }
  uint32_t& word(std::byte* address) {
    one->showToHost(address, sizeof(uint32_t));
    return *reinterpret_cast<uint32_t*>(address);
  }

  FakeGpu fake;
  std::unique_ptr<GpuDevice> one, other;
  std::byte* addresses;
};

TEST_F(SharingTest, MemoryShowsAtSeveralAddressesAndGoesWithTheLast) {
  alloc::PhysicalRef made = must(memory().create(4 * kMiB, Sharing::Private, ""));
  EXPECT_TRUE(made->ofDevice());
  EXPECT_EQ(fake.driver.usedMemory(), 4 * kMiB);
  ASSERT_EQ(made->map(addresses, 0, 4 * kMiB, Protection::ReadWrite), CUDA_SUCCESS);
  ASSERT_EQ(made->map(addresses + 8 * kMiB, 2 * kMiB, 2 * kMiB, Protection::ReadWrite), CUDA_SUCCESS);
  word(addresses + 2 * kMiB) = 42;
  EXPECT_EQ(word(addresses + 8 * kMiB), 42u);
  EXPECT_TRUE(finds(*one, addresses + 8 * kMiB, 42));
  const alloc::PhysicalMemory* const last = made.get();
  last->unmap(addresses, 4 * kMiB);
  EXPECT_TRUE(finds(*one, addresses + 8 * kMiB, 42));
  memory().decommit(addresses, 2 * kMiB);  // of no commit: nothing happens
  const uint64_t used = fake.driver.usedMemory();
  last->unmap(addresses, 16 * kMiB);
  EXPECT_EQ(fake.driver.usedMemory(), used);
  made.reset();
  memory().trim();  // or it is kept for the next
  EXPECT_EQ(fake.driver.usedMemory(), used - 4 * kMiB);
}

// Of 96 MiB 6 may lie unused.
TEST_F(SharingTest, ReleasedMemoryIsHadAgainWithoutTheDriver) {
  const auto create = [&](size_t bytes) { return must(memory().create(bytes, Sharing::Shareable, "")); };
  const uint64_t used = fake.driver.usedMemory();
  alloc::PhysicalRef made = create(2 * kMiB);
  const auto identity = made->identity();
  // What still shows somewhere is nobody else's.
  ASSERT_EQ(made->map(addresses, 0, 2 * kMiB, Protection::ReadWrite), CUDA_SUCCESS);
  const alloc::PhysicalMemory* const last = made.get();
  alloc::PhysicalRef another = create(2 * kMiB);
  EXPECT_FALSE(another->identity() == identity);
  last->unmap(addresses, 2 * kMiB);
  made.reset();
  EXPECT_EQ(fake.driver.usedMemory(), used + 4 * kMiB);
  const size_t calls = fake.driver.calls();
  made = create(2 * kMiB);
  EXPECT_TRUE(made->identity() == identity);
  made.reset();
  EXPECT_EQ(fake.driver.calls(), calls);
  // Of its size only.
  const alloc::PhysicalRef larger = create(4 * kMiB);
  EXPECT_EQ(fake.driver.usedMemory(), used + 8 * kMiB);
  another.reset();
  EXPECT_EQ(fake.driver.usedMemory(), used + 8 * kMiB);
  memory().trim();
  EXPECT_EQ(fake.driver.usedMemory(), used + 4 * kMiB);
}

TEST_F(SharingTest, UnusedMemoryIsBoundedAndTheOldestGoesFirst) {
  const uint64_t used = fake.driver.usedMemory();
  std::vector<alloc::PhysicalRef> made;
  for (int i = 0; i < 4; ++i) made.push_back(must(memory().create(2 * kMiB, Sharing::Private, "")));
  const auto first = made[0]->identity(), newest = made[3]->identity();
  alloc::PhysicalRef large = must(memory().create(8 * kMiB, Sharing::Private, ""));
  for (alloc::PhysicalRef& memory : made) memory.reset();
  EXPECT_EQ(fake.driver.usedMemory(), used + 14 * kMiB);
  large.reset();
  EXPECT_EQ(fake.driver.usedMemory(), used + 6 * kMiB);
  for (alloc::PhysicalRef& again : made) again = must(memory().create(2 * kMiB, Sharing::Private, ""));
  EXPECT_TRUE(made[0]->identity() == newest);
  for (const alloc::PhysicalRef& again : made) EXPECT_FALSE(again->identity() == first);
}

TEST_F(SharingTest, UnusedMemoryGoesBeforeAnythingIsRefused) {
  for (const size_t bytes : {2 * kMiB, 4 * kMiB}) must(memory().create(bytes, Sharing::Private, ""));
  const uint64_t left = 96 * kMiB - fake.driver.usedMemory();
  const alloc::PhysicalRef most = must(memory().create(left / (2 * kMiB) * 2 * kMiB, Sharing::Private, ""));
  EXPECT_EQ(memory().commit(addresses, 6 * kMiB), CUDA_SUCCESS);
  EXPECT_EQ(memory().commit(addresses + 8 * kMiB, 2 * kMiB), CUDA_ERROR_OUT_OF_MEMORY);
  memory().decommit(addresses, 6 * kMiB);
}

TEST_F(SharingTest, WhatOthersMayHaveIsNeverHadAgain) {
  const uint64_t used = fake.driver.usedMemory();
  const auto create = [&] { return must(memory().create(2 * kMiB, Sharing::Shareable, "a label")); };
  alloc::PhysicalRef made = create();
  const int descriptor = must(made->duplicate());
  alloc::PhysicalRef imported = must(memory().import(descriptor));
  fake.driver.close(descriptor);
  made.reset();
  imported.reset();
  EXPECT_EQ(fake.driver.usedMemory(), used);
  made = create();
  fake.driver.close(must(made->dmaBuf({{made, 0, 65536}})));
  made.reset();
  EXPECT_EQ(fake.driver.usedMemory(), used);
}

TEST_F(SharingTest, TheHostSeesAMappingWhenItNeedsIt) {
  const alloc::PhysicalRef made = must(memory().create(4 * kMiB, Sharing::Private, ""));
  const size_t files = fake.driver.openFiles();
  std::byte* const middle = addresses + 2 * kMiB;
  const auto map = [&] {
    ASSERT_EQ(made->map(addresses, 0, 2 * kMiB, Protection::ReadWrite), CUDA_SUCCESS);
    ASSERT_EQ(made->map(middle, 2 * kMiB, 2 * kMiB, Protection::ReadWrite), CUDA_SUCCESS);
  };
  map();
  std::vector<std::byte> host(4096, std::byte{9}), seen(4096);
  EXPECT_FALSE(copy::guarded([&] { seen[0] = *const_cast<volatile std::byte*>(middle); }));
  copy::Shape shape;
  shape.destination.base = middle - 2048;
  shape.source.base = host.data();
  shape.width = host.size();
  EXPECT_EQ(one->transfer().copy(shape), CUDA_SUCCESS);
  EXPECT_TRUE(copy::copyBytes(seen.data(), middle - 2048, seen.size()));
  EXPECT_EQ(seen, host);

  made->unmap(addresses, 4 * kMiB);
  EXPECT_EQ(one->transfer().copy(shape), CUDA_ERROR_ILLEGAL_ADDRESS);
  map();
  EXPECT_EQ(one->transfer().fill({middle - 2, 4, 4, 1, 7, 2}), CUDA_SUCCESS);
  EXPECT_EQ(word(middle - 4) >> 16, 7u);
  EXPECT_EQ(word(middle) & 0xffff, 7u);
  made->unmap(addresses, 4 * kMiB);
  EXPECT_EQ(fake.driver.openFiles(), files);
}

TEST_F(SharingTest, WhatIsReadOnlyCannotBeFilled) {
  const alloc::PhysicalRef made = must(memory().create(2 * kMiB, Sharing::Private, ""));
  ASSERT_EQ(made->map(addresses, 0, 2 * kMiB, Protection::None), CUDA_SUCCESS);
  ASSERT_EQ(one->grant(*one, addresses, 2 * kMiB, Protection::ReadWrite), CUDA_SUCCESS);
  copy::Fill fill{addresses, 200'000, 200'000, 1, 7, 4};
  EXPECT_EQ(one->transfer().fill(fill), CUDA_SUCCESS);
  EXPECT_TRUE(finds(*one, addresses, 7));
  ASSERT_EQ(one->grant(*one, addresses, 2 * kMiB, Protection::Read), CUDA_SUCCESS);
  EXPECT_TRUE(finds(*one, addresses, 7));
  EXPECT_NE(one->transfer().fill(fill), CUDA_SUCCESS);
  EXPECT_EQ(made->protect(addresses, 2 * kMiB, Protection::Read), CUDA_ERROR_NOT_SUPPORTED);
  made->unmap(addresses, 2 * kMiB);
}

TEST_F(SharingTest, AccessIsOfOneGpuAndEndsWhenItIsTakenAway) {
  const alloc::PhysicalRef made = must(memory().create(4 * kMiB, Sharing::Private, ""));
  ASSERT_EQ(made->map(addresses, 0, 4 * kMiB, Protection::None), CUDA_SUCCESS);
  const auto seen = [&](const GpuDevice& device) { return fake.driver.sees(&device == other.get(), addresses); };
  const auto grant = [&](GpuDevice& to, Protection protection) {
    return to.grant(*one, addresses, 4 * kMiB, protection);
  };
  ASSERT_EQ(other->reach(*one), CUDA_SUCCESS);  // of the heap alone
  EXPECT_FALSE(seen(*one));
  EXPECT_FALSE(seen(*other));
  for (int round = 0; round < 2; ++round) {
    ASSERT_EQ(grant(*other, Protection::ReadWrite), CUDA_SUCCESS);
    EXPECT_FALSE(seen(*one));
    EXPECT_EQ(other->transfer().fill({addresses, 200'000, 200'000, 1, 70u + round, 4}), CUDA_SUCCESS);
    ASSERT_EQ(grant(*one, Protection::ReadWrite), CUDA_SUCCESS);
    EXPECT_TRUE(finds(*one, addresses, 70u + round));
    ASSERT_EQ(grant(*other, Protection::None), CUDA_SUCCESS);
    ASSERT_EQ(grant(*other, Protection::None), CUDA_SUCCESS);
    EXPECT_FALSE(seen(*other));
    EXPECT_TRUE(finds(*one, addresses, 70u + round));
    ASSERT_EQ(grant(*one, Protection::None), CUDA_SUCCESS);
    EXPECT_FALSE(seen(*one));
  }
  ASSERT_EQ(grant(*one, Protection::ReadWrite), CUDA_SUCCESS);
  EXPECT_TRUE(finds(*one, addresses, 71));
  made->unmap(addresses, 4 * kMiB);
  EXPECT_FALSE(finds(*one, addresses, 71));
}

TEST_F(SharingTest, ADescriptorCarriesTheMemoryAndItsLabel) {
  alloc::PhysicalRef made = must(memory().create(2 * kMiB, Sharing::Shareable, "a label"));
  ASSERT_EQ(made->map(addresses, 0, 2 * kMiB, Protection::ReadWrite), CUDA_SUCCESS);
  word(addresses) = 77;
  const int descriptor = must(made->duplicate());
  EXPECT_EQ(memory().labelOf(descriptor), "a label");
  EXPECT_EQ(other->memory().labelOf(descriptor), "");  // memory of another GPU
  EXPECT_FALSE(other->memory().import(descriptor).ok());
  const alloc::PhysicalRef imported = must(memory().import(descriptor));
  fake.driver.close(descriptor);
  EXPECT_EQ(imported->bytes(), 2 * kMiB);
  made->unmap(addresses, 2 * kMiB);
  made.reset();
  ASSERT_EQ(imported->map(addresses, 0, 2 * kMiB, Protection::ReadWrite), CUDA_SUCCESS);
  EXPECT_TRUE(finds(*one, addresses, 77));
  imported->unmap(addresses, 2 * kMiB);
}

TEST_F(SharingTest, DescriptorsOfOtherThingsAreNoMemory) {
  const size_t files = fake.driver.openFiles();
  for (const int descriptor : {-1, 0, fake.client->descriptor(), 123456789}) {
    EXPECT_EQ(memory().labelOf(descriptor), "");
    EXPECT_EQ(memory().import(descriptor).error(), CUDA_ERROR_INVALID_VALUE);
  }
  // Of the kind, but with a note that we did not write.
  const alloc::PhysicalRef made = must(memory().create(2 * kMiB, Sharing::Shareable, ""));
  ASSERT_EQ(made->map(addresses, 0, 2 * kMiB, Protection::ReadWrite), CUDA_SUCCESS);
  std::unique_ptr<MemoryObject> foreign = must(MemoryObject::allocate(one->gpu(), {Where::Video, 2 * kMiB, kHugePage}));
  const int descriptor = must(exportObject(one->gpu(), *foreign, ExportNote{}));
  EXPECT_EQ(memory().labelOf(descriptor), "");
  EXPECT_EQ(memory().import(descriptor).error(), CUDA_ERROR_INVALID_VALUE);
  fake.driver.close(descriptor);
  EXPECT_EQ(fake.driver.openFiles(), files);
  made->unmap(addresses, 2 * kMiB);
}

TEST_F(SharingTest, PartsOfACommitAreSharedAndBecomeFreshWithAllOfIt) {
  ASSERT_EQ(memory().commit(addresses, 4 * kMiB), CUDA_SUCCESS);
  word(addresses + 2 * kMiB + 65536) = 5;
  alloc::SharedMemory shared;
  ASSERT_EQ(memory().share(addresses + 2 * kMiB + 65536, 131072, shared), CUDA_SUCCESS);
  EXPECT_EQ(shared.moved, 131072u);
  EXPECT_EQ(shared.memory->bytes(), 131072u);
  EXPECT_EQ(shared.memory->pageBytes(), kBigPage);
  const int descriptor = must(shared.memory->duplicate());
  const alloc::PhysicalRef imported = must(memory().import(descriptor));
  fake.driver.close(descriptor);
  std::byte* const there = addresses + 32 * kMiB;
  ASSERT_EQ(imported->map(there, 0, 131072, Protection::ReadWrite), CUDA_SUCCESS);
  EXPECT_EQ(word(there), 5u);
  EXPECT_EQ(memory().unshare(addresses + 2 * kMiB + 65536, 131072), CUDA_ERROR_NOT_SUPPORTED);
  ASSERT_EQ(memory().unshare(addresses, 4 * kMiB), CUDA_SUCCESS);
  word(addresses + 2 * kMiB + 65536) = 6;
  EXPECT_EQ(word(there), 5u);
  EXPECT_TRUE(finds(*one, addresses + 2 * kMiB + 65536, 6));
  imported->unmap(there, 131072);
  memory().decommit(addresses, 4 * kMiB);
  EXPECT_EQ(memory().share(addresses, 65536, shared), CUDA_ERROR_NOT_SUPPORTED);
}

TEST_F(SharingTest, ADmaBufIsOfManyParts) {
  const alloc::PhysicalRef made = must(memory().create(2 * kMiB, Sharing::Private, ""));
  std::vector<alloc::PhysicalMemory::Part> parts;
  for (size_t i = 0; i < 300; ++i) parts.push_back({made, i * 4096, 4096});
  const int descriptor = must(made->dmaBuf(parts));
  EXPECT_GE(descriptor, 0);
  fake.driver.close(descriptor);
  parts[299].bytes = 4 * kMiB;
  const size_t files = fake.driver.openFiles();
  EXPECT_FALSE(made->dmaBuf(parts).ok());
  EXPECT_EQ(fake.driver.openFiles(), files);
}

TEST_F(SharingTest, PeersReachWhatThereIsAndWhatIsToCome) {
  ASSERT_TRUE(other->canReach(*one));
  ASSERT_EQ(memory().commit(addresses, 2 * kMiB), CUDA_SUCCESS);
  const alloc::PhysicalRef made = must(memory().create(2 * kMiB, Sharing::Private, ""));
  ASSERT_EQ(made->map(addresses + 8 * kMiB, 0, 2 * kMiB, Protection::ReadWrite), CUDA_SUCCESS);
  ASSERT_EQ(other->reach(*one), CUDA_SUCCESS);
  ASSERT_EQ(other->reach(*one), CUDA_SUCCESS);
  ASSERT_EQ(memory().commit(addresses + 2 * kMiB, 2 * kMiB), CUDA_SUCCESS);
  ASSERT_EQ(made->map(addresses + 16 * kMiB, 0, 2 * kMiB, Protection::ReadWrite), CUDA_SUCCESS);
  const size_t places[] = {0, 2 * kMiB, 8 * kMiB, 16 * kMiB};
  copy::Fill fill{nullptr, 200'000, 200'000, 1, 0, 4};
  for (const size_t place : places) {
    fill.base = addresses + place;
    fill.pattern = static_cast<uint32_t>(place + 9);
    EXPECT_EQ(other->transfer().fill(fill), CUDA_SUCCESS);
    EXPECT_TRUE(finds(*one, addresses + place, fill.pattern));
  }
  for (const size_t place : places) EXPECT_EQ(other->transfer().fill({addresses + place, 4, 4, 1, 5, 4}), CUDA_SUCCESS);
  made->unmap(addresses + 8 * kMiB, 10 * kMiB);
  memory().decommit(addresses, 4 * kMiB);
  EXPECT_FALSE(finds(*other, fill.base, fill.pattern));
}

TEST_F(SharingTest, PeersLeaveAsOftenAsTheyCame) {
  ASSERT_EQ(memory().commit(addresses, 2 * kMiB), CUDA_SUCCESS);
  alloc::SharedMemory shared;
  ASSERT_EQ(memory().share(addresses, 2 * kMiB, shared), CUDA_SUCCESS);
  std::byte* const there = addresses + 8 * kMiB;
  ASSERT_EQ(shared.memory->map(there, 0, 2 * kMiB, Protection::ReadWrite), CUDA_SUCCESS);
  constexpr uint32_t peer = 1;
  for (int round = 0; round < 2; ++round) {
    ASSERT_EQ(other->reach(*one), CUDA_SUCCESS);
    ASSERT_EQ(other->reach(*one), CUDA_SUCCESS);
    other->leave(*one);
    EXPECT_TRUE(fake.driver.sees(peer, addresses));
    EXPECT_EQ(other->transfer().fill({there, 200'000, 200'000, 1, 8u + round, 4}), CUDA_SUCCESS);
    other->leave(*one);
    EXPECT_FALSE(fake.driver.sees(peer, addresses));
    EXPECT_FALSE(fake.driver.sees(peer, there));
    EXPECT_TRUE(finds(*one, addresses, 8u + round));
  }
  ASSERT_EQ(memory().commit(addresses + 2 * kMiB, 2 * kMiB), CUDA_SUCCESS);
  EXPECT_FALSE(fake.driver.sees(peer, addresses + 2 * kMiB));
  shared.memory->unmap(there, 2 * kMiB);
  memory().decommit(addresses, 4 * kMiB);
}

struct OnABus : SharingTest {
  OnABus() : SharingTest(gpus(2, false)) {}
};

TEST_F(OnABus, PeersAreEnabledFirst) {
  ASSERT_TRUE(other->canReach(*one));
  ASSERT_EQ(memory().commit(addresses, 2 * kMiB), CUDA_SUCCESS);
  word(addresses) = 3;
  ASSERT_EQ(other->reach(*one), CUDA_SUCCESS);
  EXPECT_TRUE(finds(*other, addresses, 3));
}

struct NoPeers : SharingTest {
  NoPeers() : SharingTest(gpus(2, false, false)) {}
};

TEST_F(NoPeers, SaySoAndLoseNothingByTrying) {
  EXPECT_FALSE(other->canReach(*one));
  ASSERT_EQ(memory().commit(addresses, 2 * kMiB), CUDA_SUCCESS);
  ASSERT_EQ(memory().commit(addresses + 2 * kMiB, 2 * kMiB), CUDA_SUCCESS);
  const size_t ranges = fake.driver.ranges();
  EXPECT_NE(other->reach(*one), CUDA_SUCCESS);
  EXPECT_EQ(fake.driver.ranges(), ranges);
  ASSERT_EQ(memory().commit(addresses + 4 * kMiB, 2 * kMiB), CUDA_SUCCESS);
  word(addresses + 4 * kMiB) = 8;
  EXPECT_TRUE(finds(*one, addresses + 4 * kMiB, 8));
}

}  // namespace
}  // namespace vg::testing
