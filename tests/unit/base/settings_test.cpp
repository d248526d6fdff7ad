#include "base/settings.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

namespace vg {
namespace {

TEST(Settings, SecondsAreWholeNumbersOrFractions) {
  EXPECT_EQ(parseSeconds("2"), 2'000'000'000u);
  EXPECT_EQ(parseSeconds("0.25"), 250'000'000u);
  EXPECT_EQ(parseSeconds("0"), 0u);
  EXPECT_EQ(parseSeconds("inf"), parseSeconds("1e9"));
  for (const char* text : {"", "soon", "2s", "-1", "nan"}) EXPECT_FALSE(parseSeconds(text)) << text;
}

// In a child, as the environment is the process's.
TEST(Settings, KernelsAreKeptInAHomeThatIsThere) {
  const auto folderWith = [](const char* home) {
    setenv("HOME", home, 1);
    std::fprintf(stderr, "<%s>", kernelCacheFolder().c_str());
    std::_Exit(0);
  };
  unsetenv("XDG_CACHE_HOME");
  const auto ended = testing::ExitedWithCode(0);
  EXPECT_EXIT(folderWith("/tmp"), ended, "</tmp/.cache/verdigris>");
  EXPECT_EXIT(folderWith("/tmp/"), ended, "</tmp//.cache/verdigris>");
  for (const char* home : {"", "relative", "/nobody/has/this", "/etc/passwd"})
    EXPECT_EXIT(folderWith(home), ended, "<>") << home;
}

TEST(Settings, SizesHaveBinaryUnits) {
  EXPECT_EQ(parseBytes("4096"), 4096u);
  EXPECT_EQ(parseBytes("1.5k"), 1536u);
  EXPECT_EQ(parseBytes("16GiB"), 16ull << 30);
  EXPECT_EQ(parseBytes("2TB"), 2ull << 40);
  for (const char* text : {"", "lots", "-1", "5 apples", "1e30"}) EXPECT_EQ(parseBytes(text), 0u) << text;
}

}  // namespace
}  // namespace vg
