// What programs share that run kernels and the same on the CPU in turns: filters/, suites/.
#pragma once

#include <cuda_runtime.h>
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#define CHECK(call)                                                                            \
  do {                                                                                         \
    if ((call) != cudaSuccess) {                                                               \
      std::fprintf(stderr, "line %d: %s\n", __LINE__, cudaGetErrorString(cudaGetLastError())); \
      std::exit(1);                                                                            \
    }                                                                                          \
  } while (0)

namespace in_turns {

inline const char* only = nullptr;  // of what can be measured; null: all
inline bool isWanted(const char* name) { return !only || std::string(only) == name; }

// Milliseconds of processor time of the process.
inline double processorTime() {
  timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return now.tv_sec * 1e3 + now.tv_nsec * 1e-6;
}

inline double medianOf(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

inline void runAndWait(const std::function<void()>& kernels) {
  kernels();
  CHECK(cudaGetLastError());
  CHECK(cudaDeviceSynchronize());
}

// Prints a line: the name, the medians of both, and how many times as fast the kernels are. `prepare` is not timed.
inline void time(const char* name, int rounds, const std::function<void()>& prepare,
                 const std::function<void()>& kernels, const std::function<void()>& plain) {
  std::vector<double> ours, theirs;
  for (int round = 0; round < rounds; ++round) {
    prepare();
    const double begin = processorTime();
    runAndWait(kernels);
    const double middle = processorTime();
    plain();
    const double end = processorTime();
    ours.push_back(middle - begin), theirs.push_back(end - middle);
  }
  const double kernelTime = medianOf(ours), plainTime = medianOf(theirs);
  std::printf("%-16s %8.3f ms %8.3f ms %6.2f\n", name, kernelTime, plainTime, plainTime / kernelTime);
  std::fflush(stdout);
}

}  // namespace in_turns
