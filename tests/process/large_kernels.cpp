// Kernels so large that they get quick code first and good code later, made in the background: `large_kernels NAME`,
// each case in a process of its own with a kernel cache of its own.
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include <atomic>
#include <cstring>
#include <filesystem>
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

constexpr uint32_t kThreads = 64, kSteps = 4000;

Driver driver;

// Adds, multiplies and takes apart, one step after the other.
std::string largeText() {
  std::string text =
      ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry large(.param .u64 out) {\n.reg .u64 %a<3>; .reg "
      ".u32 "
      "%r<4>; .reg .f32 %f<4>;\nld.param.u64 %a0, [out]; mov.u32 %r0, %tid.x; mul.wide.u32 %a1, %r0, 4; add.u64 %a0, "
      "%a0, "
      "%a1;\ncvt.rn.f32.u32 %f0, %r0; mov.f32 %f1, 0f3F800000;\n";
  for (uint32_t n = 0; n < kSteps; ++n)
    text += n % 3 == 0   ? "fma.rn.f32 %f0, %f0, 0f3F7F0000, %f1;\n"
            : n % 3 == 1 ? "mul.rn.f32 %f1, %f0, 0f3E800000;\n"
                         : "sub.rn.f32 %f0, %f1, %f0;\n";
  return text + "add.rn.f32 %f0, %f0, %f1; st.global.f32 [%a0], %f0; ret; }\n";
}

std::vector<float> expected() {
  std::vector<float> all(kThreads);
  for (uint32_t t = 0; t < kThreads; ++t) {
    float a = static_cast<float>(t), b = 1;
    for (uint32_t n = 0; n < kSteps; ++n)
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
  CUfunction function = nullptr;
  CUdeviceptr out = 0;

  void load() {
    CUmodule module = nullptr;
    EXPECT_OK(driver.cuModuleLoadData(&module, largeText().c_str()));
    EXPECT_OK(driver.cuModuleGetFunction(&function, module, "large"));
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

const struct {
  const char* name;
  void (*run)();
} kCases[] = {
    {"good_code_takes_over", goodCodeTakesOver},
    {"exits_meanwhile", exitsMeanwhile},
    {"forks_meanwhile", forksMeanwhile},
    {"few_threads", fewThreads},
    {"optimized_from_the_start", optimizedFromTheStart},
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
      return 0;
    }
  std::fprintf(stderr, "usage: large_kernels CASE\n");
  return 2;
}
