// What texts that are linked want of each other.
#include <gtest/gtest.h>

#include "ptx/facts/linkage.h"

namespace vg::ptx {
namespace {

using Names = std::vector<std::string>;

constexpr const char* kText = R"(
.version 9.0
.target sm_90
// .extern .func commented ();
.func  (.param .b32 func_retval0) inner
(
  .param .b32 inner_param_0
)
;
.extern .func  (.param .b32 func_retval0) wanted
(
  .param .b32 wanted_param_0
)
;
.extern .func plain();
.visible .global .align 4 .u32 counter = 5;
.visible .global .align 8 .u64 mark_inner = inner;
.func  (.param .b32 func_retval0) inner(
  .param .b32 inner_param_0
)
{
  .reg .b32 %r<4>;
  st.param.b32 [func_retval0+0], %r3;
  ret;
}
.weak .func soft() { ret; }
.visible .entry kernel() { ret; }
)";

TEST(Linkage, ExternFunctionsAreWanted) { EXPECT_EQ(functionsWanted(kText), (Names{"wanted", "plain"})); }

TEST(Linkage, FunctionsOfATextAreThoseThatItHas) { EXPECT_EQ(functionsOf(kText), (Names{"inner", "inner", "soft"})); }

TEST(Linkage, FunctionsAreMadeVisibleAndMarkedVariablesGo) {
  const std::string text = withVisible(kText, {"inner", "soft", "wanted"}, "mark_");
  EXPECT_NE(text.find("\n.visible .func  (.param .b32 func_retval0) inner\n"), text.npos);
  EXPECT_NE(text.find("\n.visible .func  (.param .b32 func_retval0) inner(\n"), text.npos);
  EXPECT_NE(text.find("\n.extern .func  (.param .b32 func_retval0) wanted"), text.npos);
  EXPECT_NE(text.find("\n.weak .func soft()"), text.npos);
  EXPECT_NE(text.find("counter = 5;"), text.npos);
  EXPECT_EQ(text.find("mark_inner"), text.npos);
  EXPECT_EQ(text.size() + std::string(".visible .global .align 8 .u64 mark_inner = inner;").size(),
            std::string(kText).size() + 2 * std::string(".visible ").size());
}

TEST(Linkage, WhatIsNoPtxStaysAsItIs) {
  for (const char* const text : {"", ".func", "no text", ".visible .func (", "\177ELF ; { }"}) {
    EXPECT_TRUE(functionsWanted(text).empty());
    EXPECT_EQ(withVisible(text, {"a"}, "mark_"), text);
  }
}

}  // namespace
}  // namespace vg::ptx
