// Kernels so large that they get quick code first and good code later, made in the background: `large_kernels NAME`,
// each case in a process of its own with a kernel cache of its own.
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include <atomic>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "driver.h"

namespace {

std::atomic<int> threadsLeft{1 << 30};  // that the system still gives

}  // namespace

// Takes the place of the C library's, here and in the driver.
extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*main)(void*),
                              void* argument) {
  static const auto real = reinterpret_cast<decltype(&pthread_create)>(dlsym(RTLD_NEXT, "pthread_create"));
  if (threadsLeft.fetch_sub(1) <= 0) return EAGAIN;
  return real(thread, attributes, main, argument);
}

namespace {

constexpr uint32_t kThreads = 64;
uint32_t steps = 4000;

Driver driver;

// Adds, multiplies and takes apart, one step after the other.
std::string largeText(const std::string& name) {
  std::string text = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry " + name +
                     "(.param .u64 out) {\n.reg .u64 %a<3>; .reg .u32 %r<4>; .reg .f32 %f<4>;\nld.param.u64 %a0, "
                     "[out]; mov.u32 %r0, %tid.x; mul.wide.u32 %a1, %r0, 4; add.u64 %a0, "
                     "%a0, "
                     "%a1;\ncvt.rn.f32.u32 %f0, %r0; mov.f32 %f1, 0f3F800000;\n";
  for (uint32_t n = 0; n < steps; ++n)
    text += n % 3 == 0   ? "fma.rn.f32 %f0, %f0, 0f3F7F0000, %f1;\n"
            : n % 3 == 1 ? "mul.rn.f32 %f1, %f0, 0f3E800000;\n"
                         : "sub.rn.f32 %f0, %f1, %f0;\n";
  return text + "add.rn.f32 %f0, %f0, %f1; st.global.f32 [%a0], %f0; ret; }\n";
}

std::vector<float> expected() {
  std::vector<float> all(kThreads);
  for (uint32_t t = 0; t < kThreads; ++t) {
    float a = static_cast<float>(t), b = 1;
    for (uint32_t n = 0; n < steps; ++n)
      if (n % 3 == 0)
        a = __builtin_fmaf(a, 0.99609375f, b);
      else if (n % 3 == 1)
        b = a * 0.25f;
      else
        a = b - a;
    all[t] = a + b;
  }
  return all;
}

struct Large {
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  CUdeviceptr out = 0;

  void load(const std::string& name = "large") {
    EXPECT_OK(driver.cuModuleLoadData(&module, largeText(name).c_str()));
    EXPECT_OK(driver.cuModuleGetFunction(&function, module, name.c_str()));
    EXPECT_OK(driver.cuMemAlloc_v2(&out, kThreads * sizeof(float)));
  }
  CUresult run(std::vector<float>& results) {
    results.assign(kThreads, -1);
    void* parameters[] = {&out};
    if (const CUresult r = driver.cuLaunchKernel(function, 1, 1, 1, kThreads, 1, 1, 0, nullptr, parameters, nullptr))
      return r;
    return driver.cuMemcpyDtoH_v2(results.data(), out, kThreads * sizeof(float));
  }
  void runWell() {
    std::vector<float> results;
    EXPECT_OK(run(results));
    EXPECT(results == expected());
  }
};

size_t cachedKernels() {
  size_t count = 0;
  for (const auto& file : std::filesystem::recursive_directory_iterator(std::getenv("CUDA_CACHE_PATH")))
    count += file.path().extension() == ".vgk";
  return count;
}

void goodCodeTakesOver() {
  driver.start();
  Large large;
  large.load();
  large.runWell();
  EXPECT(cachedKernels() == 1);  // quick code
  while (cachedKernels() < 2) {  // the test's time limit ends this
    large.runWell();
    usleep(20'000);
  }
  for (int n = 0; n < 50; ++n, usleep(10'000)) large.runWell();
}

// The compile in the background is under way when main returns.
void exitsMeanwhile() {
  driver.start();
  Large large;
  large.load();
  large.runWell();
  large.runWell();  // worth better code
  usleep(50'000);
}

void forksMeanwhile() {
  driver.start();
  Large large;
  large.load();
  large.runWell();
  large.runWell();  // worth better code
  for (int n = 0; n < 10; ++n, usleep(10'000)) {
    const pid_t child = fork();
    if (child == 0) {
      std::vector<float> results;
      std::exit(large.run(results) == CUDA_ERROR_NOT_INITIALIZED ? 0 : 1);
    }
    int status = 0;
    EXPECT(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  large.runWell();
}

// However few threads there are: right results or an error, at once.
void fewThreads() {
  for (int threads = 0; threads < 8; ++threads) {
    const pid_t child = fork();
    if (child == 0) {
      driver.start();
      Large large;
      large.load();
      threadsLeft = threads;
      std::vector<float> results;
      const CUresult result = large.run(results);
      std::_Exit(result == CUDA_SUCCESS && results != expected());
    }
    int status = 0;
    EXPECT(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
}

// What another process makes with VERDIGRIS_KERNELS=optimize is the optimized code, with which nobody makes quick code.
void optimizedFromTheStart() {
  for (const char* way : {"optimize", "compile"}) {
    const pid_t child = fork();
    if (child == 0) {
      setenv("VERDIGRIS_KERNELS", way, 1);
      driver.start();
      Large large;
      large.load();
      large.runWell();
      std::_Exit(0);
    }
    int status = 0;
    EXPECT(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    EXPECT(cachedKernels() == 1);
  }
}

// Runs of a program that takes milliseconds, where the compile takes more: each in a process that comes to its end in
// the way of `end`. What they log is kept.
enum class End : uint8_t { Exit, Killed, ForksFirst, ClosesAll };

std::string logFile() { return std::string(std::getenv("CUDA_CACHE_PATH")) + ".log"; }

size_t timesLogged(const char* words) {
  std::ifstream in(logFile());
  size_t count = 0;
  for (std::string line; std::getline(in, line);) count += line.find(words) != std::string::npos;
  return count;
}

bool codeGeneratorIsOpen() {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);)
    if (line.find("libverdigris_ptx") != std::string::npos) return true;
  return false;
}

// The files of an application that closes all descriptors and opens its own.
constexpr const char* kOwnText = "an application's own file, which nobody else writes to\n";

std::string ownFile(int number) {
  return std::string(std::getenv("CUDA_CACHE_PATH")) + "/own-" + std::to_string(number);
}
constexpr int kOwnFiles = 40;

void reopenAll() {
  for (int n = 3; n < 256; ++n) close(n);
  for (int n = 0; n < kOwnFiles; ++n) {
    const int file = open(ownFile(n).c_str(), O_RDWR | O_CREAT | O_TRUNC, 0600);
    const ssize_t length = static_cast<ssize_t>(std::strlen(kOwnText));
    EXPECT(file >= 0 && write(file, kOwnText, static_cast<size_t>(length)) == length);
  }
}

void endAs(End end) {
  if (end == End::Killed) {
    kill(getpid(), SIGKILL);
  } else if (end == End::ClosesAll) {
    reopenAll();
  } else if (end == End::ForksFirst) {
    const pid_t child = fork();
    if (child == 0) std::exit(0);
    int status = 0;
    EXPECT(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  std::exit(0);
}

pid_t startShortRun(End end) {
  const pid_t child = fork();
  if (child != 0) return child;
  driver.start();
  Large large;
  large.load();
  large.runWell();
  large.runWell();  // worth better code
  endAs(end);
  return 0;
}

int statusOf(pid_t child) {
  int status = 0;
  EXPECT(waitpid(child, &status, 0) == child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// With the kernel's good code in the cache.
void runWithoutGenerator() {
  const pid_t child = fork();
  if (child == 0) {
    driver.start();
    Large large;
    large.load();
    large.runWell();
    large.runWell();
    std::_Exit(codeGeneratorIsOpen());
  }
  EXPECT(statusOf(child) == 0);
}

void runShortly(End end, int times) {
  for (int n = 0; n < times; ++n) statusOf(startShortRun(end));
}

constexpr const char *kWaits = "this process waits for optimised code", *kLaunchWaits = "the launch waits",
                     *kInVain = "no optimised code yet";

// With a kernel whose compile takes many times as long as everything else.
void begin(const char* seconds) {
  steps = 24'000;
  setenv("VERDIGRIS_LOG", "info", 1);
  setenv("VERDIGRIS_LOG_FILE", logFile().c_str(), 1);
  setenv("VERDIGRIS_EXIT_WAIT", seconds, 1);
}
constexpr const char* kAsLongAsItTakes = "600";

// Two processes throw their compile away, the third finishes it, and the fourth needs none.
void shortRuns() {
  begin(kAsLongAsItTakes);
  runShortly(End::Exit, 3);
  EXPECT(cachedKernels() == 2 && timesLogged(kWaits) == 1);
  runWithoutGenerator();
  EXPECT(timesLogged(kWaits) == 1);
}

// Programs that never come to their end wait earlier.
void killedRuns() {
  begin(kAsLongAsItTakes);
  runShortly(End::Killed, 9);
  EXPECT(cachedKernels() == 2 && timesLogged(kWaits) == 0 && timesLogged(kLaunchWaits) == 1);
  runWithoutGenerator();
}

// One of them makes the code, the others do not wait for it.
void shortRunsAtOnce() {
  begin(kAsLongAsItTakes);
  runShortly(End::Exit, 2);
  std::vector<pid_t> children;
  for (int n = 0; n < 6; ++n) children.push_back(startShortRun(End::Exit));
  for (const pid_t child : children) statusOf(child);
  EXPECT(cachedKernels() == 2 && timesLogged(kWaits) == 1);
}

// What one process owes is made by several threads when it ends, also kernels whose turn had not come; some of them
// have been unloaded.
void shortRunsOfMany() {
  begin(kAsLongAsItTakes);
  const std::vector<std::string> names{"one", "two", "three", "four", "five", "six"};
  for (int n = 0; n < 3; ++n) {
    const pid_t child = fork();
    if (child == 0) {
      driver.start();
      for (const std::string& name : names) {
        Large large;
        large.load(name);
        large.runWell();
        large.runWell();
        if (name == "four") EXPECT_OK(driver.cuModuleUnload(large.module));
      }
      std::exit(0);
    }
    EXPECT(statusOf(child) == 0);
  }
  EXPECT(cachedKernels() == 2 * names.size() && timesLogged(kWaits) > 1);
}

// A child of a process that owes the code neither waits nor takes the debt away.
void shortRunsThatFork() {
  begin(kAsLongAsItTakes);
  runShortly(End::ForksFirst, 3);
  EXPECT(cachedKernels() == 2 && timesLogged(kWaits) == 1);
}

// Nothing is written to, or closed, by a number that has become another file's.
void shortRunsThatCloseAll() {
  begin(kAsLongAsItTakes);
  unsetenv("VERDIGRIS_LOG");
  for (int run = 0; run < 3; ++run) {
    runShortly(End::ClosesAll, 1);
    for (int n = 0; n < kOwnFiles; ++n) {
      std::ifstream in(ownFile(n));
      EXPECT(std::string(std::istreambuf_iterator<char>(in), {}) == kOwnText);
    }
  }
  EXPECT(cachedKernels() == 2);
}

// No wait is longer than it may be, and they become rare and end.
void shortPatience() {
  begin("0.01");
  runShortly(End::Exit, 40);
  EXPECT(timesLogged(kWaits) == 3 && timesLogged(kInVain) == 3);
  setenv("VERDIGRIS_EXIT_WAIT", "0", 1);
  runShortly(End::Exit, 3);
  EXPECT(timesLogged(kWaits) == 3 && cachedKernels() == 1);
}

// What cannot be kept is not waited for.
void nothingKept() {
  begin(kAsLongAsItTakes);
  setenv("CUDA_CACHE_DISABLE", "1", 1);
  runShortly(End::Exit, 5);
  EXPECT(timesLogged(kWaits) == 0);
  unsetenv("CUDA_CACHE_DISABLE");
  runShortly(End::Exit, 1);
  const std::string folder = std::getenv("CUDA_CACHE_PATH");
  for (const auto& file : std::filesystem::directory_iterator(folder))
    if (file.path().extension() != ".vgk") std::filesystem::remove(file.path());
  EXPECT(chmod(folder.c_str(), 0555) == 0);
  for (int n = 0; n < 5; ++n) {
    const pid_t child = fork();
    if (child == 0) {
      // Root may write anywhere; files of root may be read by all.
      if (geteuid() == 0)
        for (const auto& file : std::filesystem::directory_iterator(folder)) chmod(file.path().c_str(), 0444);
      if (geteuid() == 0 && (chmod(logFile().c_str(), 0666) || setuid(65534))) std::_Exit(1);
      if (access(folder.c_str(), W_OK) == 0) std::_Exit(1);
      driver.start();
      Large large;
      large.load();
      large.runWell();
      large.runWell();
      std::exit(0);
    }
    EXPECT(statusOf(child) == 0);
  }
  EXPECT(timesLogged(kWaits) == 0 && cachedKernels() == 1);
  chmod(folder.c_str(), 0755);
}

const struct {
  const char* name;
  void (*run)();
} kCases[] = {
    {"good_code_takes_over", goodCodeTakesOver},
    {"exits_meanwhile", exitsMeanwhile},
    {"forks_meanwhile", forksMeanwhile},
    {"few_threads", fewThreads},
    {"optimized_from_the_start", optimizedFromTheStart},
    {"short_runs", shortRuns},
    {"killed_runs", killedRuns},
    {"short_runs_at_once", shortRunsAtOnce},
    {"short_runs_of_many", shortRunsOfMany},
    {"short_runs_that_fork", shortRunsThatFork},
    {"short_runs_that_close_all", shortRunsThatCloseAll},
    {"short_patience", shortPatience},
    {"nothing_kept", nothingKept},
};

}  // namespace

int main(int argc, char** argv) {
  char folder[] = "/tmp/large-kernels-XXXXXX";
  EXPECT(mkdtemp(folder));
  setenv("CUDA_CACHE_PATH", folder, 1);
  driver.open();
  for (const auto& one : kCases)
    if (argc == 2 && !std::strcmp(argv[1], one.name)) {
      one.run();
      std::filesystem::remove_all(folder);
      std::filesystem::remove(std::string(folder) + ".log");
      return 0;
    }
  std::fprintf(stderr, "usage: large_kernels CASE\n");
  return 2;
}
