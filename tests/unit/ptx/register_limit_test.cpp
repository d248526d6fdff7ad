#include "ptx/facts/register_limit.h"

#include <gtest/gtest.h>

namespace vg::ptx {
namespace {

const std::string kHead = ".version 8.0\n.target sm_50\n.address_size 64\n";

TEST(RegisterLimit, EachKernelGetsIt) {
  EXPECT_EQ(
      withRegisterLimit(kHead + ".visible .entry one(.param .u32 p)\n{ ret; }\n.entry two()\n.maxntid 32, 1, 1\n{}",
                        40),
      kHead +
          ".visible .entry one(.param .u32 p)\n.maxnreg 40 { ret; }\n.entry two()\n.maxntid 32, 1, 1\n.maxnreg 40 {}");
}

TEST(RegisterLimit, KernelsKeepTheirOwn) {
  const std::string text = kHead + ".entry one() .maxnreg 64 { ret; }";
  EXPECT_EQ(withRegisterLimit(text, 40), text);
}

TEST(RegisterLimit, FunctionsAndPrototypesHaveNone) {
  const std::string text = kHead + ".extern .entry one();\n.visible .func two() { ret; }";
  EXPECT_EQ(withRegisterLimit(text, 40), text);
}

TEST(RegisterLimit, CommentsAndStringsAreNoKernels) {
  const std::string text =
      "// .entry one() {\n/* .entry two() { */ .file 1 \".entry three() {\"\n.entry /* { */ f() // {\n";
  EXPECT_EQ(withRegisterLimit(text + "{ }", 16), text + ".maxnreg 16 { }");
}

TEST(RegisterLimit, WhateverItIsGivenItComesToAnEnd) {
  for (const char* text : {"", ".entry", ".entry f(", ".entry f() /*", "/*", "\"", ".entry f() .maxnreg", "}{;.entry{"})
    EXPECT_LE(std::string(text).size(), withRegisterLimit(text, 16).size());
}

}  // namespace
}  // namespace vg::ptx
