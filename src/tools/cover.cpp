#include "tools/cover.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "base/settings.h"
#include "tools/cover/html.h"
#include "tools/cover/lcov.h"
#include "tools/cover/recorded.h"
#include "tools/cover/report.h"

namespace vg::tools {
namespace {

namespace fs = std::filesystem;

int fails(const std::string& what, const std::string& why) {
  std::fprintf(stderr, "verdigris cover: %s: %s\n", what.c_str(), why.c_str());
  return 2;
}

std::string dataFolder(const CoverOptions& options) { return options.folder + "/data"; }

// Absolute folders: sources are named so.
std::vector<std::string> foldersOf(const std::string& list) {
  std::vector<std::string> folders;
  for (const std::string& folder : splitList(list)) folders.push_back(fs::absolute(folder).lexically_normal());
  return folders;
}

// Only what earlier runs have left: the folder may be the user's own.
void forget(const CoverOptions& options) {
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(dataFolder(options), error))
    if (const std::string end = entry.path().extension(); end == ".ptx" || end == ".counts" || end == ".lock")
      fs::remove(entry.path(), error);
}

// As the shell says it.
int statusOf(int waited) { return WIFSIGNALED(waited) ? 128 + WTERMSIG(waited) : WEXITSTATUS(waited); }

// What the terminal sends to both is for the program.
int runAndWait(const RunOptions& run) {
  const auto interrupted = std::signal(SIGINT, SIG_IGN), quit = std::signal(SIGQUIT, SIG_IGN);
  const pid_t child = fork();
  if (child < 0) return fails("cannot start a process", std::strerror(errno));
  if (!child) {
    std::signal(SIGINT, interrupted);
    std::signal(SIGQUIT, quit);
    _exit(vg::tools::run(run));
  }
  int waited = 0;
  while (waitpid(child, &waited, 0) < 0 && errno == EINTR) {
  }
  return statusOf(waited);
}

double percent(size_t hit, size_t all) { return all ? 100.0 * static_cast<double>(hit) / static_cast<double>(all) : 0; }

void say(const cover::Report& report, const std::string& folder) {
  if (report.empty()) {
    std::fprintf(
        stderr,
        "verdigris cover: no kernel of an emulated device has run. The program must hold PTX and use a device: "
        "verdigris doctor PROGRAM\n");
    return;
  }
  const cover::Totals t = cover::totalsOf(report);
  std::fprintf(stderr,
               "verdigris cover: %.1f %% of %zu lines, %.1f %% of %zu ways of branches, %.1f %% of %zu functions: "
               "%s/index.html\n",
               percent(t.linesHit, t.lines), t.lines, percent(t.branchesHit, t.branches), t.branches,
               percent(t.functionsHit, t.functions), t.functions, folder.c_str());
}

int writeReports(const CoverOptions& options) {
  cover::Report report;
  const std::string data = dataFolder(options), ptx = fs::absolute(options.folder + "/ptx").lexically_normal();
  for (const cover::Recorded& program : cover::readFolder(data)) cover::addProgram(report, program, data, ptx);
  cover::filter(report, foldersOf(options.only), foldersOf(options.skip));
  std::ofstream info(options.folder + "/coverage.info", std::ios::binary | std::ios::trunc);
  info << cover::lcov(report);
  if (!info.flush() || !cover::writePages(report, options.folder)) {
    fails("cannot write to " + options.folder, std::strerror(errno));
    return 1;
  }
  say(report, options.folder);
  return 0;
}

}  // namespace

int runCovered(const CoverOptions& options, RunOptions run) {
  std::error_code error;
  fs::create_directories(dataFolder(options), error);
  if (error) return fails(dataFolder(options), error.message());
  if (options.anew) forget(options);
  if (run.program.empty()) return writeReports(options);
  run.coverage = fs::absolute(dataFolder(options)).lexically_normal();
  const int status = runAndWait(run);
  const int written = writeReports(options);
  return status ? status : written;
}

}  // namespace vg::tools
