#include "check/memory/global_memory.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <vector>

namespace vg::check::global_memory {
namespace {

// One table and one shadow for the process.
uint64_t base() {
  static const alloc::MemoryTable* const known = [] {
    auto* const table = new alloc::MemoryTable;
    EXPECT_EQ(table->reserve(1, size_t{1} << 30), CUDA_SUCCESS);
    EXPECT_TRUE(global_memory::start(*table));
    return table;
  }();
  return reinterpret_cast<uint64_t>(known->windowStart(0));
}

// Nothing is ordered but what is up to the horizon.
class Loner final : public Party {
 public:
  explicit Loner(uint64_t id, uint64_t horizon = 0, uint32_t floor = 0) : Party(id, horizon, floor) {}
  bool ordered(Who, uint32_t) const override { return false; }
};

Row rowOf(uint64_t id, uint64_t address, uint64_t bytes, uint64_t laneBytes, bool writes, uint32_t thread = 0) {
  Row row{address, bytes, laneBytes, Who(id, thread, 0), !writes, writes};
  row.where = 12;
  return row;
}

bool touches(uint64_t id, uint64_t address, uint64_t bytes, uint64_t laneBytes, bool writes,
             Conflict* conflict = nullptr, uint64_t horizon = 0, uint32_t thread = 0) {
  Conflict none;
  return touch(rowOf(id, address, bytes, laneBytes, writes, thread), Loner(id, horizon), conflict ? conflict : &none);
}

TEST(GlobalMemory, ReadersDoNotDisturbEachOther) {
  const uint64_t at = base() + 0x10000;
  EXPECT_TRUE(touches(1, at, 128, 4, false));
  EXPECT_TRUE(touches(2, at, 128, 4, false));
  EXPECT_TRUE(touches(3, at + 4, 4, 4, false));
}

TEST(GlobalMemory, TheLaneOfEachWordIsKnown) {
  const uint64_t at = base() + 0x20000;
  EXPECT_TRUE(touches(1, at, 128, 4, true, nullptr, 0, 32));
  EXPECT_TRUE(touches(1, at + 20, 4, 4, false, nullptr, 0, 37));  // its own
  Conflict conflict;
  EXPECT_FALSE(touches(1, at + 20, 4, 4, false, &conflict, 0, 38));
  EXPECT_EQ(conflict.address, at + 20);
  EXPECT_EQ(conflict.earlier.thread(), 37u);
  EXPECT_TRUE(conflict.earlierWrote);
  EXPECT_EQ(conflict.where, 12u);
  EXPECT_TRUE(touches(2, at + 128, 256, 8, true));
  EXPECT_FALSE(touches(3, at + 128 + 200, 4, 4, false, &conflict));
  EXPECT_EQ(conflict.earlier.thread(), 25u);
}

TEST(GlobalMemory, WhatIsOrderedIsNoConflict) {
  const uint64_t at = base() + 0x30000;
  EXPECT_TRUE(touches(1, at, 128, 4, true));
  EXPECT_TRUE(touches(2, at, 128, 4, true, nullptr, 1));
  EXPECT_FALSE(touches(3, at, 128, 4, true, nullptr, 1));
}

TEST(GlobalMemory, AReaderOfAnotherBlockIsRemembered) {
  const uint64_t at = base() + 0x40000;
  for (const uint64_t bytes : {128u, 4u}) {
    EXPECT_TRUE(touches(1, at, bytes, 4, false));
    EXPECT_TRUE(touches(2, at, bytes, 4, false));
    EXPECT_TRUE(touches(2, at, bytes, 4, false, nullptr, 0, 5));
    Conflict conflict;
    EXPECT_FALSE(touches(2, at, 4, 4, true, &conflict, 0, 5));
    EXPECT_FALSE(conflict.earlierWrote);
    forget(at, 128);
  }
}

TEST(GlobalMemory, NeighbouringBytesOfOneWordAreApart) {
  const uint64_t at = base() + 0x50000;
  EXPECT_TRUE(touches(1, at, 1, 0, true));
  EXPECT_TRUE(touches(2, at + 1, 1, 0, true));
  EXPECT_TRUE(touches(3, at + 2, 2, 0, true));
  EXPECT_FALSE(touches(4, at, 4, 0, false));
}

TEST(GlobalMemory, AccessesThatAreMeantToMeetDoAndCopiesDoNot) {
  const uint64_t at = base() + 0x60000;
  const auto with = [&](uint64_t id, Where where, bool writes) {
    Row row = rowOf(id, at, 4, 0, writes);
    row.where = where;
    Conflict conflict;
    return touch(row, Loner(id), &conflict);
  };
  EXPECT_TRUE(with(1, kStrong | 1, true));
  EXPECT_TRUE(with(2, kStrong | 2, true));
  EXPECT_TRUE(with(3, kStrong | kCopy, true));
  EXPECT_FALSE(with(4, kStrong | kCopy, true));
  EXPECT_FALSE(with(5, 3, false));
}

TEST(GlobalMemory, WithoutSomewhereToTellItAConflictChangesNothing) {
  const uint64_t at = base() + 0x70000;
  EXPECT_TRUE(touches(1, at, 128, 4, true));
  EXPECT_FALSE(touch(rowOf(2, at, 128, 4, true), Loner(2), nullptr));
  Where where = 0;
  EXPECT_EQ(writerOf(at, &where).id(), 1u);
}

// Against a model that keeps all accesses since the last write, byte by byte: a conflict that is told is one, and a
// write that meets a writer or its only reader is told.
TEST(GlobalMemory, AsAPlainModelHasIt) {
  struct Byte {
    uint64_t writer = 0;
    std::vector<uint64_t> readers;
  };
  const uint64_t at = base() + 0x80000;
  std::map<uint64_t, Byte> model;
  std::mt19937 random(7);
  const uint64_t sizes[] = {1, 2, 4, 8, 16};
  for (int round = 0; round < 30000; ++round) {
    const uint64_t size = sizes[random() % 5], lanes = random() % 3 ? 1 : 32;
    const uint64_t first = random() % 64 * 16, bytes = size * lanes;
    const bool writes = random() % 2;
    const uint64_t id = 1 + random() % 6, horizon = random() % 3;
    if (random() % 50 == 0) {
      const uint64_t whole = (bytes + 3) / 4 * 4;
      forget(at + first, whole);
      for (uint64_t k = first; k < first + whole; ++k) model.erase(k);
      continue;
    }
    bool may = false, must = false;
    for (uint64_t k = first; k < first + bytes; ++k) {
      Byte& byte = model[k];
      const auto disturbs = [&](uint64_t other) { return other > horizon && other != id; };
      must |= disturbs(byte.writer);
      if (!writes) continue;
      for (const uint64_t reader : byte.readers) may |= disturbs(reader);
      if (byte.readers.size() == 1) must |= disturbs(byte.readers[0]);
    }
    // All lanes of an id are one thread here, so that the model needs no threads.
    Row row = rowOf(id, at + first, bytes, 0, writes);
    Conflict conflict;
    const bool fine = touch(row, Loner(id, horizon), &conflict);
    EXPECT_FALSE(must && fine) << round;
    EXPECT_FALSE(!fine && !must && !may) << round;
    for (uint64_t k = first; k < first + bytes; ++k) {
      Byte& byte = model[k];
      if (!writes) {
        byte.readers.push_back(id);
        continue;
      }
      byte.writer = id;
      byte.readers.clear();
    }
  }
}

}  // namespace
}  // namespace vg::check::global_memory
