#include "activity/recorder.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <new>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "activity/consumer.h"
#include "support/scratch.h"

namespace vg::activity {
namespace {

std::string contentOf(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

size_t occurrences(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size()) ++count;
  return count;
}

void tellOfKernel(const std::string& name) {
  Record record{};
  record.kind = RecordKind::Work;
  record.work = {};
  record.work.kind = WorkKind::Kernel;
  record.work.origin.stream = 1;
  record.work.begin = nextNumber();
  record.work.end = record.work.begin + 1;
  record.work.kernel = kernelFacts(name, 0, 0, 0);
  tell(record);
}

// Settings are read once in a process, so each case has one of its own. What the case answers is its exit status.
template <class Case>
int inProcess(const std::string& timeline, Case run) {
  const pid_t child = fork();
  if (!child) {
    setenv("VERDIGRIS_TIMELINE", timeline.c_str(), 1);
    start();
    std::exit(run());
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(Recorder, IsOffUnlessASettingAsksForIt) {
  EXPECT_FALSE(recording());
  tellOfKernel("nobody listens");  // and nothing happens
}

TEST(Recorder, NothingOfManyThreadsIsLost) {
  const std::string path = vg::test::scratchFile("threads.json");
  const std::string longName(300, 'k');  // not kept in place
  EXPECT_EQ(inProcess(path,
                      [&] {
                        std::vector<std::thread> threads;
                        for (int t = 0; t < 4; ++t)
                          threads.emplace_back([&] {
                            for (int i = 0; i < 5'000; ++i) tellOfKernel(i % 2 ? "short" : longName);
                          });
                        for (std::thread& thread : threads) thread.join();
                        finish();
                        return recording() ? 1 : 0;
                      }),
            0);
  const std::string text = contentOf(path);
  EXPECT_EQ(occurrences(text, "\"name\":\"short\""), 10'000u);
  EXPECT_EQ(occurrences(text, "\"name\":\"" + longName + "\""), 10'000u);
  EXPECT_EQ(text.substr(text.size() - 3), "\n]\n");
}

TEST(Recorder, ThreadsMayTellWhileTheProcessEnds) {
  const std::string path = vg::test::scratchFile("end.json");
  EXPECT_EQ(inProcess(path,
                      [] {
                        for (int t = 0; t < 2; ++t)
                          std::thread([] {
                            for (;;)
                              if (recording()) tellOfKernel("running");
                          }).detach();
                        usleep(20'000);
                        return 0;
                      }),
            0);
  const std::string text = contentOf(path);
  EXPECT_GT(occurrences(text, "running"), 0u);
  EXPECT_EQ(text.substr(text.size() - 3), "\n]\n");
}

// What has no memory for anything: each record that it is given, and each flush.
class WithoutMemory final : public Consumer {
 public:
  explicit WithoutMemory(std::atomic<uint64_t>& lost) : lost_(lost) {}
  void take(const Record&) override { throw std::bad_alloc(); }
  void lost(uint64_t records) override { lost_ += records; }
  void flush() override { throw std::bad_alloc(); }

 private:
  std::atomic<uint64_t>& lost_;
};

TEST(Recorder, AConsumerWithoutMemoryIsToldOfItsLossAndKeepsNobodyWaiting) {
  EXPECT_EQ(inProcess("",
                      [] {
                        static std::atomic<uint64_t> lost{0};
                        if (!add(std::make_unique<WithoutMemory>(lost))) return 1;
                        want(true);
                        for (int i = 0; i < 3; ++i) tellOfKernel("unseen");
                        passOn();  // returns
                        passOn();
                        return lost == 3 ? 0 : 2;
                      }),
            0);
}

TEST(Recorder, NamesOfKernelsHaveAnyLength) {
  const std::string path = vg::test::scratchFile("long.json");
  const std::string name = std::string(300'000, 'a') + '"' + std::string(1'000'000, 'b');
  EXPECT_EQ(inProcess(path,
                      [&] {
                        tellOfKernel("before");
                        tellOfKernel(name);
                        tellOfKernel(name);
                        tellOfKernel("behind");
                        return 0;
                      }),
            0);
  std::string text = contentOf(path);
  EXPECT_EQ(occurrences(text, std::string(300'000, 'a') + "\\\"" + std::string(1'000'000, 'b') + "\",\"pid\""), 2u);
  EXPECT_EQ(occurrences(text, "\"flow_in\"") + occurrences(text, "\"ph\":\"X\""), 4u);
  EXPECT_TRUE(text.ends_with("}\n]\n"));
  std::remove(path.c_str());
}

void tellOfRange(NoteKind kind, uint64_t id, const std::string& name) {
  Record record{};
  record.kind = RecordKind::Note;
  record.note = {};
  record.note.kind = kind;
  record.note.id = id;
  record.note.name.set(name);
  record.note.domain.set("");
  tell(record);
}

// As when one thread starts what another one ends, whose records are read first.
TEST(Recorder, AnEndThatComesBeforeItsStartHasItsName) {
  const std::string path = vg::test::scratchFile("ranges.json");
  EXPECT_EQ(inProcess(path,
                      [&] {
                        for (uint64_t id = 1; id <= 100'000; ++id) {  // more than are kept
                          tellOfRange(NoteKind::End, id, "");
                          tellOfRange(NoteKind::Start, id, "handed on");
                        }
                        tellOfRange(NoteKind::End, 200'000, "");  // of nothing
                        return 0;
                      }),
            0);
  const std::string text = contentOf(path);
  EXPECT_EQ(occurrences(text, "\"name\":\"handed on\""), 200'000u);
  EXPECT_EQ(occurrences(text, "\"ph\":\"b\""), 100'000u);
  EXPECT_EQ(occurrences(text, "\"ph\":\"e\""), 100'001u);
  EXPECT_LT(text.find("\"ph\":\"b\""), text.find("\"ph\":\"e\""));
  EXPECT_TRUE(text.ends_with("}\n]\n"));
  std::remove(path.c_str());
}

TEST(Recorder, AThreadThatOnlyLaunchesGivesTheOthersBack) {
  EXPECT_EQ(inProcess("",
                      [] {
                        static std::atomic<uint64_t> lost{0};
                        if (!add(std::make_unique<WithoutMemory>(lost))) return 1;
                        std::set<const Launch*> seen;
                        for (int i = 0; i < 100; ++i)
                          std::thread([&seen] {
                            Launch* const launch = takeLaunch();
                            seen.insert(launch);
                            drop(launch);
                          }).join();
                        return seen.size() <= 4 ? 0 : 2;
                      }),
            0);
}

// Until a thread of this process has another name than the first one.
void awaitNamedThread() {
  std::string first;
  std::getline(std::ifstream("/proc/self/comm"), first);
  for (;;)
    for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task")) {
      std::string name;
      if (std::getline(std::ifstream(thread.path() / "comm"), name) && name != first) return;
    }
}

TEST(Recorder, AForkedChildHasAFileOfItsOwnIfItStarts) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "the thread sanitizer ends children of fork that start threads";
#endif
  const std::string path = vg::test::scratchFile("fork.json");
  std::remove(path.c_str());
  EXPECT_EQ(inProcess(path,
                      [&] {
                        tellOfKernel("parent");
                        awaitNamedThread();  // what it was started with is no leak of the child's then
                        const pid_t child = fork();
                        if (!child) {
                          if (recording()) std::exit(1);
                          start();
                          tellOfKernel("child");
                          std::exit(recording() ? 0 : 2);
                        }
                        int status = 0;
                        waitpid(child, &status, 0);
                        const std::string own = path.substr(0, path.size() - 5) + "." + std::to_string(child) + ".json";
                        const std::string text = contentOf(own);
                        std::remove(own.c_str());
                        if (occurrences(text, "\"child\"") != 1 || occurrences(text, "parent")) return 3;
                        return status ? 4 : 0;
                      }),
            0);
  EXPECT_EQ(occurrences(contentOf(path), "\"name\":\"parent\""), 1u);
}

// Its exit status is 0 if what it tells is in its file while it lives.
[[noreturn]] void tellInChild(const std::string& path) {
  start();
  tellOfKernel("child");
  const std::string own = path.substr(0, path.size() - 5) + "." + std::to_string(getpid()) + ".json";
  bool seen = false;
  for (int i = 0; i < 5'000 && !seen; ++i, usleep(1'000)) seen = occurrences(contentOf(own), "\"child\"");
  std::remove(own.c_str());
  std::_Exit(seen ? 0 : 1);
}

TEST(Recorder, AChildForkedWhileTheThreadBeginsHasAThreadThatWrites) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "the thread sanitizer ends children of fork that start threads";
#endif
  const std::string path = vg::test::scratchFile("early.json");
  for (int delay = 0; delay < 400; delay += 10)  // microseconds
    ASSERT_EQ(inProcess(path,
                        [&] {
                          if (delay) usleep(static_cast<unsigned>(delay));
                          const pid_t child = fork();
                          if (!child) tellInChild(path);
                          int status = 0;
                          waitpid(child, &status, 0);
                          return status ? 1 : 0;
                        }),
              0)
        << delay;
}

}  // namespace
}  // namespace vg::activity
