// What kernels of the probe do: they follow scripts, lists of steps that the host writes, and keep what each call
// answers them.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

struct Log {
  int count, entries[1023];
};

enum class Verb : int { Launch, LaunchSelf, Current, SetParam, SetEnabled, SetGrid, Apply, Note, Spin, Trap };

struct Step {
  Verb verb;
  uint64_t a, b, c, d;  // in the order of the function's arguments
  uint32_t grid[3];
  int runs;  // only in the first so many runs of the script; 0: in all
};

constexpr int kSteps = 400, kRuns = 4;

struct Script {
  int runs, count;
  Log* log;
  Step steps[kSteps];
  int answers[kSteps];      // of the latest run
  uint64_t current[kRuns];  // of the first ones
};

// Any steps; launches of graphs, or SetEnabled, alone.
__global__ void follow(Script* script);
__global__ void launchAlone(Script* script);
__global__ void enableAlone(Script* script);
// A launch, then cudaGetLastError.
__global__ void launchAndAsk(Script* script);
// By way of a kernel that it launches.
__global__ void parentOfFollower(Script* script);
// The first step, beside a kernel that it launches.
__global__ void parentAndLauncher(Script* script, int* where);
// Every thread launches the graph of its number.
__global__ void launchEach(cudaGraphExec_t* graphs, cudaStream_t how, int* answers);

__global__ void add(int* where, int what);
__global__ void addThree(int* where, int a, int b, int c);
__global__ void note(Log* log, int entry);
__global__ void slowNote(Log* log, int entry, int microseconds);
__global__ void currentOf(uint64_t* where);
__global__ void child(int* where);
__global__ void parent(int* where);
__global__ void prints(int what);
__global__ void takesMemory(int** where);
