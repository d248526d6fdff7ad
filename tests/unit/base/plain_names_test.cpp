#include "base/text/plain_names.h"

#include <gtest/gtest.h>

namespace vg {
namespace {

TEST(PlainNames, AreThoseOfTheSource) {
  EXPECT_EQ(plainName("_Z4spinPVi"), "spin(int volatile*)");
  EXPECT_EQ(plainName("spin"), "spin");
  EXPECT_EQ(plainName("i"), "i") << "not int";
}

TEST(PlainNames, AreFoundInATextThatStaysOtherwiseAsItIs) {
  EXPECT_EQ(plainNames("kernel _Z3oobPi ended with error 700: i = _Z, 0x_Z3oobPi", 100),
            "kernel oob(int*) ended with error 700: i = _Z, 0x_Z3oobPi");
  EXPECT_EQ(plainNames("_ZN1a1bEv, _ZN1a1bEv", 100), "a::b(), a::b()");
  EXPECT_EQ(plainNames("", 100), "");
}

TEST(PlainNames, LoseTheirMiddleWhenTheyAreLong) {
  const std::string name = "a::bcdefghijklmnopqrstuvwxyz0123456789(int)", word = "_ZN1a35" + name.substr(3, 35) + "Ei";
  EXPECT_EQ(plainName(word), name);
  EXPECT_EQ(plainNames("in " + word + ": no", name.size()), "in " + name + ": no");
  EXPECT_EQ(plainNames("in " + word + ": no", 25), "in a::bcdefghijklm ... (int): no");
  EXPECT_EQ(plainNames(std::string(99, 'x'), 25), std::string(99, 'x')) << "not a C++ name";
}

}  // namespace
}  // namespace vg
