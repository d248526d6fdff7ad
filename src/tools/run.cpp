#include "tools/run.h"

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "base/log.h"
#include "base/settings.h"
#include "check/tools.h"
#include "record/writer.h"
#include "tools/common/capabilities.h"
#include "tools/common/driver.h"
#include "tools/common/installation.h"

namespace vg::tools {

namespace {

bool isCapability(const std::string& text) {
  const size_t dot = text.find('.');
  if (dot == 0 || dot == std::string::npos || dot + 2 != text.size()) return false;
  for (size_t i = 0; i < text.size(); ++i)
    if (i != dot && !std::isdigit(static_cast<unsigned char>(text[i]))) return false;
  return true;
}

// Half of what a process can address.
constexpr unsigned long long kMostMemory = 64ull << 40;
bool isMemory(const std::string& text) {
  const unsigned long long bytes = parseBytes(text);
  return bytes && bytes <= kMostMemory;
}

bool isExitStatus(const std::string& text) {
  return text.size() <= 3 && text.find_first_not_of("0123456789") == std::string::npos && std::stoi(text) < 256;
}

// Every item of a comma list, one for each device.
template <class Test>
bool eachItem(const std::string& text, Test test) {
  for (const std::string& item : splitList(text))
    if (!test(item)) return false;
  return true;
}

bool isFolder(const std::string& path) {
  std::error_code error;
  return std::filesystem::is_directory(path, error);
}

// Why a file cannot be made or written; "" when it can.
std::string unwritable(const std::string& path) {
  if (isFolder(path)) return "it is a folder";
  if (fileExists(path)) return access(path.c_str(), W_OK) ? std::strerror(errno) : "";
  const size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : slash ? path.substr(0, slash) : "/";
  if (!isFolder(folder)) return "there is no folder " + folder;
  return access(folder.c_str(), W_OK) ? "the folder " + folder + " cannot be written to" : "";
}

bool isSpecial(const std::string& path) {
  struct stat found;
  return !stat(path.c_str(), &found) && !S_ISREG(found.st_mode);
}

// Before the program starts: nobody wants to run it again for its timeline.
bool checkFiles(const RunOptions& options) {
  for (const auto& [option, path] : {std::pair{"--timeline", options.timeline},
                                     {"--html", options.page},
                                     {"--report", options.report},
                                     {"--output", options.recording},
                                     {"--trace-file", options.trace.value_or("")}}) {
    std::string reason = path.empty() ? "" : unwritable(path);
    if (reason.empty() && path == options.recording && isSpecial(path)) reason = "it is not a regular file";
    if (reason.empty()) continue;
    std::fprintf(stderr, "verdigris %s: %s %s: %s\n", options.command.c_str(), option, path.c_str(), reason.c_str());
    return false;
  }
  return true;
}

bool checkOptions(const RunOptions& options) {
  const auto refuse = [&options](const char* option, const std::string& value, const std::string& expected) {
    std::fprintf(stderr, "verdigris %s: %s %s: expected %s\n", options.command.c_str(), option, value.c_str(),
                 expected.c_str());
    return false;
  };
  if (!options.devices.empty() && !isDeviceList(options.devices))
    return refuse("--devices", options.devices, kDeviceListForm);
  if (!eachItem(options.memory, isMemory))
    return refuse("--memory", options.memory, "a size such as 16GiB, up to 64TiB, or one for each device: 16GiB,8GiB");
  if (!eachItem(options.capability, isCapability))
    return refuse("--capability", options.capability, "major.minor, such as 12.1");
  if (!eachItem(options.capability, isKnownCapability))
    return refuse("--capability", options.capability, "that of a device that is made, from 5.0 to 12.1");
  if (!eachItem(options.profile, [](const std::string& item) { return item == "default" || item == "h200"; }))
    return refuse("--profile", options.profile, "default or h200");
  std::string unknown;
  if (check::parseTools(options.check, &unknown); !unknown.empty())
    return refuse("--tools", options.check,
                  "memory, race, sync, init, exits, api, leaks or all; there is no tool " + unknown);
  if (!options.checkExitCode.empty() && !isExitStatus(options.checkExitCode))
    return refuse("--exit-code", options.checkExitCode, "a number from 0 to 255");
  if (options.checkLimit.find_first_not_of("0123456789") != std::string::npos)
    return refuse("--limit", options.checkLimit, "a number");
  if (!options.timeout.empty() && !parseSeconds(options.timeout))
    return refuse("--timeout", options.timeout, "a number of seconds");
  if (options.seed.find_first_not_of("0123456789") != std::string::npos || options.seed.size() > 19)
    return refuse("--seed", options.seed, "a number of up to 19 digits");
  if (!options.recordLimit.empty() && !isMemory(options.recordLimit))
    return refuse("--limit", options.recordLimit, "a size such as 4GiB");
  if (!options.recordLibrary.empty() && !fileExists(options.recordLibrary))
    return refuse("--library", options.recordLibrary, "the path of a libcuda.so.1");
  if (!options.log.empty() && !log::levelNamed(options.log.c_str()))
    return refuse("--log", options.log, "trace, debug, info, warn, error, critical or off");
  return true;
}

void set(const char* variable, const std::string& value) {
  if (!value.empty()) setenv(variable, value.c_str(), 1);
}

// Puts `item` in front of a list of paths.
void prepend(const char* variable, const std::string& item) {
  const char* old = std::getenv(variable);
  set(variable, old && *old ? item + ":" + old : item);
}

// XLA compiles and times many kernels for each product, which takes minutes here and tells nothing of a GPU. Users' own
// flags stay.
void dontTuneXla() {
  const char* const old = std::getenv("XLA_FLAGS");
  const std::string flags = old ? old : "";
  if (flags.find("xla_gpu_autotune_level") == std::string::npos)
    set("XLA_FLAGS", flags + (flags.empty() ? "" : " ") + "--xla_gpu_autotune_level=0");
}

// A program reads its working directory for no path of ours, but a file's name must survive its chdir.
std::string absolute(const std::string& path) {
  if (path.empty() || path[0] == '/') return path;
  char* const here = getcwd(nullptr, 0);
  std::string result = here ? std::string(here) + "/" + path : path;
  std::free(here);
  return result;
}

std::string absoluteEach(const std::string& paths) {
  std::string all;
  for (const std::string& path : splitList(paths)) all += (all.empty() ? "" : ",") + absolute(path);
  return all;
}

// What was there of an earlier run goes, so that what is there later is of this one. A regular file alone: links, pipes
// and devices stay what they are.
void removeFile(const std::string& path) {
  struct stat found;
  if (!path.empty() && !lstat(path.c_str(), &found) && S_ISREG(found.st_mode)) unlink(path.c_str());
}

// The program's NVTX is told of the library, which records its ranges.
void setTimeline(const RunOptions& options, const Installation& installation) {
  if (options.timeline.empty() && options.page.empty() && !options.summary) return;
  removeFile(options.timeline);
  removeFile(options.page);
  set("VERDIGRIS_TIMELINE", absolute(options.timeline));
  std::string summary = options.summary ? "1" : "";
  if (!options.page.empty()) summary += (summary.empty() ? "" : ",") + absolute(options.page);
  set("VERDIGRIS_SUMMARY", summary);
  set("VERDIGRIS_TIMELINE_KEEP", "1");
  set("NVTX_INJECTION64_PATH", installation.library());
}

// The recorder is a driver library that the program finds before the one that it records.
void setRecorder(const RunOptions& options, const Installation& installation) {
  if (options.recording.empty()) return;
  unlink(options.recording.c_str());
  prepend("LD_LIBRARY_PATH", installation.recorderFolder());
  set("VERDIGRIS_RECORD", absolute(options.recording));
  set("VERDIGRIS_RECORD_LIMIT", options.recordLimit);
  set("VERDIGRIS_RECORD_LIBRARY",
      options.recordLibrary.empty() ? installation.library() : absolute(options.recordLibrary));
  if (options.recordContents) set("VERDIGRIS_RECORD_CONTENTS", "1");
}

// Processes that the program starts have files of their own, with their numbers behind the name.
void finishRecordings(const std::string& file) {
  const std::filesystem::path path = absolute(file);
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(path.parent_path(), error)) {
    const std::string name = entry.path().string();
    constexpr std::string_view kTail = ".tail";
    if (name.starts_with(path.string()) && name.ends_with(kTail))
      record::finishFile(name.substr(0, name.size() - kTail.size()));
  }
}

// Waits for the program, whose end completes the file.
int become(char** arguments, const RunOptions& options) {
  if (options.recording.empty()) return execvp(arguments[0], arguments);
  signal(SIGINT, SIG_IGN);  // they are the program's, too
  signal(SIGQUIT, SIG_IGN);
  const pid_t child = fork();
  if (!child) {
    signal(SIGINT, SIG_DFL);
    signal(SIGQUIT, SIG_DFL);
    execvp(arguments[0], arguments);
    const int error = errno;
    std::fprintf(stderr, "verdigris %s: cannot run %s: %s\n", options.command.c_str(), arguments[0],
                 std::strerror(error));
    _exit(error == ENOENT ? 127 : 126);
  }
  int status = 0;
  while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  finishRecordings(options.recording);
  std::error_code none;
  const auto size = std::filesystem::file_size(options.recording, none);
  if (none)
    std::fprintf(stderr,
                 "verdigris record: the program made no call, so that there is no %s; where its RPATH names another "
                 "libcuda.so.1, --preload records it\n",
                 options.recording.c_str());
  else
    std::fprintf(stderr, "verdigris record: %s, %llu KiB; verdigris replay %s\n", options.recording.c_str(),
                 static_cast<unsigned long long>(size >> 10), options.recording.c_str());
  constexpr int kKilled = 128;
  std::exit(WIFEXITED(status) ? WEXITSTATUS(status) : kKilled + WTERMSIG(status));
}

// Asks the library, which alone knows what can be used, in a process of its own: this one is to become the program.
bool findsRealGpus(const Installation& installation) {
  const pid_t child = fork();
  if (!child) {
    setenv("VERDIGRIS_LOG", "off", 1);  // the program will hear the same
    std::string reason;
    const std::unique_ptr<Driver> driver = Driver::open(installation.library(), reason);
    _exit(driver && !driver->realGpus().empty());
  }
  int status = 0;
  return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 1;
}

// They run native code, so that nothing has to be turned into PTX for them.
bool offersRealGpus(const Installation& installation) {
  const char* const devices = std::getenv("VERDIGRIS_DEVICES");
  if (!devices || !std::strcmp(devices, "auto")) return findsRealGpus(installation);
  return std::strstr(devices, "gpu");
}

// Where the program finds the libraries and commands that stand in for the vendor's.
void setFolders(const RunOptions& options, const Installation& installation) {
  if (fileExists(installation.profilersFolder())) prepend("LD_LIBRARY_PATH", installation.profilersFolder());
  if (fileExists(installation.monitoringFolder())) prepend("LD_LIBRARY_PATH", installation.monitoringFolder());
  prepend("LD_LIBRARY_PATH", installation.libraryFolder);
  if (fileExists(installation.commandFolder())) prepend("PATH", installation.commandFolder());
  if (!options.preload) return;
  prepend("LD_PRELOAD",
          options.recording.empty() ? installation.library() : installation.recorderFolder() + "/libcuda.so.1");
}

// Options that are a setting of the library each.
void setVariables(const RunOptions& options) {
  set("VERDIGRIS_DEVICES", options.devices);
  set("VERDIGRIS_MEMORY", options.memory);
  set("VERDIGRIS_COMPUTE_CAPABILITY", options.capability);
  set("VERDIGRIS_PROFILE", options.profile);
  if (options.noPageable) set("VERDIGRIS_PAGEABLE", "0");
  set("VERDIGRIS_LAUNCH_TIMEOUT", options.timeout);
  set("VERDIGRIS_SEED", options.seed);
  set("VERDIGRIS_LOG", options.log);
  set("VERDIGRIS_CHECK", options.check);
  set("VERDIGRIS_CHECK_EXIT_CODE", options.checkExitCode);
  set("VERDIGRIS_CHECK_OUTPUT", absoluteEach(options.checkOutput));
  set("VERDIGRIS_CHECK_SUPPRESSIONS", absolute(options.checkSuppressions));
  set("VERDIGRIS_CHECK_KERNELS", options.checkKernels);
  set("VERDIGRIS_CHECK_LIMIT", options.checkLimit);
  set("VERDIGRIS_LOG_FILE", absolute(options.report));
  set("VERDIGRIS_COVERAGE", options.coverage);
  if (options.debug) set("VERDIGRIS_DEBUG", "1");
  if (options.trace) set("VERDIGRIS_TRACE", options.trace->empty() ? "1" : absolute(*options.trace));
}

// What makes programs give PTX, where no device runs native code.
void setRedirection(const RunOptions& options, const Installation& installation) {
  const bool foreign = !options.recordLibrary.empty();  // another driver has real GPUs and needs no PTX
  if (options.redirect && !foreign && fileExists(installation.redirect())) prepend("LD_AUDIT", installation.redirect());
  const bool realGpus = foreign || offersRealGpus(installation);
  setenv("VERDIGRIS_REDIRECT", realGpus ? "profilers" : "all", 1);  // as src/redirect/audit.cpp reads it
  if (realGpus) return;
  if (settings().eager != "off" && fileExists(installation.python())) prepend("PYTHONPATH", installation.python());
  setenv("CUDA_FORCE_PTX_JIT", "1", 0);  // cuBLAS then takes the kernels that it has PTX of: docs/device-profiles.md
  dontTuneXla();
}

// Below the system's word for it.
void tellWhy(int error, const char* program) {
  if (error == EACCES) std::fprintf(stderr, "It must be a file with the execute permission.\n");
  if (error != ENOENT) return;
  if (!std::strchr(program, '/'))
    std::fprintf(stderr, "Give its path, such as ./%s, if it is not in a folder of PATH.\n", program);
  else if (fileExists(program))
    std::fprintf(stderr, "The file is there, but the interpreter that it names is not: verdigris doctor %s\n", program);
}

}  // namespace

bool isDeviceList(const std::string& text) {
  if (text == "auto") return true;
  for (const std::string& item : splitList(text)) {
    const size_t colon = item.find(':');
    if (const std::string kind = item.substr(0, colon); kind != "cpu" && kind != "gpu") return false;
    if (colon == std::string::npos) continue;
    const std::string count = item.substr(colon + 1);
    if (count != "all" && (count.empty() || count.find_first_not_of("0123456789") != std::string::npos)) return false;
  }
  return !text.empty();
}

int run(const RunOptions& options) {
  const char* const as = options.command.c_str();
  if (options.program.empty()) {
    std::fprintf(stderr, "verdigris %s: no program given; usage: verdigris %s [OPTIONS] PROGRAM [ARGUMENTS...]\n", as,
                 as);
    return 2;
  }
  if (!checkOptions(options) || !checkFiles(options)) return 2;
  const Installation installation = findInstallation(options.libraryFolder);
  if (installation.libraryFolder.empty()) {
    tellNotFound(installation, as, options.libraryFolder);
    return 2;
  }
  if (const std::string reason = unreachable(installation, options.preload); !reason.empty()) {
    std::fprintf(stderr, "verdigris %s: %s%s\n", as, options.preload ? "--preload: " : "", reason.c_str());
    return 2;
  }

  setFolders(options, installation);
  setVariables(options);
  setRedirection(options, installation);
  setTimeline(options, installation);
  setRecorder(options, installation);

  std::vector<char*> arguments;
  for (const std::string& argument : options.program) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  become(arguments.data(), options);

  const int error = errno;
  std::fprintf(stderr, "verdigris %s: cannot run %s: %s\n", as, arguments[0], std::strerror(error));
  tellWhy(error, arguments[0]);
  return error == ENOENT ? 127 : 126;
}

}  // namespace vg::tools
