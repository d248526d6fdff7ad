// What the kernel cache trusts: the code in it is run, so nothing but what the user's own processes wrote comes out.
#include "base/system/kernel_cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "base/log.h"

namespace vg {
namespace {

using Bytes = std::vector<uint8_t>;
constexpr KernelCache::Key kOne{1, 2}, kOther{3, 4};

class CacheTrust : public testing::Test {
 protected:
  void SetUp() override { ASSERT_NE(mkdtemp(folder_), nullptr); }
  void TearDown() override {
    chmod(folder_, 0700);
    std::filesystem::remove_all(folder_);
  }
  KernelCache cache() const { return KernelCache(folder_, 1 << 20); }
  std::vector<std::string> files() const {
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) found.push_back(entry.path());
    return found;
  }
  // Where the kernel of kOne is, after it was written.
  std::string file() const {
    cache().write(kOne, Bytes(300, 7));
    const auto all = files();
    return all.size() == 1 ? all[0] : "";
  }
  static std::string contentOf(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  static void put(const std::string& path, const std::string& content) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << content;
  }
  // The exit status of `act` in a process of its own; -1 when a signal ended it.
  template <class Act>
  static int inChild(Act act) {
    const pid_t child = fork();
    if (!child) _exit(act());
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  char folder_[40] = "/tmp/vg-trust-XXXXXX";
};

TEST_F(CacheTrust, AFileThatIsCutOffIsAMissAtEveryLength) {
  const std::string path = file(), whole = contentOf(path);
  ASSERT_FALSE(cache().read(kOne).empty());
  for (size_t length = 0; length < whole.size(); ++length) {
    put(path, whole.substr(0, length));
    ASSERT_TRUE(cache().read(kOne).empty()) << length << " bytes";
  }
  put(path, whole + "x");
  EXPECT_TRUE(cache().read(kOne).empty());
}

TEST_F(CacheTrust, AFileWithAChangedByteIsAMissWhereverItIs) {
  const std::string path = file(), whole = contentOf(path);
  for (size_t at = 0; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
    put(path, damaged);
    ASSERT_TRUE(cache().read(kOne).empty()) << "byte " << at;
  }
}

TEST_F(CacheTrust, AFileUnderAnothersNameIsAMiss) {
  const std::string one = file();
  cache().write(kOther, Bytes(300, 9));
  for (const std::string& path : files())
    if (path != one) {
      ASSERT_EQ(rename(one.c_str(), path.c_str()), 0);
    }
  EXPECT_TRUE(cache().read(kOther).empty());
}

TEST_F(CacheTrust, WhatIsNoPlainFileIsAMissAtOnce) {
  const std::string path = file(), elsewhere = std::string(folder_) + "/elsewhere";
  ASSERT_EQ(rename(path.c_str(), elsewhere.c_str()), 0);
  alarm(20);  // opening a FIFO waits for a writer
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  EXPECT_TRUE(cache().read(kOne).empty());
  unlink(path.c_str());
  ASSERT_EQ(symlink(elsewhere.c_str(), path.c_str()), 0);
  EXPECT_TRUE(cache().read(kOne).empty());
  unlink(path.c_str());
  ASSERT_EQ(mkdir(path.c_str(), 0700), 0);
  EXPECT_TRUE(cache().read(kOne).empty());
  rmdir(path.c_str());
  ASSERT_EQ(symlink("/dev/zero", path.c_str()), 0);
  EXPECT_TRUE(cache().read(kOne).empty());
  alarm(0);
}

TEST_F(CacheTrust, AFileThatOthersMayWriteIsAMiss) {
  const std::string path = file();
  for (const mode_t mode : {0620u, 0602u, 0666u}) {
    ASSERT_EQ(chmod(path.c_str(), mode), 0);
    EXPECT_TRUE(cache().read(kOne).empty()) << std::oct << mode;
  }
  ASSERT_EQ(chmod(path.c_str(), 0644), 0);
  EXPECT_FALSE(cache().read(kOne).empty());
}

TEST_F(CacheTrust, AFileOfAnotherUserIsAMiss) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  ASSERT_EQ(chown(file().c_str(), 65534, 65534), 0);
  EXPECT_TRUE(cache().read(kOne).empty());
}

// In a process of its own, as it is said once a process.
TEST_F(CacheTrust, AFolderThatOthersMayWriteIsNotUsedAndTheLogSaysSoOnce) {
  file();
  ASSERT_EQ(chmod(folder_, 0777), 0);
  const std::string log = std::string(folder_) + "/log";
  const int wrong = inChild([&] {
    log::open(log.c_str());
    const bool read = !cache().read(kOne).empty();
    cache().write(kOther, Bytes(10, 1));
    return read || !cache().read(kOther).empty();
  });
  EXPECT_EQ(wrong, 0);
  const std::string said = contentOf(log);
  EXPECT_NE(said.find("others may write to it"), std::string::npos) << said;
  EXPECT_EQ(said.find("is not used"), said.rfind("is not used")) << said;
  EXPECT_EQ(files().size(), 2u);  // the first kernel and the log
}

TEST_F(CacheTrust, AFolderOfAnotherUserIsNotUsed) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give folders away";
  file();
  ASSERT_EQ(chown(folder_, 65534, 65534), 0);
  EXPECT_TRUE(cache().read(kOne).empty());
  cache().write(kOther, Bytes(10, 1));
  EXPECT_EQ(files().size(), 1u);
}

TEST_F(CacheTrust, AFolderThatCannotBeWrittenIsReadAllTheSame) {
  if (geteuid() == 0) GTEST_SKIP() << "root may write everywhere";
  file();
  ASSERT_EQ(chmod(folder_, 0500), 0);
  cache().write(kOther, Bytes(10, 1));
  EXPECT_FALSE(cache().read(kOne).empty());
  EXPECT_EQ(files().size(), 1u);
}

// `ulimit -f`: the system would end the process. A limit in the middle of a file is a disk that fills up.
TEST_F(CacheTrust, ALimitOfTheSizeOfFilesIsNoHarm) {
  for (const rlim_t bytes : {rlim_t{0}, rlim_t{1}, rlim_t{100}}) {
    const int outcome = inChild([&] {
      const rlimit limit{bytes, bytes};
      signal(SIGXFSZ, SIG_DFL);
      setrlimit(RLIMIT_FSIZE, &limit);
      cache().write(kOne, Bytes(5000, 3));
      sigset_t pending;
      sigpending(&pending);
      return sigismember(&pending, SIGXFSZ);
    });
    EXPECT_EQ(outcome, 0) << bytes;
    EXPECT_TRUE(files().empty()) << bytes;
  }
}

TEST_F(CacheTrust, ProcessesThatWriteAtOnceLeaveAWholeFile) {
  std::vector<pid_t> children;
  for (uint8_t value = 1; value <= 3; ++value) {
    const pid_t child = fork();
    if (!child) {
      for (int round = 0; round < 100; ++round) cache().write(kOne, Bytes(1000u * value, value));
      _exit(0);
    }
    children.push_back(child);
  }
  for (int round = 0; round < 300; ++round)
    if (const Bytes got = cache().read(kOne); !got.empty()) {
      ASSERT_EQ(got, Bytes(1000u * got[0], got[0]));
    }
  for (const pid_t child : children) waitpid(child, nullptr, 0);
  EXPECT_FALSE(cache().read(kOne).empty());
  EXPECT_EQ(files().size(), 1u);
}

}  // namespace
}  // namespace vg
