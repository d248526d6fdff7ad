// Two files of relocatable device code, linked when the program loads.
#include <cstdio>

__device__ int part(int value);

__global__ void caller(int* out) {
  out[threadIdx.x] = part(threadIdx.x);  // lanes: 48
}

int main() {
  int* out = nullptr;
  cudaMalloc(&out, 4096);
  caller<<<1, 48>>>(out);
  const cudaError_t result = cudaDeviceSynchronize();
  if (result != cudaSuccess) std::printf("%s\n", cudaGetErrorString(result));
  return result != cudaSuccess;
}
