// What coverage is tested with: every count is known. Lines say how many lanes run them.
#include <cstdio>
#include <cstdlib>

#include "header.h"

__device__ __noinline__ int never(int value) {
  return value * 3;  // lanes: 0
}

__global__ void both(int* out, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;  // lanes: 128
  if (i >= count) return;                               // lanes: 128, branch
  int sum = 0;
#pragma unroll 1
  for (int round = 0; round < i % 4; ++round) {
    sum += atomicAdd(out + 64, 1);  // lanes: 96
  }
  if (i == 1000) sum = never(sum);
  out[i % 64] = sum;  // lanes: 64
}

__global__ void templates(float* out, int* seen) {
  const int i = threadIdx.x;
  out[i] = i < 50 ? weighed<float>(i, 40, seen) : weighed<int>(i, 80, seen);
}

__global__ void unused(int* out) {
  *out = never(*out);  // lanes: 0
}

int main() {
  int* out = nullptr;
  cudaMalloc(&out, 4096);
  both<<<4, 32>>>(out, 64);
  templates<<<1, 100>>>(reinterpret_cast<float*>(out), out + 200);
  const cudaError_t result = cudaDeviceSynchronize();
  if (result != cudaSuccess) std::printf("%s\n", cudaGetErrorString(result));
  if (out == reinterpret_cast<int*>(1)) unused<<<1, 1>>>(out);
  return result != cudaSuccess;
}
