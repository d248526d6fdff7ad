#include "activity/summary.h"

#include <gtest/gtest.h>

#include "activity/recorder.h"

namespace vg::activity {
namespace {

Record workOf(WorkKind kind, uint64_t begin, uint64_t end, const char* name = "", uint64_t stream = 1) {
  Record record{};
  record.kind = RecordKind::Work;
  record.work = {};
  record.work.kind = kind;
  record.work.copy = CopyKind::HostToDevice;
  record.work.begin = begin;
  record.work.end = end;
  record.work.bytes = kind == WorkKind::Copy ? 1000 : 0;
  record.work.origin.stream = stream;
  record.work.kernel = kernelFacts(name, 0, 0, 0);
  return record;
}

TEST(Summary, SumsKernelsByName) {
  Summary summary({}, false);
  summary.take(workOf(WorkKind::Kernel, 100, 200, "_Z1aPi"));
  summary.take(workOf(WorkKind::Kernel, 300, 350, "_Z1aPi"));
  summary.take(workOf(WorkKind::Kernel, 400, 900, "b"));
  const auto rows = Summary::top(summary.kernels(), 10);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].first, "b");
  EXPECT_EQ(rows[1].first, "a");
  EXPECT_EQ(rows[1].second.count, 2u);
  EXPECT_EQ(rows[1].second.nanoseconds, 150u);
  EXPECT_EQ(rows[1].second.shortest, 50u);
  EXPECT_EQ(rows[1].second.longest, 100u);
}

TEST(Summary, KnowsHowMuchRanSideBySideAndHowMuchMoreCould) {
  Summary summary({}, false);
  summary.take(workOf(WorkKind::Kernel, 0, 1000, "k", 1));
  summary.take(workOf(WorkKind::Copy, 500, 1200, "", 2));
  summary.take(workOf(WorkKind::Copy, 2000, 2100, "", 2));
  const DeviceSummary& device = summary.devices().at(0);
  EXPECT_EQ(device.overlap(), 500u);
  EXPECT_EQ(device.unusedOverlap(), 300u);  // 800 of copies beside 1000 of kernels
  EXPECT_EQ(device.span(), 2100u);
  EXPECT_EQ(device.any.busy(), 1300u);
}

TEST(Summary, GapsThatAnotherStreamFillsAreNone) {
  Summary summary({}, false);
  summary.take(workOf(WorkKind::Kernel, 0, 100, "first", 1));
  summary.take(workOf(WorkKind::Kernel, 5000, 5100, "second", 1));  // seems to be a gap of 4900
  summary.take(workOf(WorkKind::Kernel, 7000, 7100, "third", 1));
  summary.take(workOf(WorkKind::Kernel, 50, 5050, "beside", 2));
  summary.finish();
  const DeviceSummary& device = summary.devices().at(0);
  ASSERT_EQ(device.gaps.size(), 1u);
  EXPECT_EQ(device.gaps[0].begin, 5100u);
  EXPECT_EQ(device.gaps[0].end, 7000u);
  EXPECT_EQ(device.gaps[0].before, "second");
  EXPECT_EQ(device.gaps[0].after, "third");
}

TEST(Summary, ThePageEscapesNames) {
  Summary summary({}, false);
  summary.take(workOf(WorkKind::Kernel, 0, 100, "_Z5scaleIfEvPT_"));
  EXPECT_NE(pageOf(summary).find("scale&lt;float&gt;"), std::string::npos);
  EXPECT_NE(textOf(summary).find("scale<float>"), std::string::npos);
}

TEST(Summary, NamesBeyondSomeThousandsAreOneRow) {
  Summary summary({}, false);
  for (int i = 0; i < 10'000; ++i) summary.take(workOf(WorkKind::Kernel, 0, 1, ("k" + std::to_string(i)).c_str()));
  EXPECT_LE(summary.kernels().size(), 4097u);
  EXPECT_GT(summary.kernels().at("(others)").count, 5000u);
}

}  // namespace
}  // namespace vg::activity
