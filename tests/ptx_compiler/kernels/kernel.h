// Every kernel has the same parameters: n input words, an output with room for eight words a thread, which it may also
// use as scratch, and n.
#pragma once

#define KERNEL extern "C" __global__ void
#define ARGS const unsigned *__restrict__ in, unsigned *out, int n

// The number of the thread in the grid.
__device__ __forceinline__ int linear() {
  const int block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  const int thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  return block * (blockDim.x * blockDim.y * blockDim.z) + thread;
}
