#include "base/text/format.h"

#include <gtest/gtest.h>

namespace {

using vg::format;

TEST(Format, TextsOfAnyLengthAreWhole) {
  EXPECT_EQ(format("%s", ""), "");
  EXPECT_EQ(format("%d of %s", 3, "four"), "3 of four");
  for (const size_t length : {510u, 511u, 512u, 513u, 100'000u}) {
    const std::string word(length, 'x');
    EXPECT_EQ(format("%s", word.c_str()), word) << length;
  }
}

}  // namespace
