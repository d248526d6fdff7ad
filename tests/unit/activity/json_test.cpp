#include "activity/json.h"

#include <gtest/gtest.h>

namespace vg::activity {
namespace {

std::string text(std::string_view raw) {
  std::string out;
  appendJsonText(out, raw);
  return out;
}

TEST(Json, EscapesWhatTextsMustNotHold) {
  EXPECT_EQ(text("a\"b\\c\n\x01"), "\"a\\\"b\\\\c\\u000a\\u0001\"");
  EXPECT_EQ(text(""), "\"\"");
}

TEST(Json, LeavesUtf8AndReplacesWhatIsNone) {
  EXPECT_EQ(text("\xc3\xbc \xe2\x82\xac \xf0\x9f\x98\x80"), "\"\xc3\xbc \xe2\x82\xac \xf0\x9f\x98\x80\"");
  EXPECT_EQ(text("\xff"), "\"?\"");
  EXPECT_EQ(text("\xc3"), "\"?\"");               // cut
  EXPECT_EQ(text("\xc0\x80"), "\"\x3f?\"");       // longer than need be
  EXPECT_EQ(text("\xed\xa0\x80"), "\"?\x3f?\"");  // half of a pair
}

TEST(Json, WritesNumbers) {
  std::string out;
  appendMicroseconds(out, 1'234'567);
  out += ' ';
  appendMicroseconds(out, 7);
  out += ' ';
  appendNumber(out, int64_t{-5});
  out += ' ';
  appendAddress(out, 0xffff'ffff'ffff'ffff);
  out += ' ';
  appendReal(out, 2.5);
  out += ' ';
  appendReal(out, 1.0 / 0.0);
  EXPECT_EQ(out, "1234.567 0.007 -5 \"0xffffffffffffffff\" 2.5 null");
}

TEST(Json, NumbersThatFollowEachOtherAreThoseThatComeAlone) {
  NearNumbers near;
  const uint64_t places[] = {0, 9, 10, 990, 1000, 999'990, 1'000'000, 84'621'088'672'377, ~uint64_t{0} - 40};
  for (const uint64_t place : places) {
    for (uint64_t value = place; value < place + 40; ++value) {
      char text[32];
      EXPECT_EQ(std::string_view(text, static_cast<size_t>(near.write(text, value) - text)), std::to_string(value));
    }
  }
}

}  // namespace
}  // namespace vg::activity
