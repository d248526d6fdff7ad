// Rounds that begin with a barrier, in loops that ask shared memory how far to go: all threads of a block make the same
// number of rounds, which only the values say. The source of barrier_rounds.ptx:
//   nvcc -arch=sm_80 -ptx -o barrier_rounds.ptx barrier_rounds.cu
#include "kernel.h"

struct Limits {
  int step, turns;
};

__device__ __forceinline__ int rank() { return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z); }
__device__ __forceinline__ int threads() { return blockDim.x * blockDim.y * blockDim.z; }

__device__ void begin(const unsigned* in, Limits* limits, unsigned* sums) {
  if (!rank()) limits->step = in[0] % 7 + 1, limits->turns = in[1] % 3 + 1;
  sums[rank()] = in[2] % 100;
  __syncthreads();
}

// Two loops inside each other, both of which begin with a barrier, in one whose step is in shared memory.
KERNEL nested(ARGS) {
  __shared__ Limits limits;
  __shared__ unsigned sums[1024];
  begin(in, &limits, sums);
  const int group = rank() % limits.step, end = 20 + group;
#pragma unroll 1
  for (int at = group; at < end; at += limits.step) {
#pragma unroll 1
    for (int turn = 0; turn < limits.turns; ++turn) {
      __syncthreads();
      const unsigned neighbour = sums[(rank() + 1) % threads()];
#pragma unroll 1
      for (int more = 0; more < limits.turns; ++more) {
        __syncthreads();
        sums[rank()] += at - group + turn * more;
      }
      if (neighbour == 77) sums[rank()] ^= 5;
    }
    __syncthreads();
  }
  out[8 * linear()] = sums[rank()];
}

// The same with rounds that some lanes leave out, and with the neighbour's value behind each barrier.
KERNEL withNeighbours(ARGS) {
  __shared__ Limits limits;
  __shared__ unsigned sums[1024];
  begin(in, &limits, sums);
  const int group = rank() % limits.step, end = 15 + group;
#pragma unroll 1
  for (int at = group; at < end; at += limits.step) {
    if (limits.turns > 5) continue;
    int turn = 0;
#pragma unroll 1
    do {
      __syncthreads();
      const unsigned neighbour = sums[(rank() + 5) % threads()];
      __syncthreads();
      if (neighbour % 3) sums[rank()] = sums[rank()] * 5 + neighbour + turn;
    } while (++turn < limits.turns);
    __syncthreads();
  }
  out[8 * linear()] = sums[rank()];
}
