// Loops that some lanes enter in the middle, before barriers: the number of the thread, which is one word for a warp,
// lives across both. The source of entered.ptx:
//   nvcc -arch=sm_90 -fmad=false -ptx -o entered.ptx entered.cu
#include <cstdint>

#include "kernel.h"

__device__ uint32_t ofAnother(uint32_t mine) {
  __shared__ uint32_t words[1024];
  const uint32_t thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  const uint32_t threads = blockDim.x * blockDim.y * blockDim.z;
  __syncthreads();
  words[thread] = mine;
  __syncthreads();
  return words[(thread + threads / 2 + 1) % threads];
}

// Once, and as often as the input says.
KERNEL entered(ARGS) {
  const uint32_t thread = linear();
  uint32_t value = thread, rounds = 0;
  if (thread & 4) goto middle;
  while (++rounds < 4) {
  middle:
    value ^= thread * value;
  }
  const uint32_t other = ofAnother(value);
  out[8 * thread] = value, out[8 * thread + 1] = other + thread;
}

KERNEL enteredAgain(ARGS) {
  const uint32_t thread = linear();
  uint32_t value = in[thread % n], sum = thread;
#pragma unroll 1
  for (uint32_t round = 0; round < in[0] % 3 + 1; ++round) {
    uint32_t rounds = 0;
    if ((sum / (value | 1)) & 4) goto middle;
    while (++rounds < 4) {
      sum += round;
    middle:
      value ^= thread * (value - thread);
    }
    sum += ofAnother(value);
  }
  out[8 * thread] = value, out[8 * thread + 1] = sum ^ thread;
}
