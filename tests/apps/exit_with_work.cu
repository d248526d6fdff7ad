// The program ends with memory, streams and work still alive, and touches the runtime from a static destructor.
#include "check.h"

__global__ void spin(int* values, int rounds) {
  for (int i = 0; i < rounds; ++i) values[threadIdx.x] = values[threadIdx.x] * 3 + 1;
}

struct AtExit {
  int* memory = nullptr;
  ~AtExit() {
    const cudaError_t code = cudaFree(memory);
    if (code != cudaSuccess && code != cudaErrorCudartUnloading) std::_Exit(1);
  }
};

static AtExit holder;

int main() {
  CHECK(cudaMalloc(&holder.memory, 4096));
  int* leaked = nullptr;
  CHECK(cudaMalloc(&leaked, 1 << 20));
  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));
  spin<<<4, 64, 0, stream>>>(leaked, 1000);
  CHECK(cudaGetLastError());
  CHECK(cudaMemcpyAsync(holder.memory, leaked, 4096, cudaMemcpyDeviceToDevice, stream));
  return passed();
}
