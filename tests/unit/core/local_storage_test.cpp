#include "core/contexts/context_storage.h"

#include <gtest/gtest.h>

#include <array>

namespace vg::core {
namespace {

int cleared = 0;
void count(CUcontext context, void* key, void* value) {
  EXPECT_EQ(context, reinterpret_cast<CUcontext>(8));
  EXPECT_EQ(key, value);
  ++cleared;
}

TEST(LocalStorage, GrowsBeyondItsFirstEntriesAndUsesFreedOnes) {
  LocalStorage storage;
  std::array<char, 200> keys;
  void* value = nullptr;
  for (int round = 0; round < 3; ++round) {
    for (char& key : keys) storage.put(&key, &key, count);
    for (char& key : keys) {
      ASSERT_TRUE(storage.get(&key, &value));
      EXPECT_EQ(value, &key);
    }
    for (char& key : keys) EXPECT_TRUE(storage.remove(&key));
    for (char& key : keys) EXPECT_FALSE(storage.get(&key, &value));
  }
  EXPECT_FALSE(storage.remove(&keys[0]));
}

TEST(LocalStorage, ClearingCallsEveryDestructorOnce) {
  LocalStorage storage;
  std::array<char, 40> keys;
  for (char& key : keys) storage.put(&key, &key, &key == &keys[3] ? nullptr : count);
  cleared = 0;
  storage.clear(reinterpret_cast<CUcontext>(8));
  EXPECT_EQ(cleared, 39);
  storage.clear(reinterpret_cast<CUcontext>(8));
  EXPECT_EQ(cleared, 39);
  void* value = nullptr;
  for (char& key : keys) EXPECT_FALSE(storage.get(&key, &value));
}

LocalStorage* reentered = nullptr;
void putAgain(CUcontext, void* key, void*) {
  void* value = nullptr;
  EXPECT_FALSE(reentered->get(key, &value));
  EXPECT_FALSE(reentered->remove(key));
}

TEST(LocalStorage, DestructorsMayCallBack) {
  LocalStorage storage;
  reentered = &storage;
  char key;
  storage.put(&key, &key, putAgain);
  storage.clear(nullptr);
}

}  // namespace
}  // namespace vg::core
