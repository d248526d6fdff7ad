// The life of a program of the CUDA runtime: first call, memory, a reset with work behind it, use afterwards, threads,
// an exit that leaves everything to the runtime's handlers.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#define CHECK(call)                                                                                    \
  do {                                                                                                 \
    const cudaError_t result_ = (call);                                                                \
    if (result_ != cudaSuccess) {                                                                      \
      std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(result_)); \
      std::exit(1);                                                                                    \
    }                                                                                                  \
  } while (0)
#define EXPECT(condition)                                                           \
  do {                                                                              \
    if (!(condition)) {                                                             \
      std::fprintf(stderr, "%s:%d: expected %s\n", __FILE__, __LINE__, #condition); \
      std::exit(1);                                                                 \
    }                                                                               \
  } while (0)

static void roundTrip(size_t bytes) {
  std::vector<unsigned char> sent(bytes), received(bytes);
  for (size_t i = 0; i < bytes; ++i) sent[i] = static_cast<unsigned char>(i * 31 + bytes);
  void* memory = nullptr;
  CHECK(cudaMalloc(&memory, bytes));
  CHECK(cudaMemcpy(memory, sent.data(), bytes, cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(received.data(), memory, bytes, cudaMemcpyDeviceToHost));
  EXPECT(sent == received);
  CHECK(cudaMemset(memory, 0x5a, bytes));
  CHECK(cudaMemcpy(received.data(), memory, bytes, cudaMemcpyDefault));
  for (unsigned char byte : received) EXPECT(byte == 0x5a);
  CHECK(cudaFree(memory));
}

// What has no destructor of CUDA's own still calls it, after the driver has closed its gate.
struct Late {
  void* memory = nullptr;
  ~Late() { cudaFree(memory); }
} late;

int main() {
  int driver = 0, runtime = 0, count = 0, current = -1;
  CHECK(cudaDriverGetVersion(&driver));
  CHECK(cudaRuntimeGetVersion(&runtime));
  EXPECT(driver >= 13000 && runtime / 1000 <= driver / 1000);
  CHECK(cudaGetDeviceCount(&count));
  EXPECT(count >= 1);
  for (int device = 0; device < count; ++device) {
    cudaDeviceProp properties;
    CHECK(cudaGetDeviceProperties(&properties, device));
    EXPECT(properties.name[0] && properties.totalGlobalMem > 0 && properties.multiProcessorCount >= 1);
    EXPECT(properties.warpSize == 32 && properties.maxThreadsPerBlock >= 1024);
    char bus[32];
    int found = -1;
    CHECK(cudaDeviceGetPCIBusId(bus, sizeof bus, device));
    CHECK(cudaDeviceGetByPCIBusId(&found, bus));
    EXPECT(found == device);
  }
  CHECK(cudaGetDevice(&current));
  EXPECT(current == 0);
  EXPECT(cudaSetDevice(count) == cudaErrorInvalidDevice);
  EXPECT(cudaGetLastError() == cudaErrorInvalidDevice);

  for (int round = 0; round < 3; ++round) {
    for (int device = 0; device < count; ++device) {
      CHECK(cudaSetDevice(device));
      roundTrip(1);
      roundTrip(12345);
      roundTrip(3 << 20);
    }
    CHECK(cudaSetDevice(0));
    void* behind = nullptr;
    cudaStream_t stream;
    CHECK(cudaMalloc(&behind, 16 << 20));
    CHECK(cudaStreamCreate(&stream));
    for (int i = 0; i < 10; ++i) CHECK(cudaMemsetAsync(behind, i, 16 << 20, stream));
    CHECK(cudaDeviceReset());  // with work behind it
  }

  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([i, count] {
      CHECK(cudaSetDevice(i % count));
      for (int round = 0; round < 20; ++round) roundTrip(static_cast<size_t>(1000 * i + round + 1));
      int device = -1;
      CHECK(cudaGetDevice(&device));
      EXPECT(device == i % count);
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(cudaMalloc(&late.memory, 1024));
  CHECK(cudaDeviceSynchronize());
  std::puts("passed");
  return 0;
}
