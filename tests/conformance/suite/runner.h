// The parent's side of the suite: runs the chosen tests in child processes and collects a record.
//
// A device error is sticky for a whole process, and a driver may crash, so no test runs in the parent. Tests share a
// child until one crashes, hangs or leaves the device in error; tests of a suite whose name contains "Isolated" or
// "Fault" get a process each.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace suite {

struct Outcome {
  std::string test;                  // Suite.Name
  std::vector<std::string> rules;    // that it proves
  std::string result = "crash";      // pass, fail, skip or crash
  std::vector<std::string> differs;  // "ID: what the driver does instead"
  std::string detail;                // first failure, reason of the skip, signal of the crash
  long milliseconds = 0;
};

// Every test of the executable that `filter` (as --gtest_filter) selects, in order; disabled ones only when it says so.
std::vector<std::string> listTests(const std::string& filter);

struct RunOptions {
  std::string library = "libcuda.so.1";
  bool verbose = false;        // children's standard output is shown
  int secondsForOneTest = 30;  // after which its process is killed
  std::function<void(const Outcome&)> progress;
};

std::vector<Outcome> runInChildren(const std::vector<std::string>& tests, const RunOptions& options);

}  // namespace suite
