// Processes that join the board, end, are killed, and find files there that are not theirs. This program starts itself
// in other roles, since settings are read once in a process.
#include "base/system/process_board.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

using namespace vg;
namespace fs = std::filesystem;

namespace {

void say(const std::string& line) {
  std::puts(line.c_str());
  std::fflush(stdout);
}

// Shows a number; "set N" on standard input changes it, "fork" leaves a child behind, the end of the input ends it.
int hold(int number) {
  std::byte* const entry = board::takeEntry();
  if (!entry) return 3;
  std::memcpy(entry, &number, sizeof number);
  board::join();
  say("ready");
  char line[64];
  while (std::fgets(line, sizeof line, stdin)) {
    if (!std::strncmp(line, "set ", 4)) {
      number = std::atoi(line + 4);
      std::memcpy(entry, &number, sizeof number);
    }
    if (!std::strncmp(line, "fork", 4)) {
      const pid_t child = fork();
      if (!child) {
        for (int i = 0; i < 3; ++i) close(i);
        for (;;) pause();
      }
      say(std::to_string(child));
      continue;
    }
    say("done");
  }
  board::leave();
  int kept = 0;
  std::memcpy(&kept, entry, sizeof kept);
  return kept == number ? 0 : 4;
}

// Children that join; they are killed when the input ends.
int crowd(int count) {
  std::vector<pid_t> children;
  for (int i = 0; i < count; ++i) {
    int joined[2];
    if (pipe(joined)) return 3;
    const pid_t child = fork();
    if (!child) {
      board::takeEntry();
      board::join();
      close(joined[1]);
      for (;;) pause();
    }
    close(joined[1]);
    char none;
    while (read(joined[0], &none, 1) > 0) {  // until the child has closed its end
    }
    close(joined[0]);
    children.push_back(child);
  }
  say("ready");
  while (std::getchar() != EOF) {
  }
  for (const pid_t child : children) kill(child, SIGKILL);
  for (const pid_t child : children) waitpid(child, nullptr, 0);
  return 0;
}

int tellOthers() {
  std::vector<int> numbers;
  board::readOthers([&](pid_t, board::Entries entries) {
    int number = 0;
    std::memcpy(&number, entries.data(), sizeof number);
    numbers.push_back(number);
  });
  std::sort(numbers.begin(), numbers.end());
  std::string line;
  for (const int number : numbers) line += std::to_string(number) + " ";
  say(line);
  return 0;
}

int playRole(int argc, char** argv) {
  const std::string role = argv[1];
  if (role == "hold") return hold(argc > 2 ? std::atoi(argv[2]) : 0);
  if (role == "crowd") return crowd(argc > 2 ? std::atoi(argv[2]) : 0);
  if (role == "read") return tellOthers();
  if (role == "path") return say(board::filePath()), 0;
  return 2;
}

class Process {
 public:
  Process(const std::string& folder, std::vector<std::string> arguments) {
    int in[2], out[2];
    if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC)) return;
    pid_ = fork();
    if (!pid_) {
      dup2(in[0], 0);
      dup2(out[1], 1);
      setenv("VERDIGRIS_SHARED_STATE", folder.c_str(), 1);
      std::string self = "/proc/self/exe";
      std::vector<char*> words = {self.data()};
      for (std::string& word : arguments) words.push_back(word.data());
      words.push_back(nullptr);
      execv(self.c_str(), words.data());
      _exit(9);
    }
    close(in[0]);
    close(out[1]);
    in_ = fdopen(in[1], "w");
    out_ = fdopen(out[0], "r");
  }
  ~Process() { end(); }
  Process(const Process&) = delete;

  pid_t pid() const { return pid_; }
  std::string line() {
    char text[4096] = "";
    if (!std::fgets(text, sizeof text, out_)) return "(end)";
    text[std::strcspn(text, "\n")] = 0;
    return text;
  }
  std::string ask(const char* line) {
    std::fprintf(in_, "%s\n", line);
    std::fflush(in_);
    return this->line();
  }
  // Its exit status; -signal when one ended it.
  int end() {
    if (!pid_) return status_;
    std::fclose(in_);
    int status = 0;
    waitpid(pid_, &status, 0);
    std::fclose(out_);
    pid_ = 0;
    return status_ = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }
  int kill() {
    ::kill(pid_, SIGKILL);
    return end();
  }

 private:
  pid_t pid_ = 0;
  int status_ = 0;
  std::FILE *in_ = nullptr, *out_ = nullptr;
};

class Board : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/verdigris-board-XXXXXX";
    folder_ = mkdtemp(name);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string path() { return Process(folder_, {"path"}).line(); }
  std::string others() { return Process(folder_, {"read"}).line(); }
  bool isEmpty() { return fs::is_empty(folder_); }
  // A process that holds 7 comes and goes whatever is there.
  void expectHarmless(const std::string& what) {
    Process process(folder_, {"hold", "7"});
    EXPECT_EQ(process.line(), "ready") << what;
    EXPECT_EQ(process.end(), 0) << what;
  }

  std::string folder_;
};

TEST_F(Board, OthersSeeWhatAProcessWritesAlsoLater) {
  Process first(folder_, {"hold", "5"}), second(folder_, {"hold", "6"});
  ASSERT_EQ(first.line(), "ready");
  ASSERT_EQ(second.line(), "ready");
  EXPECT_EQ(others(), "5 6 ");
  EXPECT_EQ(first.ask("set 50"), "done");
  EXPECT_EQ(others(), "6 50 ");
  struct stat status;
  ASSERT_EQ(stat(path().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0600u);
  EXPECT_EQ(first.end(), 0);
  EXPECT_EQ(others(), "6 ");
  EXPECT_EQ(second.end(), 0);
  EXPECT_TRUE(isEmpty());
}

TEST_F(Board, NothingIsLeftOfKilledProcesses) {
  Process killed(folder_, {"hold", "5"}), lives(folder_, {"hold", "6"});
  ASSERT_EQ(killed.line(), "ready");
  ASSERT_EQ(lives.line(), "ready");
  EXPECT_EQ(killed.kill(), -SIGKILL);
  EXPECT_EQ(others(), "6 ");
  EXPECT_EQ(lives.kill(), -SIGKILL);
  EXPECT_FALSE(isEmpty());
  EXPECT_EQ(others(), "");
  EXPECT_TRUE(isEmpty());
}

TEST_F(Board, AChildThatOutlivesItsParentIsNotItsParent) {
  Process parent(folder_, {"hold", "5"});
  ASSERT_EQ(parent.line(), "ready");
  const pid_t child = std::atoi(parent.ask("fork").c_str());
  ASSERT_GT(child, 0);
  EXPECT_EQ(parent.kill(), -SIGKILL);
  EXPECT_EQ(others(), "");
  kill(child, SIGKILL);
}

TEST_F(Board, AFullBoardIsHarmlessAndPlacesOfTheDeadAreTakenAgain) {
  {
    Process crowd(folder_, {"crowd", "256"});
    ASSERT_EQ(crowd.line(), "ready");
    expectHarmless("a full board");
    const std::string seen = others();
    EXPECT_EQ(std::count(seen.begin(), seen.end(), ' '), 256);
    EXPECT_EQ(crowd.end(), 0);  // all are killed
  }
  Process last(folder_, {"hold", "5"});
  ASSERT_EQ(last.line(), "ready");
  EXPECT_EQ(others(), "5 ");
}

TEST_F(Board, FilesThatAreNotTheUsersOwnAreNotUsed) {
  const std::string file = path(), other = folder_ + "/other";
  const auto make = [](const std::string& name, mode_t mode) {
    std::ofstream(name) << "precious";
    return !chmod(name.c_str(), mode);
  };
  struct {
    const char* what;
    std::function<bool()> prepare;
  } const cases[] = {
      {"a link", [&] { return make(other, 0600) && !symlink(other.c_str(), file.c_str()); }},
      {"a link to nothing", [&] { return !symlink("/tmp/verdigris-none", file.c_str()); }},
      {"a pipe", [&] { return !mkfifo(file.c_str(), 0600); }},
      {"a folder", [&] { return !mkdir(file.c_str(), 0700); }},
      {"a file that others may write to", [&] { return make(file, 0666); }},
      {"a file that others may read", [&] { return make(file, 0640); }},
      {"a file with two names", [&] { return make(other, 0600) && !link(other.c_str(), file.c_str()); }},
      {"a file of another size", [&] { return make(file, 0600); }},
      {"a file of somebody else",  // only root can make one
       [&] { return make(file, 0600) && !truncate(file.c_str(), 0) && (geteuid() || !chown(file.c_str(), 12345, 0)); }},
  };
  for (const auto& one : cases) {
    if (geteuid() && one.what == std::string("a file of somebody else")) continue;
    SCOPED_TRACE(one.what);
    ASSERT_TRUE(one.prepare());
    struct stat before, after;
    ASSERT_EQ(lstat(file.c_str(), &before), 0);
    {
      Process process(folder_, {"hold", "7"});
      EXPECT_EQ(process.line(), "ready");
      EXPECT_EQ(others(), "");
      EXPECT_EQ(process.end(), 0);
    }
    ASSERT_EQ(lstat(file.c_str(), &after), 0);
    EXPECT_EQ(after.st_size, before.st_size);
    EXPECT_EQ(after.st_ino, before.st_ino);
    if (fs::exists(other)) {
      EXPECT_EQ(fs::file_size(other), 8u);
    }
    fs::remove_all(file);
    fs::remove_all(other);
  }
  EXPECT_FALSE(fs::exists("/tmp/verdigris-none"));
}

TEST_F(Board, NonsenseInTheFileIsHarmless) {
  const std::string file = path();
  Process measure(folder_, {"hold", "1"});
  ASSERT_EQ(measure.line(), "ready");
  const auto size = fs::file_size(file);
  std::string header(4096, '\0');
  std::ifstream(file, std::ios::binary).read(header.data(), 4096);
  measure.end();
  for (const bool withMagic : {false, true}) {
    std::string nonsense(4096, '\0');
    for (size_t i = 0; i < nonsense.size(); ++i) nonsense[i] = static_cast<char>(i * 2654435761u >> 13);
    if (withMagic) nonsense.replace(0, 8, header.substr(0, 8));
    std::ofstream(file, std::ios::binary) << nonsense;
    chmod(file.c_str(), 0600);
    fs::resize_file(file, size);
    Process process(folder_, {"hold", "7"});
    ASSERT_EQ(process.line(), "ready");
    EXPECT_NE(others().find("7 "), std::string::npos) << withMagic;
    EXPECT_EQ(process.end(), 0);
    fs::remove(file);
  }
}

TEST_F(Board, AProcessThatWasStoppedWithTheLockIsNotWaitedFor) {
  const std::string file = path();
  const int held = open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  ASSERT_GE(held, 0);
  ASSERT_EQ(flock(held, LOCK_EX), 0);
  expectHarmless("a lock");
  close(held);
}

TEST_F(Board, WithoutAFolderOrRoomProcessesRunAsWell) {
  const std::string own = folder_;
  for (const std::string& nowhere :
       {own + "/none", std::string("/proc"), std::string("/dev/null"), std::string("off"), std::string("")}) {
    folder_ = nowhere;
    expectHarmless(nowhere);
    EXPECT_EQ(others(), "") << nowhere;
  }
  folder_ = own;
#ifndef __SANITIZE_THREAD__  // which writes a file of its own when a program starts
  rlimit before, none{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  none.rlim_max = before.rlim_max;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &none), 0);
  expectHarmless("ulimit -f 0");
  setrlimit(RLIMIT_FSIZE, &before);
#endif
}

TEST_F(Board, AFullFolderIsHarmless) {
  if (mount("none", folder_.c_str(), "tmpfs", 0, "size=12k")) GTEST_SKIP() << "no tmpfs can be mounted";
  expectHarmless("12 KiB");
  Process process(folder_, {"hold", "7"});
  EXPECT_EQ(process.line(), "ready");
  EXPECT_EQ(process.ask("set 8"), "done");
  EXPECT_EQ(process.end(), 0);
  umount(folder_.c_str());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && argv[1][0] != '-') return playRole(argc, argv);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
