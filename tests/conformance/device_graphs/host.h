// What the groups of the probe share: facts, graphs of the kernels of scripts.h, and scripts with their answers.
#pragma once

#include <cuda.h>

#include <string>
#include <type_traits>
#include <vector>

#include "scripts.h"

// Prints a fact of the group that runs: "group <tab> fact <tab> answer".
void say(const std::string& fact, const char* format, ...) __attribute__((format(printf, 2, 3)));
const char* nameOf(CUresult result);
// For what is no question: ends the group when it fails.
void must(int result, int line);
#define MUST(call) must(int(call), __LINE__)

extern CUdevice device;
extern CUcontext context;
extern CUstream stream, secondStream;
extern Log* theLog;
extern int* sum;  // and 64 KiB behind it

constexpr uint64_t kTail = 0x0100000000000000, kFire = 0x0200000000000000, kSibling = 0x0300000000000000;
const char* wayOf(uint64_t how);

// Zeroed memory of the device, kept until the group ends.
void* room(size_t bytes);
inline CUdeviceptr at(const void* memory) { return reinterpret_cast<CUdeviceptr>(memory); }
int total();            // *sum
std::string entries();  // of the log
void clear();           // both

// --- Graphs ----------------------------------------------------------------------------------------------------------

CUfunction functionOf(const void* kernel);

struct KernelParams {
  CUDA_KERNEL_NODE_PARAMS params{};
  std::vector<std::vector<char>> values;
  std::vector<void*> pointers;
  template <class T>
  void take(const T& value) {
    const auto* const bytes = reinterpret_cast<const char*>(&value);
    values.emplace_back(bytes, bytes + sizeof value);
  }
  CUDA_KERNEL_NODE_PARAMS* get();
  CUresult launch();
};
template <class... Parameters>
KernelParams kernelOf(void (*kernel)(Parameters...), std::common_type_t<Parameters>... arguments) {
  KernelParams made;
  made.params.func = functionOf(reinterpret_cast<const void*>(kernel));
  made.params.gridDimX = made.params.gridDimY = made.params.gridDimZ = 1;
  made.params.blockDimX = made.params.blockDimY = made.params.blockDimZ = 1;
  (made.take(arguments), ...);
  return made;
}

CUgraph newGraph();
CUgraphNode addKernel(CUgraph graph, std::vector<CUgraphNode> after, KernelParams params);
template <class... Parameters>
CUgraphNode addKernel(CUgraph graph, std::vector<CUgraphNode> after, void (*kernel)(Parameters...),
                      std::common_type_t<Parameters>... arguments) {
  return addKernel(graph, after, kernelOf(kernel, arguments...));
}
template <class... Parameters>
CUgraph graphOf(void (*kernel)(Parameters...), std::common_type_t<Parameters>... arguments) {
  const CUgraph graph = newGraph();
  addKernel(graph, {}, kernel, arguments...);
  return graph;
}
// A conditional node whose body runs once; the body.
CUgraph addBody(CUgraph graph, CUgraphNode* node = nullptr);

CUgraphExec made(CUgraph graph, uint64_t flags, bool upload);
inline CUgraphExec launchable(CUgraph graph) { return made(graph, CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH, true); }
inline CUgraphExec adds() { return launchable(graphOf(add, sum, 1)); }
inline CUgraphExec notes(int entry) { return launchable(graphOf(note, theLog, entry)); }
inline CUgraphExec slowNotes(int entry, int microseconds = 20000) {
  return launchable(graphOf(slowNote, theLog, entry, microseconds));
}
// Launches it and waits.
CUresult runs(CUgraphExec exec);
int sumAfter(CUgraphExec exec);

// What instantiating answers: "code result node".
std::string refusal(CUgraph graph, uint64_t flags, CUgraphNode suspect = nullptr);

CUDA_MEMCPY3D copyOf(const void* to, const void* from, size_t bytes);
CUDA_MEMSET_NODE_PARAMS fillOf(const void* to, size_t bytes, size_t rows = 1);

CUresult setUpdatable(CUgraphNode node, CUgraphDeviceNode* handle, int on = 1);
CUgraphDeviceNode updatable(CUgraphNode node);
// "code set handle", the handle as it compares with one that is known.
std::string attributeOf(CUgraphNode node, CUgraphDeviceNode known);

// --- Scripts ---------------------------------------------------------------------------------------------------------

class Play {
 public:
  Play() { host.log = theLog; }
  Play& step(Verb verb, uint64_t a = 0, uint64_t b = 0, uint64_t c = 0, uint64_t d = 0);
  Play& launch(CUgraphExec exec, uint64_t how) { return step(Verb::Launch, reinterpret_cast<uint64_t>(exec), how); }
  Play& self(uint64_t how, int runs);
  Play& note(int entry) { return step(Verb::Note, entry); }
  Play& spin(int microseconds) { return step(Verb::Spin, microseconds); }
  Play& grid(CUgraphDeviceNode node, unsigned x, unsigned y = 1, unsigned z = 1);
  Play& enable(CUgraphDeviceNode node, bool on) { return step(Verb::SetEnabled, reinterpret_cast<uint64_t>(node), on); }
  Play& param(CUgraphDeviceNode node, size_t offset, const void* from, size_t size) {
    return step(Verb::SetParam, reinterpret_cast<uint64_t>(node), offset, at(from), size);
  }
  void forget() { host.count = 0; }

  // Where it is on the device, as it is now, with no run so far.
  Script* put();
  // In a graph that the host launches, and in none.
  CUresult inGraph(uint64_t flags = 0, void (*kernel)(Script*) = follow);
  CUresult outside(void (*kernel)(Script*) = follow);
  // Of the latest run, by step; more than three alike as one with their number. Empty where the run has failed.
  std::string answers(CUresult end = CUDA_SUCCESS);
  uint64_t currentOf(int run) const { return host.current[run]; }

 private:
  Script host{};
  Script* const there = static_cast<Script*>(room(sizeof(Script)));
};

// --- Groups ----------------------------------------------------------------------------------------------------------

struct Group {
  const char* name;
  int cases;
  void (*run)(int);  // one case
};
extern const std::vector<Group> kMaking, kLaunching, kOrdering, kChanging, kUpdating;
