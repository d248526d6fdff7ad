// The kernel cache on disk, seen from outside: what a second process maps, and what damage does.
#include <dirent.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "kernels/fixture.h"

namespace kernels {
namespace {

bool engineIsMapped() {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);)
    if (line.find("libverdigris_ptx") != std::string::npos) return true;
  return false;
}

enum Outcome { kWrong = 1, kCompiled = 10, kFromCache = 11 };

// What a fresh process does: runs a kernel and tells whether the code generator was opened.
int runOnce() {
  CUdevice device;
  CUcontext context;
  CUmodule loaded;
  CUfunction kernel;
  CUdeviceptr out;
  uint32_t value = 0;
  const std::string text = module(entry("kernel", {".u64"}, std::string(kIndices) + "mov.u32 %r5, 1234;\n" + kStore));
  if (cuInit(0) || cuDeviceGet(&device, 0) || cuDevicePrimaryCtxRetain(&context, device) || cuCtxSetCurrent(context) ||
      cuModuleLoadData(&loaded, text.c_str()) || cuModuleGetFunction(&kernel, loaded, "kernel") || cuMemAlloc(&out, 4))
    return kWrong;
  void* values[] = {&out};
  if (cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, nullptr, values, nullptr) || cuMemcpyDtoH(&value, out, 4) ||
      value != 1234)
    return kWrong;
  return engineIsMapped() ? kCompiled : kFromCache;
}

// A process that has not used the library yet, with the cache in `folder`.
int inFreshProcess(const std::string& folder) {
  const pid_t child = fork();
  if (!child) {
    setenv("CUDA_CACHE_PATH", folder.c_str(), 1);
    unsetenv("GTEST_TOTAL_SHARDS");
    unsetenv("GTEST_SHARD_INDEX");
    execl("/proc/self/exe", "kernels_test", "--gtest_filter=CacheChild.*", "--gtest_also_run_disabled_tests", nullptr);
    _exit(kWrong);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : kWrong;
}

std::vector<std::string> filesIn(const std::string& folder) {
  std::vector<std::string> files;
  if (DIR* const listing = opendir(folder.c_str())) {
    while (const dirent* one = readdir(listing))
      if (one->d_name[0] != '.') files.push_back(folder + "/" + one->d_name);
    closedir(listing);
  }
  return files;
}

TEST(CacheChild, DISABLED_RunsAKernel) { _exit(runOnce()); }

TEST(Cache, ASecondProcessNeedsNoCodeGenerator) {
  if (const char* const kernels = std::getenv("VERDIGRIS_KERNELS"); kernels && std::string(kernels) == "interpret")
    GTEST_SKIP() << "nothing is compiled";
  char folder[] = "/tmp/vg-cache-XXXXXX";
  ASSERT_NE(mkdtemp(folder), nullptr);
  const int first = inFreshProcess(folder);
  if (first == kFromCache && filesIn(folder).empty()) GTEST_SKIP() << "no code generator was built";
  EXPECT_EQ(first, kCompiled);
  ASSERT_EQ(filesIn(folder).size(), 1u);
  EXPECT_EQ(inFreshProcess(folder), kFromCache);

  // Damage of every kind is a miss, and the file is made anew.
  const std::string file = filesIn(folder)[0];
  for (const char* const damage : {"", "garbage"}) {
    std::ofstream(file, std::ios::trunc) << damage;
    EXPECT_EQ(inFreshProcess(folder), kCompiled);
    EXPECT_EQ(inFreshProcess(folder), kFromCache);
  }
  std::fstream half(file, std::ios::in | std::ios::out | std::ios::binary);
  half.seekp(100);
  half.put('\x55').put('\xAA');
  half.close();
  EXPECT_EQ(inFreshProcess(folder), kCompiled);
  EXPECT_EQ(inFreshProcess(folder), kFromCache);
  for (const std::string& one : filesIn(folder)) unlink(one.c_str());
  rmdir(folder);
}

// Code of others is not run, nothing is waited for, and kernels run all the same.
TEST(Cache, WhatOthersMayHaveWrittenIsNotRun) {
  if (const char* const kernels = std::getenv("VERDIGRIS_KERNELS"); kernels && std::string(kernels) == "interpret")
    GTEST_SKIP() << "nothing is compiled";
  char folder[] = "/tmp/vg-cache-XXXXXX";
  ASSERT_NE(mkdtemp(folder), nullptr);
  const int first = inFreshProcess(folder);
  if (first == kFromCache && filesIn(folder).empty()) GTEST_SKIP() << "no code generator was built";
  ASSERT_EQ(filesIn(folder).size(), 1u);
  const std::string file = filesIn(folder)[0];
  ASSERT_EQ(chmod(folder, 0777), 0);
  EXPECT_EQ(inFreshProcess(folder), kCompiled);
  ASSERT_EQ(chmod(folder, 0700), 0);
  EXPECT_EQ(inFreshProcess(folder), kFromCache);
  ASSERT_EQ(chmod(file.c_str(), 0666), 0);
  EXPECT_EQ(inFreshProcess(folder), kCompiled);  // and puts its own in the place of it
  EXPECT_EQ(inFreshProcess(folder), kFromCache);
  unlink(file.c_str());
  ASSERT_EQ(mkfifo(file.c_str(), 0600), 0);
  EXPECT_EQ(inFreshProcess(folder), kCompiled);
  EXPECT_EQ(inFreshProcess(folder), kFromCache);
  for (const std::string& one : filesIn(folder)) unlink(one.c_str());
  rmdir(folder);
}

TEST(Cache, AFolderThatCannotBeMadeIsNoHindrance) {
  const int outcome = inFreshProcess("/proc/no/such/place");
  EXPECT_TRUE(outcome == kCompiled || outcome == kFromCache) << outcome;
}

}  // namespace
}  // namespace kernels
