#include "scripts.h"

#include <cstdio>

namespace {

__device__ void append(Log* log, int entry) {
  const int at = atomicAdd(&log->count, 1);
  if (at < 1023) log->entries[at] = entry;
}

__device__ void spin(uint64_t microseconds) {
  uint64_t start, now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
  do {
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  } while (now - start < microseconds * 1000);
}

template <class T>
__device__ T* pointer(uint64_t address) {
  return reinterpret_cast<T*>(address);
}

__device__ int perform(Script* script, const Step& step, int run) {
  const auto graph = reinterpret_cast<cudaGraphExec_t>(step.a);
  const auto node = reinterpret_cast<cudaGraphDeviceNode_t>(step.a);
  const auto stream = reinterpret_cast<cudaStream_t>(step.b);
  switch (step.verb) {
    case Verb::Launch:
      return cudaGraphLaunch(graph, stream);
    case Verb::LaunchSelf:
      return cudaGraphLaunch(cudaGetCurrentGraphExec(), stream);
    case Verb::Current:
      if (run <= kRuns) script->current[run - 1] = reinterpret_cast<uint64_t>(cudaGetCurrentGraphExec());
      return 0;
    case Verb::SetParam:
      return cudaGraphKernelNodeSetParam(node, step.b, pointer<const void>(step.c), step.d);
    case Verb::SetEnabled:
      return cudaGraphKernelNodeSetEnabled(node, step.b != 0);
    case Verb::SetGrid:
      return cudaGraphKernelNodeSetGridDim(node, dim3(step.grid[0], step.grid[1], step.grid[2]));
    case Verb::Apply:
      return cudaGraphKernelNodeUpdatesApply(pointer<const cudaGraphKernelNodeUpdate>(step.a), step.b);
    case Verb::Note:
      append(script->log, int(step.a));
      return 0;
    case Verb::Spin:
      spin(step.a);
      return 0;
    case Verb::Trap:
      asm volatile("trap;");
      return 0;
  }
  return -1;
}

}  // namespace

__global__ void follow(Script* script) {
  const int run = ++script->runs;
  for (int i = 0; i < script->count; ++i) {
    const Step& step = script->steps[i];
    if (!step.runs || run <= step.runs) script->answers[i] = perform(script, step, run);
  }
}

__global__ void launchAlone(Script* script) {
  for (int i = 0; i < script->count; ++i)
    script->answers[i] = cudaGraphLaunch(reinterpret_cast<cudaGraphExec_t>(script->steps[i].a),
                                         reinterpret_cast<cudaStream_t>(script->steps[i].b));
}

__global__ void enableAlone(Script* script) {
  for (int i = 0; i < script->count; ++i)
    script->answers[i] = cudaGraphKernelNodeSetEnabled(reinterpret_cast<cudaGraphDeviceNode_t>(script->steps[i].a),
                                                       script->steps[i].b != 0);
}

__global__ void launchAndAsk(Script* script) {
  script->answers[0] = cudaGraphLaunch(reinterpret_cast<cudaGraphExec_t>(script->steps[0].a),
                                       reinterpret_cast<cudaStream_t>(script->steps[0].b));
  script->answers[1] = cudaGetLastError();
}

__global__ void parentOfFollower(Script* script) { follow<<<1, 1>>>(script); }

__global__ void parentAndLauncher(Script* script, int* where) {
  child<<<1, 1>>>(where);
  script->answers[0] = perform(script, script->steps[0], 1);
}

__global__ void launchEach(cudaGraphExec_t* graphs, cudaStream_t how, int* answers) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  answers[i] = cudaGraphLaunch(graphs[i], how);
}

__global__ void add(int* where, int what) { atomicAdd(where, what); }
__global__ void addThree(int* where, int a, int b, int c) { atomicAdd(where, a + b + c); }
__global__ void note(Log* log, int entry) { append(log, entry); }
__global__ void slowNote(Log* log, int entry, int microseconds) {
  spin(microseconds);
  append(log, entry);
}
__global__ void currentOf(uint64_t* where) { *where = reinterpret_cast<uint64_t>(cudaGetCurrentGraphExec()); }
__global__ void child(int* where) { atomicAdd(where, 1); }
__global__ void parent(int* where) { child<<<1, 1>>>(where); }
__global__ void prints(int what) { printf("%d", what > 1'000'000 ? what : 0); }
__global__ void takesMemory(int** where) {
  *where = static_cast<int*>(malloc(16));
  free(*where);
}
