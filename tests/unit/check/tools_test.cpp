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
  EXPECT_EQ(parseTools("api,leaks", &unknown), only(Tool::Api) | only(Tool::Leaks));
  EXPECT_EQ(unknown, "");
}

TEST(Tools, OfCallsDoNotLookAtKernels) {
  toolsOn.store(only(Tool::Api) | only(Tool::Leaks));
  EXPECT_FALSE(any());
  toolsOn.store(only(Tool::Api) | only(Tool::Sync));
  EXPECT_TRUE(any());
  toolsOn.store(0);
}

TEST(Tools, AWordThatIsNoneIsNamed) {
  std::string unknown;
  EXPECT_EQ(parseTools("race,leek", &unknown), only(Tool::Race));
  EXPECT_EQ(unknown, "leek");
}

}  // namespace
}  // namespace vg::check
