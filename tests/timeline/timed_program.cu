// What the test of a timeline's times looks at: kernels that run for a known time, copies, fills, a graph and managed
// memory. For each piece of work the program prints a line of JSON with what it knows itself: when it asked for the
// work and when it had waited for it by CLOCK_MONOTONIC, how long events around the work were apart, and how long the
// kernel ran at least by its device's clock. Pieces are found by their blocks or their bytes, which nothing else has.
#include <cuda_runtime.h>
#include <time.h>

#if __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>
#else
inline void nvtxRangePushA(const char*) {}
inline void nvtxRangePop() {}
#endif

#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

void check(cudaError_t error, int line) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "line %d: %s\n", line, cudaGetErrorString(error));
  std::exit(1);
}
#define CHECK(call) check(call, __LINE__)

__device__ unsigned long long clockOfDevice() {
  unsigned long long now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

// Each block runs for that long.
__global__ void spin(unsigned nanoseconds) {
  const unsigned long long begin = clockOfDevice();
  while (clockOfDevice() - begin < nanoseconds) {
  }
}
__global__ void increment(int* values, int count) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count) ++values[i];
}

unsigned long long now() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<unsigned long long>(time.tv_sec) * 1'000'000'000 + static_cast<unsigned long long>(time.tv_nsec);
}

// One piece of work by itself, between events.
template <class Work>
void alone(const char* kind, const char* key, size_t value, double leastUs, cudaStream_t stream, Work work) {
  static cudaEvent_t events[2];
  if (!events[0])
    for (cudaEvent_t& event : events) CHECK(cudaEventCreate(&event));
  CHECK(cudaDeviceSynchronize());
  const unsigned long long before = now();
  CHECK(cudaEventRecord(events[0], stream));
  work();
  CHECK(cudaEventRecord(events[1], stream));
  CHECK(cudaStreamSynchronize(stream));
  const unsigned long long after = now();
  float milliseconds = 0;
  CHECK(cudaEventElapsedTime(&milliseconds, events[0], events[1]));
  std::printf(
      "{\"kind\": \"%s\", \"%s\": %zu, \"count\": 1, \"least\": %.3f, \"events\": %.3f, \"before\": %llu, "
      "\"after\": %llu}\n",
      kind, key, value, leastUs, static_cast<double>(milliseconds) * 1000, before, after);
}

// Several that share what the program sees of them.
template <class Work>
void together(const char* kind, const char* key, size_t value, int count, double leastUs, Work work) {
  CHECK(cudaDeviceSynchronize());
  const unsigned long long before = now();
  work();
  CHECK(cudaDeviceSynchronize());
  std::printf("{\"kind\": \"%s\", \"%s\": %zu, \"count\": %d, \"least\": %.3f, \"before\": %llu, \"after\": %llu}\n",
              kind, key, value, count, leastUs, before, now());
}

unsigned blocks = 1;

void kernels(cudaStream_t stream) {
  spin<<<1024, 32, 0, stream>>>(0);  // loaded before it is timed
  CHECK(cudaStreamSynchronize(stream));
  nvtxRangePushA("kernels");
  for (const unsigned us : {2u, 5u, 20u, 100u, 1000u})
    for (int round = 0; round < 5; ++round) {
      ++blocks;
      alone("kernel", "blocks", blocks, us, stream, [&] { spin<<<blocks, 32, 0, stream>>>(us * 1000); });
    }
  nvtxRangePop();
}

void streams(cudaStream_t first, cudaStream_t second) {
  for (const cudaStream_t stream : {first, second}) {
    ++blocks;
    together("kernel", "blocks", blocks, 3, 300, [&] {
      for (int i = 0; i < 3; ++i) spin<<<blocks, 32, 0, stream>>>(300'000);
    });
  }
  ++blocks;
  together("kernel", "blocks", blocks, 6, 300, [&] {
    for (int i = 0; i < 3; ++i)
      for (const cudaStream_t stream : {first, second}) spin<<<blocks, 32, 0, stream>>>(300'000);
  });
}

template <class Fill, class Copy>
void sizes(Fill fill, Copy copy) {
  for (size_t bytes : {size_t{4} << 10, size_t{256} << 10, size_t{16} << 20}) {
    fill(bytes);
    copy(bytes);
  }
}

void transfers(cudaStream_t stream) {
  constexpr size_t kMost = 17 << 20;
  char *device, *other, *pinned;
  CHECK(cudaMalloc(&device, kMost));
  CHECK(cudaMalloc(&other, kMost));
  CHECK(cudaMallocHost(&pinned, kMost));
  std::vector<char> pageable(kMost, 1);
  size_t more = 0;  // so that no two pieces have the same bytes
  const auto bytesOf = [&more](size_t bytes) { return bytes + (more += 16); };
  nvtxRangePushA("transfers");
  for (int round = 0; round < 5; ++round)
    sizes(
        [&](size_t about) {
          const size_t bytes = bytesOf(about);
          alone("fill", "bytes", bytes, 0, stream, [&] { CHECK(cudaMemsetAsync(device, round, bytes, stream)); });
        },
        [&](size_t about) {
          const auto one = [&](void* to, const void* from, cudaMemcpyKind kind) {
            const size_t bytes = bytesOf(about);
            alone("copy", "bytes", bytes, 0, stream, [&] { CHECK(cudaMemcpyAsync(to, from, bytes, kind, stream)); });
          };
          one(device, pinned, cudaMemcpyHostToDevice);
          one(pinned, device, cudaMemcpyDeviceToHost);
          one(other, device, cudaMemcpyDeviceToDevice);
          one(device, pageable.data(), cudaMemcpyHostToDevice);
          one(pageable.data(), device, cudaMemcpyDeviceToHost);
        });
  nvtxRangePop();
  CHECK(cudaFree(device));
  CHECK(cudaFree(other));
  CHECK(cudaFreeHost(pinned));
}

void graphs(cudaStream_t stream) {
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  ++blocks;
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  for (int i = 0; i < 4; ++i) spin<<<blocks, 32, 0, stream>>>(50'000);
  CHECK(cudaStreamEndCapture(stream, &graph));
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  together("kernel", "blocks", blocks, 40, 50, [&] {
    for (int i = 0; i < 10; ++i) CHECK(cudaGraphLaunch(exec, stream));
  });
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphDestroy(graph));
}

void managed(cudaStream_t stream) {
  constexpr int kCount = 2 << 20;
  int* values;
  CHECK(cudaMallocManaged(&values, kCount * sizeof(int)));
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < kCount; ++i) values[i] = i + round;
    alone("kernel", "blocks", kCount / 256, 0, stream,
          [&] { increment<<<kCount / 256, 256, 0, stream>>>(values, kCount); });
    for (int i = 0; i < kCount; ++i)
      if (values[i] != i + round + 1) std::exit(2);
  }
  CHECK(cudaFree(values));
}

}  // namespace

int main() {
  cudaStream_t first, second;
  CHECK(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
  kernels(first);
  streams(first, second);
  transfers(first);
  graphs(first);
  managed(first);
  return 0;
}
