#include "events.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

#include "evidence.h"

namespace suite {
namespace {

int pipe = -1;
bool leave = false;

void append(std::string& line, std::string_view word) {
  line += '\t';
  for (char c : word) line += c == '\t' || c == '\n' || c == '\r' ? ' ' : c;
}

std::string fullName(const testing::TestInfo& info) { return std::string(info.test_suite_name()) + "." + info.name(); }

class Reporter : public testing::EmptyTestEventListener {
  void OnTestStart(const testing::TestInfo& info) override { writeEvent("start", fullName(info)); }

  void OnTestPartResult(const testing::TestPartResult& part) override {
    if (part.skipped()) skipReason_ = part.message();
    if (!part.failed()) return;
    const std::string_view path = part.file_name() ? part.file_name() : "";
    const std::string file(path.substr(path.rfind('/') + 1));
    writeEvent("failure", file + ":" + std::to_string(part.line_number()) + ": " + part.message());
  }

  void OnTestEnd(const testing::TestInfo& info) override {
    const testing::TestResult& result = *info.result();
    const char* const outcome = result.Failed() ? "fail" : result.Skipped() ? "skip" : "pass";
    writeEvent("end", fullName(info), outcome, std::to_string(result.elapsed_time()), skipReason_);
    skipReason_.clear();
    if (leave) _exit(0);
  }

  std::string skipReason_;
};

}  // namespace

void writeEvent(std::string_view kind, std::string_view first, std::string_view second, std::string_view third,
                std::string_view fourth) {
  if (pipe < 0) return;
  std::string line(kind);
  for (std::string_view word : {first, second, third, fourth}) append(line, word);
  line += '\n';
  for (size_t done = 0; done < line.size();) {
    const ssize_t wrote = write(pipe, line.data() + done, line.size() - done);
    if (wrote <= 0) return;
    done += static_cast<size_t>(wrote);
  }
}

void leaveProcessAfterThisTest() { leave = true; }

int runTests(const std::vector<std::string>& tests, int eventPipe) {
  pipe = eventPipe;
  std::string filter;
  for (const std::string& test : tests) filter += (filter.empty() ? "" : ":") + test;
  testing::GTEST_FLAG(filter) = filter;
  testing::GTEST_FLAG(also_run_disabled_tests) = true;  // the list says which
  testing::TestEventListeners& listeners = testing::UnitTest::GetInstance()->listeners();
  if (pipe >= 0) delete listeners.Release(listeners.default_result_printer());
  listeners.Append(new Reporter);
  return RUN_ALL_TESTS();
}

}  // namespace suite
