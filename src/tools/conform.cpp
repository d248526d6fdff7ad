#include "tools/conform.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <vector>

#include "tools/common/installation.h"
#include "tools/conform/html.h"
#include "tools/conform/record.h"
#include "tools/conform/report.h"

namespace vg::tools {
namespace {

namespace fs = std::filesystem;

// A folder that goes away with the command.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::string name = (fs::temp_directory_path() / "verdigris-conform-XXXXXX").string();
    if (mkdtemp(name.data())) path_ = name;
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ~ScratchFolder() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  std::string file(const char* name) const { return path_ + "/" + name; }
  bool made() const { return !path_.empty(); }

 private:
  std::string path_;
};

// Beside the command in a build folder, with the libraries in an installation.
std::string suiteOf(const ConformOptions& options) {
  const std::string beside = ownFolder() + "/conformance_suite";
  return fileExists(beside) ? beside : findInstallation(options.libraryFolder).suite();
}

// "[12/400] pass Suite.Name (3 ms): detail" as it comes; on a terminal one line that changes, and failures that stay.
class Progress {
 public:
  void take(const std::string& line) {
    const bool isTest = !line.empty() && line[0] == '[';
    const bool good = line.find("] pass ") != std::string::npos || line.find("] skip ") != std::string::npos;
    if (terminal_) fprintf(stderr, "\r\033[K");
    if (isTest && good) {
      if (terminal_) fprintf(stderr, "%.*s", 78, line.c_str());
    } else if (isTest || terminal_) {
      fprintf(stderr, "%.*s\n", 400, line.c_str());
    }
    last_ = line;
  }
  void end() const {
    if (terminal_) fprintf(stderr, "\r\033[K");
  }
  const std::string& last() const { return last_; }

 private:
  const bool terminal_ = isatty(STDERR_FILENO) != 0;
  std::string last_;
};

// Runs a command whose standard error goes to `progress`, its output to `output`; its exit status, 127 when it cannot
// run.
int runCommand(const std::vector<std::string>& words, const std::string& output, Progress& progress) {
  int ends[2];
  if (pipe(ends) != 0) return 127;
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDERR_FILENO);
    close(ends[0]);
    if (!freopen(output.c_str(), "w", stdout)) _exit(127);
    std::vector<char*> arguments;
    arguments.reserve(words.size() + 1);
    for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    execv(arguments[0], arguments.data());
    _exit(127);
  }
  close(ends[1]);
  FILE* const lines = fdopen(ends[0], "r");
  std::string line;
  for (int c; (c = fgetc(lines)) != EOF;) {
    if (c != '\n') {
      line += static_cast<char>(c);
    } else {
      progress.take(line);
      line.clear();
    }
  }
  fclose(lines);
  progress.end();
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 127;
}

int unusable(const std::string& why) {
  fprintf(stderr, "verdigris conform: %s\n", why.c_str());
  return 2;
}

std::string libraryOf(const ConformOptions& options) {
  if (!options.library.empty()) return options.library;
  const Installation installation = findInstallation(options.libraryFolder);
  return installation.libraryFolder.empty() ? "libcuda.so.1" : installation.library();
}

// Tests that crashed before they named a rule: no rule tells of them.
size_t countLost(const ConformRecord& record) {
  return static_cast<size_t>(std::count_if(record.tests.begin(), record.tests.end(), [](const TestResult& test) {
    return test.result == "crash" && test.rules.empty();
  }));
}

bool writeFile(const std::string& path, const std::string& text) {
  std::ofstream file(path);
  file << text;
  return static_cast<bool>(file.flush());
}

}  // namespace

int conform(const ConformOptions& options) {
  const std::string suite = suiteOf(options);
  if (!fileExists(suite)) return unusable("the suite is not installed: no " + suite);
  ConformRecord there;
  if (!options.compare.empty() && (there = readRecord(options.compare)).tests.empty())
    return unusable("--compare " + options.compare + ": this is no record of the suite");
  const ScratchFolder scratch;
  if (!scratch.made()) return unusable("no temporary folder can be made");

  Progress progress;
  const std::string record = options.record.empty() ? scratch.file("record") : options.record;
  std::vector<std::string> command = {suite, "--library", libraryOf(options), "--record", record, "--progress"};
  if (!options.filter.empty()) command.insert(command.end(), {"--filter", options.filter});
  if (runCommand(command, "/dev/null", progress) > 1) return unusable(progress.last());
  if (runCommand({suite, "--rules"}, scratch.file("rules"), progress) != 0) return unusable(progress.last());

  ConformRecord here = readRecord(record);
  if (here.tests.empty())
    return unusable(options.filter.empty() ? "the suite ran no test"
                                           : "--filter " + options.filter + ": no test has such a name");
  const size_t lost = countLost(here);
  if (lost == here.tests.size()) return unusable("no test could run: " + here.tests.front().detail);
  const ConformReport report =
      makeReport(parseRules(readCells(scratch.file("rules"))), std::move(here), there, !options.compare.empty());
  printf("%s, driver %s", report.here.device.c_str(), report.here.driver.c_str());
  if (report.compares) printf("; compared with %s, driver %s", there.device.c_str(), there.driver.c_str());
  printf("\n\n");
  printReport(report);
  if (lost) printf("\n%zu tests crashed before they named a rule.\n", lost);
  if (!options.html.empty() && !writeFile(options.html, htmlOf(report)))
    return unusable("--html " + options.html + ": the file cannot be written");
  return report.count(RuleState::Differs) || lost ? 1 : 0;
}

}  // namespace vg::tools
