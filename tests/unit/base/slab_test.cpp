#include "base/memory/slab.h"

#include <gtest/gtest.h>

#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

namespace vg {
namespace {

struct Thing {
  explicit Thing(int n) : number(n) {
    if (n < 0) throw std::invalid_argument("negative");
  }
  int number;
  char padding[100] = {};
};

TEST(Slab, FindsWhatItMadeAndNothingElse) {
  static constinit Slab<Thing> slab;
  EXPECT_EQ(slab.find(nullptr), nullptr);
  Thing* thing = slab.create(7);
  EXPECT_EQ(slab.find(thing), thing);
  auto* bytes = reinterpret_cast<char*>(thing);
  for (int offset = -64; offset <= 256; ++offset) {
    if (offset) {
      EXPECT_EQ(slab.find(bytes + offset), nullptr) << offset;
    }
  }
  int local;
  EXPECT_EQ(slab.find(&local), nullptr);
  EXPECT_EQ(slab.find(reinterpret_cast<void*>(~uintptr_t{0})), nullptr);
  EXPECT_EQ(slab.find(reinterpret_cast<void*>(0x1234)), nullptr);
  EXPECT_TRUE(slab.destroy(thing));
}

TEST(Slab, AStaleHandleIsNotFoundAndEndsOnce) {
  static constinit Slab<Thing> slab;
  Thing* thing = slab.create(1);
  EXPECT_TRUE(slab.retire(thing));
  EXPECT_FALSE(slab.retire(thing));
  EXPECT_EQ(slab.find(thing), nullptr);
  EXPECT_EQ(thing->number, 1);  // still there until recycled
  slab.recycle(thing);
  EXPECT_EQ(slab.find(thing), nullptr);
  EXPECT_FALSE(slab.destroy(thing));
}

TEST(Slab, ASlotRestsBeforeItIsUsedAgain) {
  static constinit Slab<Thing> slab;
  Thing* first = slab.create(0);
  slab.destroy(first);
  for (int i = 0; i < 60; ++i) {
    Thing* next = slab.create(i);
    EXPECT_NE(next, first);
    slab.destroy(next);
  }
}

TEST(Slab, SlotsAreUsedAgainSoThatItStaysSmall) {
  static constinit Slab<Thing> slab;
  std::set<Thing*> seen;
  for (int i = 0; i < 10000; ++i) {
    Thing* thing = slab.create(i);
    seen.insert(thing);
    slab.destroy(thing);
  }
  EXPECT_LT(seen.size(), 100u);
}

TEST(Slab, AFullSlabThrowsAndRecovers) {
  static constinit Slab<Thing, 3> slab;
  std::vector<Thing*> things;
  for (int i = 0; i < 3; ++i) things.push_back(slab.create(i));
  EXPECT_THROW(slab.create(3), std::bad_alloc);
  slab.destroy(things[1]);
  EXPECT_EQ(slab.create(4)->number, 4);
}

TEST(Slab, AThrowingConstructorLosesNoSlot) {
  static constinit Slab<Thing, 1> slab;
  EXPECT_THROW(slab.create(-1), std::invalid_argument);
  EXPECT_EQ(slab.create(5)->number, 5);
}

TEST(Slab, ThreadsMakeFindAndEndObjectsAtOnce) {
  static constinit Slab<Thing> slab;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([t] {
      std::vector<Thing*> mine;
      for (int i = 0; i < 20000; ++i) {
        mine.push_back(slab.create(t * 100000 + i));
        ASSERT_EQ(slab.find(mine.back()), mine.back());
        if (mine.size() > 50) {
          ASSERT_EQ(mine.front()->number / 100000, t);
          ASSERT_TRUE(slab.destroy(mine.front()));
          mine.erase(mine.begin());
        }
      }
    });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace vg
