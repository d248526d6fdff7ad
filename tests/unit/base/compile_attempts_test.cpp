// Who has to finish a compile, by how many processes were too short for it.
#include "base/system/compile_attempts.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace vg {
namespace {

constexpr KernelCache::Key kOne{1, 2}, kOther{3, 4};

class CompileAttempts : public testing::Test {
 protected:
  void SetUp() override { ASSERT_FALSE(cache_.folder().empty()); }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  // Numbers, from 1 on, of the attempts that owed the code, each let go of after `what`.
  template <class What>
  std::vector<int> owedOf(int attempts, What what, const KernelCache::Key& key = kOne) const {
    return owedOf(cache_, attempts, what, key);
  }
  template <class What>
  static std::vector<int> owedOf(const KernelCache& cache, int attempts, What what,
                                 const KernelCache::Key& key = kOne) {
    std::vector<int> owed;
    for (int n = 1; n <= attempts; ++n) {
      CompileAttempt attempt = CompileAttempt::begin(cache, key);
      if (attempt.owed()) owed.push_back(n);
      what(attempt);
    }
    return owed;
  }
  std::vector<std::filesystem::path> files() const {
    std::vector<std::filesystem::path> found;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) found.push_back(entry.path());
    return found;
  }

  static std::string freshFolder() {
    char folder[] = "/tmp/vg-attempts-XXXXXX";
    return mkdtemp(folder) ? folder : "";
  }
  const std::string folder_ = freshFolder();
  const KernelCache cache_{folder_, 1 << 20};
};

void nothing(CompileAttempt&) {}

TEST_F(CompileAttempts, OweTheCodeMoreAndMoreRarely) {
  EXPECT_EQ(owedOf(40, nothing), (std::vector<int>{3, 5, 9, 17, 33}));
  EXPECT_EQ(owedOf(4, nothing, kOther), (std::vector<int>{3}));
}

TEST_F(CompileAttempts, AreOverWhenTheCodeIsThere) {
  cache_.write(kOne, std::vector<uint8_t>(100));
  EXPECT_EQ(owedOf(3, [](CompileAttempt& one) { one.over(true); }), (std::vector<int>{}));
  EXPECT_EQ(owedOf(2, nothing), (std::vector<int>{}));
  EXPECT_EQ(owedOf(1, [](CompileAttempt& one) { one.over(true); }), (std::vector<int>{1}));
  EXPECT_EQ(files().size(), 1u) << "the code alone";
}

TEST_F(CompileAttempts, StopAfterThreeWaitsInVain) {
  EXPECT_EQ(owedOf(200, [](CompileAttempt& one) { one.waits(), one.waitedInVain(); }), (std::vector<int>{3, 5, 9}));
}

TEST_F(CompileAttempts, StopWhenThereIsNoCode) {
  EXPECT_EQ(owedOf(200, [](CompileAttempt& one) { one.over(false); }), (std::vector<int>{3}));
}

TEST_F(CompileAttempts, OweItAtOnceWhereNobodyComesToTheEnd) {
  std::vector<bool> atOnce;
  owedOf(20, [&](CompileAttempt& one) {
    if (one.owed()) atOnce.push_back(one.owedAtOnce());
  });
  EXPECT_EQ(atOnce, (std::vector<bool>{false, false, true, true}));
  atOnce.clear();
  owedOf(
      20,
      [&](CompileAttempt& one) {
        if (!one.owed()) return;
        atOnce.push_back(one.owedAtOnce());
        one.waits();
      },
      kOther);
  EXPECT_EQ(atOnce, (std::vector<bool>{false, false, false, false}));
}

TEST_F(CompileAttempts, AreOwedByOneProcessAtATime) {
  owedOf(2, nothing);
  const CompileAttempt third = CompileAttempt::begin(cache_, kOne);
  ASSERT_TRUE(third.owed());
  for (int n = 0; n < 3; ++n) {
    const pid_t child = fork();
    if (!child) _exit(CompileAttempt::begin(cache_, kOne).owed());
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
}

// A process that was killed owes nothing any more, also while nobody has asked for its end.
TEST_F(CompileAttempts, AreOwedByNobodyWhoHasEnded) {
  owedOf(2, nothing);
  const pid_t child = fork();
  if (!child) _exit(CompileAttempt::begin(cache_, kOne).owed() ? 0 : 1);
  siginfo_t info{};
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);
  EXPECT_EQ(info.si_status, 0);
  EXPECT_EQ(owedOf(2, nothing), (std::vector<int>{2}));
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
}

// An application may close what it does not know, and gets the same numbers for its own files.
TEST_F(CompileAttempts, HoldNoDescriptor) {
  const auto open = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), std::filesystem::directory_iterator());
  };
  const auto before = open();
  std::vector<CompileAttempt> attempts;
  for (int n = 0; n < 5; ++n) attempts.push_back(CompileAttempt::begin(cache_, kOne));
  EXPECT_TRUE(attempts[2].owed() && attempts[4].owed());
  EXPECT_EQ(open(), before);
}

TEST_F(CompileAttempts, StopWhereTheCacheCouldNotKeepTheCode) {
  EXPECT_EQ(owedOf(200,
                   [](CompileAttempt& one) {
                     if (one.owed()) one.over(true);
                   }),
            (std::vector<int>{3}));
  EXPECT_EQ(owedOf(
                200, [](CompileAttempt& one) { one.over(true); }, kOther),
            (std::vector<int>{}));
  const KernelCache small(folder_, 50);
  small.write(kOther, std::vector<uint8_t>(100));
  EXPECT_FALSE(small.holds(kOther));
}

TEST_F(CompileAttempts, AreNotCountedWhereNothingIsKept) {
  for (const char* const folder : {"", "/proc/no/such/place"})
    EXPECT_TRUE(owedOf(KernelCache(folder, 1 << 20), 10, nothing).empty()) << folder;
}

// Files of others, links and damage are no hindrance, and count nothing.
TEST_F(CompileAttempts, TrustOnlyTheirOwnFiles) {
  owedOf(2, nothing);
  const auto all = files();
  ASSERT_EQ(all.size(), 1u);
  ASSERT_EQ(chmod(all[0].c_str(), 0666), 0);
  EXPECT_TRUE(owedOf(3, nothing).empty());
  ASSERT_EQ(chmod(all[0].c_str(), 0600), 0);
  std::ofstream(all[0], std::ios::trunc) << "garbage";
  EXPECT_EQ(owedOf(3, nothing), (std::vector<int>{3}));
  std::filesystem::remove(all[0]);
  ASSERT_EQ(symlink("/etc/passwd", all[0].c_str()), 0);
  EXPECT_TRUE(owedOf(3, nothing).empty());
}

}  // namespace
}  // namespace vg
