#include "activity/recorder.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <new>
#include <random>
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

// Keeps what comes of one thread each.
class Keeper final : public Consumer {
 public:
  void take(const Record& record) override {
    if (record.kind == RecordKind::Call) calls[record.call.thread].push_back(record.call);
    if (record.kind == RecordKind::Work) launches[record.work.origin.thread].push_back(record.work);
  }
  std::map<uint32_t, std::vector<Call>> calls;
  std::map<uint32_t, std::vector<Work>> launches;
};

CallDescription oneCall() { return {"one", "(a, b)", nullptr, nullptr, 2, false}; }
CallDescription otherCall() { return {"other", "(a)", nullptr, nullptr, 1, false}; }

Call someCall(uint32_t thread, std::minstd_rand& random) {
  Call call;
  std::memset(&call, static_cast<int>(random()), sizeof call);  // as on a stack
  call.describe = random() % 2 ? oneCall : otherCall;
  call.count = call.describe == oneCall ? 2 : 1;
  for (unsigned i = 0; i < call.count; ++i) call.arguments[i] = random() % 2;
  call.correlation = random();
  call.begin = random();
  call.end = call.begin + (random() % 50 ? random() % 1000 : uint64_t{1} << 33);
  call.result = random() % 20 == 0;
  call.thread = thread;
  call.submitted = random() % 10 != 0;
  return call;
}

Launch someLaunch(uint32_t thread, std::minstd_rand& random) {
  static const KernelFacts kKernels[3] = {{"a", 1, 0, 0}, {"b", 1, 0, 0}, {"c", 1, 0, 0}};
  Launch launch{};
  launch.begin = random();
  launch.end = launch.begin + (random() % 50 ? random() % 1000 : uint64_t{1} << 33);
  launch.id = random();
  launch.origin.correlation = random();
  launch.origin.outer = random() % 2;
  launch.origin.submitted = launch.begin - random() % 100;
  launch.origin.stream = random() % 2;
  launch.origin.thread = thread;
  launch.kernel = &kKernels[random() % 3];
  launch.grid[0] = random() % 2;
  launch.dynamicShared = random() % 10 == 0;
  launch.cooperative = random() % 10 == 0;
  return launch;
}

bool same(const Call& a, const Call& b) {
  return a.describe == b.describe && a.correlation == b.correlation && a.begin == b.begin && a.end == b.end &&
         a.result == b.result && a.count == b.count && a.submitted == b.submitted &&
         std::equal(a.arguments, a.arguments + a.count, b.arguments);
}
bool same(const Launch& a, const Work& b) {
  return a.begin == b.begin && a.end == b.end && a.id == b.id && a.origin.correlation == b.origin.correlation &&
         a.origin.outer == b.origin.outer && a.origin.submitted == b.origin.submitted &&
         a.origin.stream == b.origin.stream && a.kernel == b.kernel && a.grid[0] == b.grid[0] &&
         a.dynamicShared == b.dynamicShared && a.cooperative == b.cooperative;
}

// Most say what one before them said, which is told in short: in any order, more than fit a chunk.
TEST(Recorder, CallsAndLaunchesThatRepeatThemselvesComeAsTheyWereTold) {
  EXPECT_EQ(inProcess("",
                      [] {
                        auto made = std::make_unique<Keeper>();
                        Keeper& kept = *made;
                        if (!add(std::move(made))) return 1;
                        want(true);
                        constexpr uint32_t kThreads = 3, kEach = 5'000;
                        std::vector<Call> calls[kThreads];
                        std::vector<Launch> launches[kThreads];
                        std::vector<std::thread> threads;
                        for (uint32_t t = 0; t < kThreads; ++t)
                          threads.emplace_back([&, t] {
                            std::minstd_rand random(t + 1);
                            for (uint32_t i = 0; i < kEach; ++i) {
                              tell(calls[t].emplace_back(someCall(t, random)));
                              Launch* const launch = takeLaunch();
                              *launch = launches[t].emplace_back(someLaunch(t, random));
                              tell(launch);
                            }
                          });
                        for (std::thread& thread : threads) thread.join();
                        passOn();
                        for (uint32_t t = 0; t < kThreads; ++t) {
                          if (kept.calls[t].size() != kEach || kept.launches[t].size() != kEach) return 2;
                          for (uint32_t i = 0; i < kEach; ++i)
                            if (!same(calls[t][i], kept.calls[t][i]) || !same(launches[t][i], kept.launches[t][i]))
                              return 3;
                        }
                        return 0;
                      }),
            0);
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
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "a sanitizer's threads and locks are not ready for fork beside other threads";
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
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "a sanitizer's threads and locks are not ready for fork beside other threads";
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
