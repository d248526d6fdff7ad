// Programs that are profiled as two other profilers do it, call for call: one that follows both kinds of calls on the
// calling thread and asks the driver from there (Tracy), and one that works by resources, and by records of both kinds
// of copies (TAU). Neither the driver nor this library may have anything to complain of.
#include <cuda.h>
#include <cuda_runtime.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>

#include "library.h"

using namespace vg::cupti;
using namespace vg::cupti::test;

namespace {

std::atomic<int> failures{0};
#define EXPECT(condition)                                          \
  do {                                                             \
    if (!(condition)) {                                            \
      std::printf("line %d: %s is false\n", __LINE__, #condition); \
      ++failures;                                                  \
    }                                                              \
  } while (0)

__global__ void increment(int* at) { at[threadIdx.x] += 1; }

constexpr int kThreads = 32;
constexpr size_t kBytes = kThreads * sizeof(int);

// What both look at: all that a program does with streams, an event, a graph, a pool, a thread, and the driver API.
void work() {
  int *memory = nullptr, *other = nullptr, host[kThreads] = {};
  cudaStream_t stream;
  cudaEvent_t event;
  EXPECT(cudaMalloc(&memory, kBytes) == cudaSuccess && cudaMalloc(&other, kBytes) == cudaSuccess);
  EXPECT(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess);
  EXPECT(cudaMemcpy(memory, host, kBytes, cudaMemcpyHostToDevice) == cudaSuccess);
  EXPECT(cudaMemset(other, 0, kBytes) == cudaSuccess);
  increment<<<1, kThreads>>>(memory);
  increment<<<1, kThreads, 0, stream>>>(other);
  EXPECT(cudaMemcpyAsync(other, memory, kBytes, cudaMemcpyDeviceToDevice, stream) == cudaSuccess);
  EXPECT(cudaMemsetAsync(other, 0, 8, stream) == cudaSuccess);
  EXPECT(cudaEventCreate(&event) == cudaSuccess && cudaEventRecord(event, stream) == cudaSuccess);
  EXPECT(cudaEventSynchronize(event) == cudaSuccess &&
         cudaStreamWaitEvent(cudaStreamPerThread, event, 0) == cudaSuccess);
  EXPECT(cudaStreamSynchronize(stream) == cudaSuccess && cudaDeviceSynchronize() == cudaSuccess);

  cudaGraph_t graph;
  cudaGraphExec_t executable;
  EXPECT(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal) == cudaSuccess);
  increment<<<1, kThreads, 0, stream>>>(memory);
  increment<<<1, kThreads, 0, stream>>>(other);
  EXPECT(cudaStreamEndCapture(stream, &graph) == cudaSuccess);
  EXPECT(cudaGraphInstantiate(&executable, graph, 0) == cudaSuccess);
  for (int i = 0; i < 2; ++i) EXPECT(cudaGraphLaunch(executable, stream) == cudaSuccess);
  EXPECT(cudaStreamSynchronize(stream) == cudaSuccess);
  EXPECT(cudaGraphExecDestroy(executable) == cudaSuccess && cudaGraphDestroy(graph) == cudaSuccess);

  CUstream driverStream;
  const auto address = reinterpret_cast<CUdeviceptr>(other);
  EXPECT(cuStreamCreate(&driverStream, CU_STREAM_DEFAULT) == CUDA_SUCCESS);
  EXPECT(cuMemsetD32Async(address, 7, kThreads, driverStream) == CUDA_SUCCESS);
  EXPECT(cuMemcpyDtoHAsync(host, address, kBytes, driverStream) == CUDA_SUCCESS);
  EXPECT(cuStreamSynchronize(driverStream) == CUDA_SUCCESS && cuStreamDestroy(driverStream) == CUDA_SUCCESS);
  EXPECT(host[0] == 7);

  std::thread([&] {
    increment<<<1, kThreads, 0, stream>>>(memory);
    EXPECT(cudaStreamSynchronize(stream) == cudaSuccess);
  }).join();
  void* pooled = nullptr;
  EXPECT(cudaMallocAsync(&pooled, 4096, stream) == cudaSuccess && cudaFreeAsync(pooled, stream) == cudaSuccess);
  EXPECT(cudaMemcpy(host, memory, kBytes, cudaMemcpyDeviceToHost) == cudaSuccess && host[0] == 4);
  EXPECT(cudaFree(memory) == cudaSuccess && cudaFree(other) == cudaSuccess);
  EXPECT(cudaEventDestroy(event) == cudaSuccess && cudaStreamDestroy(stream) == cudaSuccess);
}
constexpr unsigned kKernels = 3 + 2 * 2, kCopies = 4, kFills = 3;

template <class... Kinds>
void enable(const char* how, Kinds... kinds) {
  for (const CUpti_ActivityKind kind : {kinds...}) EXPECT(cupti(how, kind) == CUPTI_SUCCESS);
}

// ---- both kinds of calls, and what they led to by their numbers ----

namespace calls {

std::mutex mutex;
std::map<uint32_t, std::string> entered;  // the outermost call by its number
std::map<uint32_t, uint64_t> begun;       // by the library's clock
std::set<uint32_t> graphs;                // executable graphs that were destroyed
constexpr uint64_t kMark = 0x8000;

void enter(CUpti_CallbackDomain domain, const CUpti_CallbackData& call) {
  CUstreamCaptureStatus status;
  const CUresult asked = cuStreamIsCapturing(nullptr, &status);  // a thread begins without a context
  EXPECT(asked == CUDA_SUCCESS || asked == CUDA_ERROR_INVALID_CONTEXT);
  uint64_t now = 0;
  EXPECT(cupti("cuptiGetTimestamp", &now) == CUPTI_SUCCESS);
  EXPECT(*call.correlationData == 0);
  *call.correlationData |= kMark;
  if (domain == CUPTI_CB_DOMAIN_RUNTIME_API && !std::strncmp(call.functionName, "cudaGraphExecDestroy", 20)) {
    uint32_t id = 0;
    const auto graph = *static_cast<const CUgraphExec*>(call.functionParams);
    EXPECT(cupti("cuptiGetGraphExecId", graph, &id) == CUPTI_SUCCESS && id);
    const std::lock_guard lock(mutex);
    graphs.insert(id);
  }
  const std::lock_guard lock(mutex);
  entered.emplace(call.correlationId, call.functionName);
  begun.emplace(call.correlationId, now);
}

// Calls that the profiler makes itself are told of as any other.
thread_local bool inside = false;
void hear(void*, CUpti_CallbackDomain domain, CUpti_CallbackId, const void* data) {
  if (inside) return;
  inside = true;
  const auto& call = *static_cast<const CUpti_CallbackData*>(data);
  if (call.callbackSite == CUPTI_API_ENTER)
    enter(domain, call);
  else
    EXPECT(*call.correlationData == kMark);
  inside = false;
}

constexpr CUpti_ActivityKind kKinds[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY,
                                         CUPTI_ACTIVITY_KIND_MEMSET, CUPTI_ACTIVITY_KIND_SYNCHRONIZATION,
                                         CUPTI_ACTIVITY_KIND_MEMORY2};

template <class Record>
void expectCall(const CUpti_Activity* any, const char* part) {
  const auto* const record = reinterpret_cast<const Record*>(any);
  const auto call = entered.find(record->correlationId);
  EXPECT(call != entered.end() && call->second.find(part) != std::string::npos);
  EXPECT(call != entered.end() && begun[record->correlationId] <= record->start && record->start <= record->end);
}

void look() {
  std::map<uint32_t, unsigned> count;
  unsigned ofGraphs = 0, allocations = 0, releases = 0;
  eachRecord([&](const CUpti_Activity* record) {
    ++count[record->kind];
    if (record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) {
      expectCall<CUpti_ActivityKernel13>(record, "Launch");
      const uint32_t graph = reinterpret_cast<const CUpti_ActivityKernel13*>(record)->graphId;
      if (graph) ofGraphs += graphs.count(graph);
    }
    if (record->kind == CUPTI_ACTIVITY_KIND_MEMCPY) expectCall<CUpti_ActivityMemcpy7>(record, "Memcpy");
    if (record->kind == CUPTI_ACTIVITY_KIND_MEMSET) expectCall<CUpti_ActivityMemset5>(record, "Memset");
    if (record->kind == CUPTI_ACTIVITY_KIND_SYNCHRONIZATION) expectCall<CUpti_ActivitySynchronization2>(record, "");
    if (record->kind == CUPTI_ACTIVITY_KIND_MEMORY2) {
      const auto* const memory = reinterpret_cast<const CUpti_ActivityMemory4*>(record);
      // That of a module ends with it.
      if (memory->memoryKind != CUPTI_ACTIVITY_MEMORY_KIND_DEVICE_STATIC)
        ++(memory->memoryOperationType == 1 ? allocations : releases);
      EXPECT(memory->address && memory->bytes);
    }
  });
  EXPECT(count[CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL] == kKernels && ofGraphs == 4);
  EXPECT(count[CUPTI_ACTIVITY_KIND_MEMCPY] == kCopies && count[CUPTI_ACTIVITY_KIND_MEMSET] == kFills);
  EXPECT(count[CUPTI_ACTIVITY_KIND_SYNCHRONIZATION] >= 6 && allocations == releases && allocations >= 3);
}

void run() {
  void* subscriber = nullptr;
  EXPECT(cudaFree(nullptr) == cudaSuccess && cudaDeviceSynchronize() == cudaSuccess);
  EXPECT(cupti("cuptiSubscribe", &subscriber, &hear, static_cast<void*>(nullptr)) == CUPTI_SUCCESS);
  EXPECT(cupti("cuptiActivityRegisterCallbacks", &requestBuffer, &completeBuffer) == CUPTI_SUCCESS);
  for (const auto domain : {CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_CB_DOMAIN_DRIVER_API})
    EXPECT(cupti("cuptiEnableDomain", 1u, subscriber, domain) == CUPTI_SUCCESS);
  for (const auto kind : kKinds) enable("cuptiActivityEnable", kind);
  std::atomic<bool> running{true};
  std::thread collector([&] {
    for (; running; std::this_thread::sleep_for(std::chrono::milliseconds(1)))
      EXPECT(cupti("cuptiActivityFlushAll", uint32_t{0}) == CUPTI_SUCCESS);
  });
  work();
  EXPECT(cudaDeviceSynchronize() == cudaSuccess);
  running = false;
  collector.join();
  EXPECT(cupti("cuptiActivityFlushAll", uint32_t{0}) == CUPTI_SUCCESS);
  for (const auto kind : kKinds) enable("cuptiActivityDisable", kind);
  for (const auto domain : {CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_CB_DOMAIN_DRIVER_API})
    EXPECT(cupti("cuptiEnableDomain", 0u, subscriber, domain) == CUPTI_SUCCESS);
  EXPECT(cupti("cuptiUnsubscribe", subscriber) == CUPTI_SUCCESS);
  look();
  work();  // nobody looks any more
  EXPECT(cupti("cuptiActivityFlushAll", uint32_t{1}) == CUPTI_SUCCESS);
  unsigned later = 0;
  eachRecord([&](const CUpti_Activity*) { ++later; });
  EXPECT(later == 0);
}

}  // namespace calls

// ---- resources, and records of all copies ----

namespace resources {

std::map<std::string, int> entered, left;
std::set<uint32_t> streams;
unsigned contexts = 0, modules = 0, waits = 0;

void hearResource(CUpti_CallbackId id, const CUpti_ResourceData& data) {
  uint32_t device = ~0u, context = 0, stream = 0;
  if (id == CUPTI_CBID_RESOURCE_CONTEXT_CREATED) ++contexts;
  if (id == CUPTI_CBID_RESOURCE_MODULE_LOADED) ++modules;
  if (id != CUPTI_CBID_RESOURCE_STREAM_CREATED && id != CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING) return;
  EXPECT(cupti("cuptiGetDeviceId", data.context, &device) == CUPTI_SUCCESS && device == 0);
  EXPECT(cupti("cuptiGetContextId", data.context, &context) == CUPTI_SUCCESS && context);
  EXPECT(cupti("cuptiGetStreamIdEx", data.context, data.resourceHandle.stream, uint8_t{1}, &stream) == CUPTI_SUCCESS);
  if (id == CUPTI_CBID_RESOURCE_STREAM_CREATED)
    EXPECT(streams.insert(stream).second);
  else
    EXPECT(streams.count(stream));
}

// It asks for all records whenever a call that waits has ended, from inside the call.
void hear(void*, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data) {
  if (domain == CUPTI_CB_DOMAIN_RESOURCE) hearResource(id, *static_cast<const CUpti_ResourceData*>(data));
  if (domain == CUPTI_CB_DOMAIN_SYNCHRONIZE) ++waits;
  if (domain != CUPTI_CB_DOMAIN_RUNTIME_API) return;
  const auto& call = *static_cast<const CUpti_CallbackData*>(data);
  EXPECT(!call.context || call.contextUid);
  ++(call.callbackSite == CUPTI_API_ENTER ? entered : left)[call.functionName];
  if (call.callbackSite == CUPTI_API_EXIT && std::strstr(call.functionName, "Synchronize"))
    EXPECT(cupti("cuptiActivityFlushAll", uint32_t{0}) == CUPTI_SUCCESS);
}

void look() {
  std::map<uint32_t, unsigned> count;
  unsigned copies = 0;
  eachRecord([&](const CUpti_Activity* record) {
    ++count[record->kind];
    copies += record->kind == CUPTI_ACTIVITY_KIND_MEMCPY || record->kind == CUPTI_ACTIVITY_KIND_MEMCPY2;
  });
  EXPECT(count[CUPTI_ACTIVITY_KIND_DEVICE] >= 1 && count[CUPTI_ACTIVITY_KIND_CONTEXT] >= 1);
  EXPECT(count[CUPTI_ACTIVITY_KIND_STREAM] >= 2 && count[CUPTI_ACTIVITY_KIND_SYNCHRONIZATION] >= 6);
  EXPECT(count[CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL] == kKernels && copies == kCopies);
  EXPECT(entered == left && entered["cudaGraphLaunch"] == 2);
  EXPECT(contexts == 1 && modules >= 1 && streams.size() >= 2 && waits >= 4);
}

void run() {
  void* subscriber = nullptr;
  EXPECT(cuInit(0) == CUDA_SUCCESS);
  EXPECT(cupti("cuptiSubscribe", &subscriber, &hear, static_cast<void*>(nullptr)) == CUPTI_SUCCESS);
  enable("cuptiActivityEnable", CUPTI_ACTIVITY_KIND_DEVICE);
  EXPECT(cupti("cuptiActivityRegisterCallbacks", &requestBuffer, &completeBuffer) == CUPTI_SUCCESS);
  for (const auto domain :
       {CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_CB_DOMAIN_SYNCHRONIZE, CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CB_DOMAIN_NVTX})
    EXPECT(cupti("cuptiEnableDomain", 1u, subscriber, domain) == CUPTI_SUCCESS);
  enable("cuptiActivityEnable", CUPTI_ACTIVITY_KIND_CONTEXT, CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMCPY2,
         CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, CUPTI_ACTIVITY_KIND_STREAM);
  work();
  EXPECT(cupti("cuptiActivityFlushAll", uint32_t{1}) == CUPTI_SUCCESS);
  look();
}

}  // namespace resources

}  // namespace

// What is written to standard error during `run` is a failure: a runtime that does what it did not do before a profiler
// came, such as asking the driver for something that it lacks, shows as a warning.
int main(int count, char** arguments) {
  std::FILE* const said = std::tmpfile();
  const int before = dup(2);
  dup2(fileno(said), 2);
  count > 1 && !std::strcmp(arguments[1], "resources") ? resources::run() : calls::run();
  dup2(before, 2);
  std::rewind(said);
  char line[512];
  while (std::fgets(line, sizeof line, said)) {
    std::printf("said: %s", line);
    ++failures;
  }
  return failures != 0;
}
