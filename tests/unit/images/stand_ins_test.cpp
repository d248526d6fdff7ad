#include "images/stand_ins.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace vg::images {
namespace {

namespace fs = std::filesystem;

std::string ptx(const std::string& target, const std::vector<std::string>& kernels) {
  std::string text = ".version 8.0\n.target " + target + "\n.address_size 64\n";
  for (const std::string& kernel : kernels) text += ".visible .entry " + kernel + "(.param .u64 a)\n{ ret; }\n";
  return text;
}

class StandInsTest : public ::testing::Test {
 protected:
  StandInsTest() : folder_(fs::temp_directory_path() / ("stand_ins_" + std::to_string(getpid()))) {
    fs::create_directories(folder_ / "deeper");
  }
  ~StandInsTest() override { fs::remove_all(folder_); }

  void write(const std::string& name, const std::string& text) { std::ofstream(folder_ / name) << text; }
  StandIns read() { return StandIns(folder_.string()); }
  std::string found(const std::vector<std::string>& kernels, uint32_t capability = 121) {
    const std::optional<StandIn> result = read().find(kernels, capability);
    return result ? fs::path(result->path).filename().string() : "";
  }

  fs::path folder_;
};

TEST(KernelsOf, AreTheEntriesOfAText) {
  const std::string text = ptx("sm_80", {"one", "_Z3twoPf", "three$4"}) + ".func helper() { ret; }\n.entry\n\tfour()";
  EXPECT_EQ(kernelsOf(text), (std::vector<std::string_view>{"one", "_Z3twoPf", "three$4", "four"}));
  EXPECT_TRUE(kernelsOf("").empty());
  EXPECT_TRUE(kernelsOf(".entry").empty());
}

TEST(KernelsOf, NativeCodeThatCannotBeReadHasNone) {
  EXPECT_TRUE(kernelsOfNative("").empty());
  EXPECT_TRUE(kernelsOfNative(std::string(1000, 'x')).empty());
}

TEST_F(StandInsTest, TheFileWithMostOfTheKernelsIsTaken) {
  write("few.ptx", ptx("sm_90", {"one"}));
  write("all.ptx", ptx("sm_75", {"one", "two", "three"}));
  EXPECT_EQ(found({"one", "two"}), "all.ptx");
  EXPECT_EQ(found({"one"}), "few.ptx");  // for a higher target
  EXPECT_EQ(found({"four"}), "");
  EXPECT_EQ(found({}), "");
}

TEST_F(StandInsTest, KernelsThatAreMissingAreNamed) {
  write("some.ptx", ptx("sm_75", {"one", "two"}));
  const std::optional<StandIn> result = read().find({"one", "zero", "two", "last"}, 121);
  ASSERT_TRUE(result);
  EXPECT_EQ(result->missing, (std::vector<std::string>{"zero", "last"}));
  EXPECT_EQ(result->target, 75u);
  EXPECT_EQ(result->text, ptx("sm_75", {"one", "two"}));
}

TEST_F(StandInsTest, OnlyTargetsThatRunOnTheDeviceCount) {
  write("new.ptx", ptx("sm_120", {"one", "two"}));
  write("deeper/old.ptx", ptx("sm_80", {"one"}));
  write("special.ptx", ptx("sm_90a", {"one", "two"}));
  EXPECT_EQ(found({"one", "two"}, 121), "new.ptx");
  EXPECT_EQ(found({"one", "two"}, 100), "old.ptx");
  EXPECT_EQ(found({"one", "two"}, 90), "special.ptx");
  EXPECT_EQ(found({"one", "two"}, 75), "");
}

TEST_F(StandInsTest, WhatIsNoPtxIsLeftOut) {
  write("notes.ptx", "nothing of the kind");
  write("empty.ptx", "");
  write("strange.ptx", ".target\n");
  write("kernels.txt", ptx("sm_75", {"one"}));
  fs::create_directories(folder_ / "folder.ptx");
  write("good.ptx", ptx("sm_75", {"one"}));
  EXPECT_EQ(read().files(), 1u);
  EXPECT_EQ(found({"one"}), "good.ptx");
}

TEST_F(StandInsTest, AFolderThatIsNotThereHasNone) {
  EXPECT_EQ(StandIns("/no/such/folder").files(), 0u);
  EXPECT_FALSE(StandIns("/no/such/folder").find({"one"}, 121));
}

TEST_F(StandInsTest, FilesThatAreWrittenLaterAreFound) {
  write("first.ptx", ptx("sm_75", {"one"}));
  StandIns all = read();
  EXPECT_FALSE(all.find({"two"}, 121));
  write("deeper/second.ptx", ptx("sm_75", {"two"}));
  ASSERT_TRUE(all.find({"two"}, 121));
  write("both.ptx", ptx("sm_75", {"one", "three"}));
  EXPECT_TRUE(all.find({"one", "three"}, 121)->missing.empty());
  write("first.ptx", ptx("sm_75", {"one"}) + "// again");
  EXPECT_TRUE(all.find({"one"}, 121)->text.ends_with("again"));
  EXPECT_EQ(all.files(), 3u);
}

// A compiler may be writing a file while it is looked at, and write it again.
TEST_F(StandInsTest, FilesThatGrowOrChangeAreReadAgain) {
  StandIns all = read();
  write("late.ptx", "");
  EXPECT_FALSE(all.find({"one"}, 121)) << "it is empty";
  write("late.ptx", ptx("sm_75", {"one"}));
  ASSERT_TRUE(all.find({"one"}, 121));
  write("late.ptx", ptx("sm_75", {"one", "two"}));
  EXPECT_TRUE(all.find({"one", "two"}, 121)->missing.empty());
  write("late.ptx", ptx("sm_75", {"another"}));
  EXPECT_FALSE(all.find({"two"}, 121)) << "it is not there any more";
  EXPECT_TRUE(all.find({"another"}, 121));
  EXPECT_EQ(all.files(), 1u);
}

TEST_F(StandInsTest, AFileThatHasGoneIsNothing) {
  write("one.ptx", ptx("sm_75", {"one"}));
  StandIns all = read();
  fs::remove(folder_ / "one.ptx");
  EXPECT_FALSE(all.find({"one"}, 121));
}

}  // namespace
}  // namespace vg::images
