// conformance_suite: the rules of the memory module as tests against any libcuda.so.1.
//
//   conformance_suite [--library PATH] [--filter PATTERNS] [--record FILE] [--progress] [--verbose]
//   conformance_suite --list | --rules
//
// --library PATH     the library under test; without it the libcuda.so.1 that the loader finds
// --filter PATTERNS  as --gtest_filter: Suite.Name patterns with colons between them, then -patterns to leave out
// --record FILE      writes the results as tab-separated text ("-": standard output)
// --progress         a line for each test on standard error, not only for those that fail
// --timeout SECONDS  after which the process of a test that does not end is killed (30)
// --in-process       runs the tests in this process, for a debugger; no isolation, no record
// Exit status: 0 all passed or skipped, 1 some failed, 2 the library could not be used.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <iostream>
#include <sstream>

#include "events.h"
#include "library.h"
#include "record.h"
#include "rules.h"
#include "runner.h"

using namespace suite;

namespace {

struct Arguments {
  RunOptions run;
  std::string filter;
  std::string record;
  bool list = false, rules = false, progress = false, inProcess = false;
  int testsFile = -1, events = -1;
};

int usage() {
  fprintf(stderr,
          "usage: conformance_suite [--library PATH] [--filter PATTERNS] [--record FILE] [--progress] [--verbose]\n"
          "                         [--timeout SECONDS] [--in-process] | --list | --rules\n");
  return 2;
}

bool parse(int argc, char** argv, Arguments& arguments) {
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const int left = argc - i - 1;
    if (word == "--list")
      arguments.list = true;
    else if (word == "--rules")
      arguments.rules = true;
    else if (word == "--progress")
      arguments.progress = true;
    else if (word == "--verbose")
      arguments.run.verbose = true;
    else if (word == "--in-process")
      arguments.inProcess = true;
    else if (word == "--library" && left >= 1)
      arguments.run.library = argv[++i];
    else if (word == "--filter" && left >= 1)
      arguments.filter = argv[++i];
    else if (word == "--record" && left >= 1)
      arguments.record = argv[++i];
    else if (word == "--timeout" && left >= 1)
      arguments.run.secondsForOneTest = std::atoi(argv[++i]);
    else if (word == "--child" && left >= 2) {
      arguments.testsFile = std::atoi(argv[++i]);
      arguments.events = std::atoi(argv[++i]);
    } else {
      return false;
    }
  }
  return true;
}

std::vector<std::string> readTests(int file) {
  std::string text;  // by pread: /proc need not be there, and where the writer stopped does not matter
  char part[4096];
  for (ssize_t got; (got = pread(file, part, sizeof part, static_cast<off_t>(text.size()))) > 0;)
    text.append(part, static_cast<size_t>(got));
  std::istringstream in(text);
  std::vector<std::string> tests;
  for (std::string line; std::getline(in, line);) tests.push_back(line);
  return tests;
}

int runHere(const Arguments& arguments) {
  std::string error;
  if (!openLibrary(arguments.run.library, &error)) {
    fprintf(stderr, "%s\n", error.c_str());
    return 2;
  }
  if (arguments.inProcess) return runTests(listTests(arguments.filter), -1);
  return runTests(readTests(arguments.testsFile), arguments.events);
}

int runAll(Arguments& arguments) {
  Subject subject;
  std::string error;
  if (!describe(arguments.run.library, &subject, &error)) {
    fprintf(stderr, "%s\n", error.c_str());
    return 2;
  }
  const std::vector<std::string> tests = listTests(arguments.filter);
  size_t done = 0;
  arguments.run.progress = [&](const Outcome& outcome) {
    ++done;
    const bool good = outcome.result == "pass" || outcome.result == "skip";
    if (arguments.progress || !good)
      fprintf(stderr, "[%zu/%zu] %s %s (%ld ms)%s%s\n", done, tests.size(), outcome.result.c_str(),
              outcome.test.c_str(), outcome.milliseconds, outcome.detail.empty() ? "" : ": ", outcome.detail.c_str());
  };
  const std::vector<Outcome> outcomes = runInChildren(tests, arguments.run);
  if (arguments.record == "-") {
    writeRecord(std::cout, subject, outcomes);
  } else if (!arguments.record.empty()) {
    std::ofstream file(arguments.record);
    writeRecord(file, subject, outcomes);
    if (!file.flush()) {
      fprintf(stderr, "%s cannot be written\n", arguments.record.c_str());
      return 2;
    }
  }
  return summarise(subject, outcomes) ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  Arguments arguments;
  if (!parse(argc, argv, arguments)) return usage();
  if (arguments.rules) {
    for (size_t i = 0; i < kRuleCount; ++i)
      printf("%s\t%s\t%s\t%s\n", kRules[i].id, kRules[i].function, kRules[i].kind, kRules[i].text);
    return 0;
  }
  if (arguments.list) {
    for (const std::string& test : listTests(arguments.filter)) printf("%s\n", test.c_str());
    return 0;
  }
  if (arguments.events >= 0 || arguments.inProcess) return runHere(arguments);
  return runAll(arguments);
}
