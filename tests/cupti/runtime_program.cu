// A profiled program of the runtime API, as PyTorch's profiler works: it subscribes to runtime calls, gives numbers to
// what it does, and looks at its records when it ends.
#include <cuda_runtime.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <map>
#include <string>

#include "library.h"

using namespace vg::cupti;
using namespace vg::cupti::test;

namespace {

int failures = 0;
#define EXPECT(condition)                                                   \
  do {                                                                      \
    if (!(condition)) {                                                     \
      std::fprintf(stderr, "line %d: %s is false\n", __LINE__, #condition); \
      ++failures;                                                           \
    }                                                                       \
  } while (0)

__global__ void increment(int* at) { at[threadIdx.x] += 1; }

std::map<std::string, int> entered, left;
std::map<uint32_t, std::string> named;  // kernels by the correlation of their launch

void hear(void*, CUpti_CallbackDomain, CUpti_CallbackId, const void* data) {
  const auto& call = *static_cast<const CUpti_CallbackData*>(data);
  ++(call.callbackSite == CUPTI_API_ENTER ? entered : left)[call.functionName];
  if (call.symbolName) named[call.correlationId] = call.symbolName;
  if (call.callbackSite == CUPTI_API_ENTER)
    *call.correlationData = call.correlationId;
  else
    EXPECT(*call.correlationData == call.correlationId && *static_cast<int*>(call.functionReturnValue) == 0);
}

void look() {
  std::map<uint32_t, std::string> calls;
  std::map<uint32_t, uint64_t> numbers;
  unsigned kernels = 0, copies = 0, driverLaunches = 0;
  eachRecord([&](const CUpti_Activity* record) {
    const char* name = "";
    const auto* const call = reinterpret_cast<const CUpti_ActivityAPI*>(record);
    switch (record->kind) {
      case CUPTI_ACTIVITY_KIND_RUNTIME:
        cupti("cuptiGetCallbackName", CUPTI_CB_DOMAIN_RUNTIME_API, call->cbid, &name);
        EXPECT(calls.emplace(call->correlationId, name).second);
        EXPECT(call->start <= call->end && call->processId == static_cast<uint32_t>(getpid()));
        break;
      case CUPTI_ACTIVITY_KIND_DRIVER:
        cupti("cuptiGetCallbackName", CUPTI_CB_DOMAIN_DRIVER_API, call->cbid, &name);
        driverLaunches += std::strstr(name, "Launch") != nullptr;
        break;
      case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION: {
        const auto* const external = reinterpret_cast<const CUpti_ActivityExternalCorrelation*>(record);
        numbers[external->correlationId] = external->externalId;
        break;
      }
      case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: {
        const auto* const kernel = reinterpret_cast<const CUpti_ActivityKernel13*>(record);
        ++kernels;
        EXPECT(numbers[kernel->correlationId] == 4711);
        EXPECT(named[kernel->correlationId] == kernel->name);
        EXPECT(kernel->gridX == 2 && kernel->blockX == 32 && kernel->start < kernel->end);
        break;
      }
      case CUPTI_ACTIVITY_KIND_MEMCPY:
        ++copies;
        break;
      default:
        break;
    }
  });
  unsigned launches = 0;
  for (const auto& [correlation, name] : calls) launches += name.find("cudaLaunchKernel") == 0;
  EXPECT(kernels == 3 && launches == 3 && copies == 2 && driverLaunches == 0);
  EXPECT(entered == left && entered["cudaMalloc"] == 1 && entered["cudaLaunchKernel"] == 3);
  std::fflush(stderr);
  if (failures) _exit(1);
}

}  // namespace

int main() {
  std::atexit(look);
  void* subscriber = nullptr;
  EXPECT(cupti("cuptiSubscribe", &subscriber, &hear, static_cast<void*>(nullptr)) == CUPTI_SUCCESS);
  EXPECT(cupti("cuptiEnableDomain", 1u, subscriber, CUPTI_CB_DOMAIN_RUNTIME_API) == CUPTI_SUCCESS);
  EXPECT(cupti("cuptiActivityRegisterCallbacks", &requestBuffer, &completeBuffer) == CUPTI_SUCCESS);
  for (const auto kind : {CUPTI_ACTIVITY_KIND_RUNTIME, CUPTI_ACTIVITY_KIND_DRIVER, CUPTI_ACTIVITY_KIND_MEMCPY,
                          CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION})
    EXPECT(cupti("cuptiActivityEnable", kind) == CUPTI_SUCCESS);
  int *memory = nullptr, host[32] = {};
  EXPECT(cudaMalloc(&memory, sizeof host) == cudaSuccess);
  const auto custom = static_cast<CUpti_ExternalCorrelationKind>(3);
  EXPECT(cupti("cuptiActivityPushExternalCorrelationId", custom, uint64_t{4711}) == CUPTI_SUCCESS);
  EXPECT(cudaMemcpy(memory, host, sizeof host, cudaMemcpyHostToDevice) == cudaSuccess);
  for (int i = 0; i < 3; ++i) increment<<<2, 32>>>(memory);
  EXPECT(cudaMemcpy(host, memory, sizeof host, cudaMemcpyDeviceToHost) == cudaSuccess);
  EXPECT(cupti("cuptiActivityPopExternalCorrelationId", custom, static_cast<uint64_t*>(nullptr)) == CUPTI_SUCCESS);
  EXPECT(cudaDeviceSynchronize() == cudaSuccess);
  return failures != 0;
}
