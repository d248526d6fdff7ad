#include "base/undo.h"

#include <gtest/gtest.h>

#include <new>
#include <string>

namespace vg {
namespace {

TEST(Undo, TakesBackWhatAnEarlyReturnOrAnExceptionLeaves) {
  int pinned = 0;
  const auto pin = [&](bool fails, bool lacksMemory) {
    ++pinned;
    Undo unpin([&] { --pinned; });
    if (fails) return false;
    if (lacksMemory) throw std::bad_alloc();
    unpin.done();
    return true;
  };
  EXPECT_FALSE(pin(true, false));
  EXPECT_THROW((void)pin(false, true), std::bad_alloc);
  EXPECT_EQ(pinned, 0);
  EXPECT_TRUE(pin(false, false));
  EXPECT_EQ(pinned, 1);
}

TEST(Undo, TheLastIsTakenBackFirst) {
  std::string order;
  {
    Undo first([&] { order += 'a'; });
    Undo second([&] { order += 'b'; });
  }
  EXPECT_EQ(order, "ba");
}

}  // namespace
}  // namespace vg
