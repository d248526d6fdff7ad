#include "check/memory/shared_memory.h"

#include <gtest/gtest.h>

#include "check/tools.h"

namespace vg::check {
namespace {

class SharedMemoryTest : public ::testing::Test {
 protected:
  void SetUp() override {
    toolsOn.store(kAllTools);
    clocks_.reset(64);
    memory_.reset(64);
  }
  void TearDown() override { toolsOn.store(0); }
  bool touches(ptx::Access::Kind kind, uint32_t thread, uint32_t offset, uint32_t bytes = 4, bool strong = false) {
    ptx::Access access;
    access.kind = kind;
    access.bytes = bytes;
    access.strong = strong;
    return memory_.touch(access, offset, thread, clocks_, hazard_);
  }
  bool load(uint32_t thread, uint32_t offset, uint32_t bytes = 4) {
    return touches(ptx::Access::Kind::Load, thread, offset, bytes);
  }
  bool store(uint32_t thread, uint32_t offset, uint32_t bytes = 4) {
    return touches(ptx::Access::Kind::Store, thread, offset, bytes);
  }
  bool atomic(uint32_t thread, uint32_t offset) { return touches(ptx::Access::Kind::Atomic, thread, offset, 4, true); }

  Clocks clocks_;
  SharedMemory memory_;
  Hazard hazard_;
};

TEST_F(SharedMemoryTest, NeighbouringBytesAreNoRace) {
  EXPECT_FALSE(store(0, 0, 1));
  EXPECT_FALSE(store(1, 1, 1));
  EXPECT_FALSE(load(0, 0, 1));
  EXPECT_TRUE(load(2, 0, 2));
  EXPECT_EQ(hazard_.other, 0u);
}

TEST_F(SharedMemoryTest, EachOrderOfReadsAndWritesIsNamed) {
  store(0, 0);
  EXPECT_TRUE(load(1, 0));
  EXPECT_EQ(hazard_.kind, Hazard::Kind::ReadAfterWrite);
  load(2, 8);
  EXPECT_TRUE(store(3, 8));
  EXPECT_EQ(hazard_.kind, Hazard::Kind::WriteAfterRead);
  store(4, 16);
  EXPECT_TRUE(store(5, 16));
  EXPECT_EQ(hazard_.kind, Hazard::Kind::WriteAfterWrite);
}

TEST_F(SharedMemoryTest, ABarrierEndsWhatWasBefore) {
  store(0, 0);
  load(0, 8);
  clocks_.meetAll();
  EXPECT_FALSE(load(1, 0));
  EXPECT_FALSE(store(1, 8));
}

TEST_F(SharedMemoryTest, ReadersOfSeveralWarpsAreRemembered) {
  for (const uint32_t reader : {0u, 1u, 2u, 40u}) EXPECT_FALSE(load(reader, 0));
  clocks_.meetWarp(0, ~0u);
  EXPECT_TRUE(store(3, 0));
  EXPECT_EQ(hazard_.other, 40u);
}

TEST_F(SharedMemoryTest, AtomicsAreARaceWithPlainAccessesOnly) {
  EXPECT_FALSE(atomic(0, 0));
  EXPECT_FALSE(atomic(1, 0));
  EXPECT_TRUE(load(2, 0));
}

// Words that are touched as a whole are kept as one.
TEST_F(SharedMemoryTest, PartsOfAWordAreToldApartOnceOneIsTouched) {
  EXPECT_FALSE(store(0, 0));
  EXPECT_TRUE(store(1, 2, 1));
  EXPECT_EQ(hazard_.offset, 2u);
  EXPECT_TRUE(load(2, 0, 2));
  EXPECT_EQ(hazard_.other, 0u);
  EXPECT_TRUE(load(3, 2, 1));
  EXPECT_EQ(hazard_.other, 1u);
}

TEST_F(SharedMemoryTest, AWordIsWholeAgainOnceItIsStoredWhole) {
  EXPECT_FALSE(store(0, 3, 1));
  clocks_.meetAll();
  EXPECT_FALSE(store(1, 0));
  for (uint32_t byte = 0; byte < 4; ++byte) EXPECT_TRUE(load(2, byte, 1)) << byte;
}

TEST_F(SharedMemoryTest, AccessesMayCrossWords) {
  EXPECT_FALSE(store(0, 2, 4));
  EXPECT_FALSE(store(1, 0, 2));
  EXPECT_FALSE(store(1, 6, 2));
  EXPECT_TRUE(load(2, 0, 8));
  EXPECT_TRUE(load(3, 4, 2));
  EXPECT_EQ(hazard_.other, 0u);
}

TEST_F(SharedMemoryTest, ANewBlockHasWrittenNothing) {
  memory_.written(0, 8);
  EXPECT_EQ(memory_.writtenBytes(4, 8), 4u);
  store(0, 0);
  memory_.reset(64);
  clocks_.reset(64);
  EXPECT_EQ(memory_.writtenBytes(0, 8), 0u);
  EXPECT_FALSE(load(1, 0));
}

}  // namespace
}  // namespace vg::check
