#include "check/reports/suppressions.h"

#include <gtest/gtest.h>

#include <sstream>

namespace vg::check {
namespace {

class SuppressionsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::istringstream lines(
        "# what is known\n"
        "race: *in kernel known(*   # until it is mended\n"
        "sort.cu:12\n"
        "leaks: stream was never ended\n");
    suppressions_.read(lines);
  }
  bool isLeftOut(const FaultRecord& record) const { return suppressions_.leavesOut(record); }
  static FaultRecord record(Tool tool, const std::string& headline, FaultPlace place = {}) {
    return {tool, 1, headline, {"in kernel " + place.kernel}, place};
  }

  Suppressions suppressions_;
};

TEST_F(SuppressionsTest, AreOfATool) {
  const FaultPlace known{"known(int*)", "a.cu", 3, 0};
  EXPECT_TRUE(isLeftOut(record(Tool::Race, "a thread reads", known)));
  EXPECT_FALSE(isLeftOut(record(Tool::Memory, "a store", known)));
}

TEST_F(SuppressionsTest, NamePlaces) {
  EXPECT_TRUE(isLeftOut(record(Tool::Memory, "a store", {"sort(int*)", "sort.cu", 12, 0})));
  EXPECT_FALSE(isLeftOut(record(Tool::Memory, "a store", {"sort(int*)", "sort.cu", 13, 0})));
  EXPECT_FALSE(isLeftOut(record(Tool::Memory, "a store", {"sort(int*)", "sort.cu", 120, 0})));
}

TEST_F(SuppressionsTest, NameHeadlines) {
  EXPECT_TRUE(isLeftOut(record(Tool::Leaks, "stream was never ended")));
  EXPECT_FALSE(isLeftOut(record(Tool::Leaks, "event was never ended")));
}

TEST_F(SuppressionsTest, OtherKernelsAreLeftOut) {
  suppressions_.keepOnly({"known*", "sort*"});
  EXPECT_TRUE(isLeftOut(record(Tool::Memory, "a store", {"other(int*)", "b.cu", 1, 0})));
  EXPECT_FALSE(isLeftOut(record(Tool::Memory, "a store", {"sort(int*)", "b.cu", 1, 0})));
}

}  // namespace
}  // namespace vg::check
