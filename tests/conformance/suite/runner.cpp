#include "runner.h"

#include <fcntl.h>
#include <fnmatch.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <map>

namespace suite {
namespace {

bool ownProcess(const std::string& test) {
  const std::string group = test.substr(0, test.find('.'));
  return group.find("Isolated") != std::string::npos || group.find("Fault") != std::string::npos;
}

// Where /proc is not mounted, the name that this program was started by has to do.
const char* ownPath() {
  const char* const started = reinterpret_cast<const char*>(getauxval(AT_EXECFN));
  return access("/proc/self/exe", X_OK) && started ? started : "/proc/self/exe";
}

std::vector<std::string> split(const std::string& line, char separator) {
  std::vector<std::string> words(1);
  for (char c : line) {
    if (c == separator) {
      words.emplace_back();
    } else {
      words.back() += c;
    }
  }
  return words;
}

bool matchesOne(const std::string& patterns, const std::string& name) {
  for (const std::string& pattern : split(patterns, ':'))
    if (fnmatch(pattern.c_str(), name.c_str(), 0) == 0) return true;
  return false;
}

// As --gtest_filter reads it: patterns with colons between them, then those to leave out behind a '-'.
bool selects(const std::string& filter, const std::string& name) {
  const size_t dash = filter.find('-');
  const std::string wanted = filter.substr(0, dash);
  if (!wanted.empty() && !matchesOne(wanted, name)) return false;
  return dash == std::string::npos || !matchesOne(filter.substr(dash + 1), name);
}

// One process that runs some tests: its pipe of events and what they said so far.
class Child {
 public:
  Child(const std::vector<std::string>& tests, const RunOptions& options) : options_(options) {
    const int names = memfd_create("tests", 0);
    std::string text;
    for (const std::string& test : tests) text += test + '\n';
    if (write(names, text.data(), text.size()) < 0) perror("write");
    int ends[2];
    if (pipe(ends) != 0) perror("pipe");
    fcntl(ends[0], F_SETFD, FD_CLOEXEC);
    process_ = fork();
    if (process_ == 0) become(names, ends[1]);
    close(names);
    close(ends[1]);
    events_ = ends[0];
  }
  Child(const Child&) = delete;
  ~Child() { close(events_); }

  // The outcomes of the tests that ran, a crashed or hung one last.
  std::vector<Outcome> run() {
    std::string pending;
    char buffer[4096];
    while (waitForEvents()) {
      const ssize_t got = read(events_, buffer, sizeof buffer);
      if (got <= 0) break;
      pending.append(buffer, static_cast<size_t>(got));
      for (size_t end; (end = pending.find('\n')) != std::string::npos; pending.erase(0, end + 1))
        handle(split(pending.substr(0, end), '\t'));
    }
    finish();
    return std::move(outcomes_);
  }

 private:
  [[noreturn]] void become(int names, int events) {
    if (!options_.verbose) dup2(open("/dev/null", O_WRONLY), STDOUT_FILENO);
    const std::string namesText = std::to_string(names), eventsText = std::to_string(events);
    execl(ownPath(), "conformance_suite", "--library", options_.library.c_str(), "--child", namesText.c_str(),
          eventsText.c_str(), nullptr);
    _exit(127);
  }

  // False when the time of one test is over: then the process has been killed.
  bool waitForEvents() {
    struct pollfd poller = {events_, POLLIN, 0};
    if (poll(&poller, 1, options_.secondsForOneTest * 1000) != 0) return true;
    timedOut_ = true;
    kill(process_, SIGKILL);
    return false;
  }

  void handle(const std::vector<std::string>& words) {
    if (words[0] == "start") {
      current_ = Outcome{};
      current_.test = words[1];
    } else if (words[0] == "rule") {
      current_.rules.push_back(words[1]);
    } else if (words[0] == "differs") {
      current_.differs.push_back(words[1] + ": " + words[2]);
    } else if (words[0] == "failure" && current_.detail.empty()) {
      current_.detail = words[1];
    } else if (words[0] == "end") {
      current_.result = words[2];
      current_.milliseconds = std::stol(words[3]);
      if (current_.result == "skip") current_.detail = words[4];
      keep();
    }
  }

  void keep() {
    if (options_.progress) options_.progress(current_);
    outcomes_.push_back(current_);
    current_ = Outcome{};
  }

  void finish() {
    int status = 0;
    waitpid(process_, &status, 0);
    if (current_.test.empty()) return;
    std::string end = "the process ended with status " + std::to_string(WEXITSTATUS(status));
    if (WIFSIGNALED(status)) end = std::string("ended by ") + strsignal(WTERMSIG(status));
    if (timedOut_) end = "did not end in " + std::to_string(options_.secondsForOneTest) + " s";
    current_.detail = current_.detail.empty() ? end : end + "; before: " + current_.detail;
    keep();
  }

  const RunOptions& options_;
  pid_t process_ = -1;
  int events_ = -1;
  bool timedOut_ = false;
  Outcome current_;
  std::vector<Outcome> outcomes_;
};

// Runs a list of tests that may share a process, with as many processes as crashes make necessary.
void runShared(std::vector<std::string> tests, const RunOptions& options, std::vector<Outcome>& outcomes) {
  while (!tests.empty()) {
    std::vector<Outcome> ran = Child(tests, options).run();
    if (ran.empty()) {  // it did not even start: none of these will
      Outcome lost;
      lost.test = tests.front();
      lost.detail = "the test process did not start";
      if (options.progress) options.progress(lost);
      ran.push_back(lost);
    }
    for (const Outcome& outcome : ran) std::erase(tests, outcome.test);
    outcomes.insert(outcomes.end(), ran.begin(), ran.end());
  }
}

}  // namespace

std::vector<std::string> listTests(const std::string& filter) {
  std::vector<std::string> tests;
  const testing::UnitTest& all = *testing::UnitTest::GetInstance();
  for (int i = 0; i < all.total_test_suite_count(); ++i) {
    const testing::TestSuite& group = *all.GetTestSuite(i);
    for (int j = 0; j < group.total_test_count(); ++j) {
      const std::string name = std::string(group.name()) + "." + group.GetTestInfo(j)->name();
      const bool disabled =
          name.find("DISABLED_") != std::string::npos && filter.find("DISABLED_") == std::string::npos;
      if (!disabled && selects(filter, name)) tests.push_back(name);
    }
  }
  return tests;
}

std::vector<Outcome> runInChildren(const std::vector<std::string>& tests, const RunOptions& options) {
  std::vector<Outcome> outcomes;
  std::vector<std::string> shared;
  for (const std::string& test : tests)
    if (!ownProcess(test)) shared.push_back(test);
  runShared(shared, options, outcomes);
  for (const std::string& test : tests)
    if (ownProcess(test)) runShared({test}, options, outcomes);
  std::map<std::string, size_t> place;
  for (const std::string& test : tests) place.emplace(test, place.size());
  std::sort(outcomes.begin(), outcomes.end(),
            [&](const Outcome& a, const Outcome& b) { return place[a.test] < place[b.test]; });
  return outcomes;
}

}  // namespace suite
