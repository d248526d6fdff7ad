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
  EXPECT_EQ(plainNames("kernel _Z3oobPi ended with error 700: i = _Z, 0x_Z3oobPi"),
            "kernel oob(int*) ended with error 700: i = _Z, 0x_Z3oobPi");
  EXPECT_EQ(plainNames("_ZN1a1bEv, _ZN1a1bEv"), "a::b(), a::b()");
  EXPECT_EQ(plainNames(""), "");
}

}  // namespace
}  // namespace vg
