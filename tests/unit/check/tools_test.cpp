#include "check/tools.h"

#include <gtest/gtest.h>

namespace vg::check {
namespace {

TEST(Tools, AreACommaListOfNames) {
  std::string unknown;
  EXPECT_EQ(parseTools("", &unknown), 0u);
  EXPECT_EQ(parseTools("memory,init", &unknown), only(Tool::Memory) | only(Tool::Init));
  EXPECT_EQ(parseTools("all", &unknown), kAllTools);
  EXPECT_EQ(parseTools("all,exits", &unknown), kAllTools | only(Tool::Exits));
  EXPECT_EQ(unknown, "");
}

TEST(Tools, AWordThatIsNoneIsNamed) {
  std::string unknown;
  EXPECT_EQ(parseTools("race,leaks", &unknown), only(Tool::Race));
  EXPECT_EQ(unknown, "leaks");
}

}  // namespace
}  // namespace vg::check
