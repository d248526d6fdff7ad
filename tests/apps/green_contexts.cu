// Green contexts: two halves of a device work side by side, each with streams of its own, and share memory and kernels.
#include <cuda.h>

#include <set>

#include "check.h"

namespace {

// out[block] = the multiprocessor of the block, which stays there for a while.
__global__ void where(unsigned* out) {
  const long long begin = clock64();
  while (clock64() - begin < 20000) {
  }
  unsigned id;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(id));
  out[blockIdx.x] = id;
}

__global__ void add(float* values, float by, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) values[i] += by;
}

template <class Function>
Function* entryPoint(const char* name, unsigned version) {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found{};
  CHECK(cudaGetDriverEntryPointByVersion(name, &function, version, cudaEnableDefault, &found));
  EXPECT(found == cudaDriverEntryPointSuccess);
  return reinterpret_cast<Function*>(function);
}

#define DRIVER(name, version, ...)                                                  \
  do {                                                                              \
    const CUresult code_ = entryPoint<decltype(name)>(#name, version)(__VA_ARGS__); \
    if (code_ != CUDA_SUCCESS) failAt(__FILE__, __LINE__, #name, "");               \
  } while (0)

// A part of a device, and a stream on it.
struct Part {
  CUgreenCtx green = nullptr;
  CUcontext context = nullptr;
  cudaStream_t stream = nullptr;
  unsigned multiprocessors = 0;

  explicit Part(CUdevResource resource) : multiprocessors(resource.sm.smCount) {
    CUdevResourceDesc description = nullptr;
    DRIVER(cuDevResourceGenerateDesc, 12040, &description, &resource, 1);
    DRIVER(cuGreenCtxCreate, 12040, &green, description, 0, CU_GREEN_CTX_DEFAULT_STREAM);
    DRIVER(cuCtxFromGreenCtx, 12040, &context, green);
    DRIVER(cuGreenCtxStreamCreate, 12050, &stream, green, CU_STREAM_NON_BLOCKING, 0);
  }
  ~Part() {
    CHECK(cudaStreamDestroy(stream));
    DRIVER(cuGreenCtxDestroy, 12040, green);
  }
  Part(const Part&) = delete;
};

// Halves where the device can be divided, otherwise twice the same.
void divide(CUdevResource halves[2]) {
  CUdevResource whole{}, rest{};
  DRIVER(cuDeviceGetDevResource, 12040, 0, &whole, CU_DEV_RESOURCE_TYPE_SM);
  EXPECT(whole.sm.smCount > 0);
  unsigned groups = 0;
  const unsigned half = whole.sm.smCount / 2;
  DRIVER(cuDevSmResourceSplitByCount, 12040, nullptr, &groups, &whole, nullptr, 0, half);
  EXPECT(groups >= 1);
  groups = 1;
  DRIVER(cuDevSmResourceSplitByCount, 12040, halves, &groups, &whole, &rest, 0, half);
  EXPECT(groups == 1);
  EXPECT(halves[0].sm.smCount >= half);
  EXPECT(halves[0].sm.smCount + rest.sm.smCount == whole.sm.smCount);
  halves[1] = rest.type == CU_DEV_RESOURCE_TYPE_SM ? rest : halves[0];
}

void staysInItsPart(const Part& part) {
  constexpr unsigned kBlocks = 1024;
  DeviceArray<unsigned> ids(kBlocks);
  where<<<kBlocks, 32, 0, part.stream>>>(ids);
  CHECK(cudaGetLastError());
  CHECK(cudaStreamSynchronize(part.stream));
  const std::vector<unsigned> host = ids.host();
  EXPECT(std::set<unsigned>(host.begin(), host.end()).size() <= part.multiprocessors);
}

// Each part's addition follows the other's, by events of whole green contexts.
void takeTurns(Part* const parts[2]) {
  constexpr int kCount = 1 << 16, kRounds = 10;
  const std::vector<float> zeros(kCount, 0.0f);
  DeviceArray<float> values(zeros);
  cudaEvent_t done;
  CHECK(cudaEventCreateWithFlags(&done, cudaEventDisableTiming));
  for (int round = 0; round < 2 * kRounds; ++round) {
    Part& mine = *parts[round % 2];
    Part& next = *parts[(round + 1) % 2];
    add<<<(kCount + 255) / 256, 256, 0, mine.stream>>>(values, 1.0f, kCount);
    CHECK(cudaGetLastError());
    DRIVER(cuGreenCtxRecordEvent, 12040, mine.green, done);
    DRIVER(cuGreenCtxWaitEvent, 12040, next.green, done);
  }
  CHECK(cudaDeviceSynchronize());
  for (const float value : values.host()) EXPECT(value == 2 * kRounds);
  CHECK(cudaEventDestroy(done));
}

// The runtime in a green context that is current: memory, kernels in streams that are made there.
void runtimeInside(const Part& part) {
  DRIVER(cuCtxSetCurrent, 4000, part.context);
  constexpr int kCount = 1000;
  const std::vector<float> ones(kCount, 1.0f);
  DeviceArray<float> values(ones);
  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));
  add<<<(kCount + 127) / 128, 128, 0, stream>>>(values, 2.5f, kCount);
  CHECK(cudaGetLastError());
  CHECK(cudaStreamSynchronize(stream));
  CUgreenCtx owner = nullptr;
  DRIVER(cuStreamGetGreenCtx, 12040, stream, &owner);
  EXPECT(owner == part.green);
  add<<<(kCount + 127) / 128, 128>>>(values, 2.5f, kCount);
  CHECK_LAUNCH();
  for (const float value : values.host()) EXPECT(value == 6.0f);
  CHECK(cudaStreamDestroy(stream));
  CHECK(cudaSetDevice(0));
}

}  // namespace

int main() {
  CHECK(cudaSetDevice(0));
  CUdevResource halves[2];
  divide(halves);
  {
    Part first(halves[0]), second(halves[1]);
    Part* const parts[2] = {&first, &second};
    staysInItsPart(first);
    staysInItsPart(second);
    takeTurns(parts);
    runtimeInside(first);
  }
  return passed();
}
