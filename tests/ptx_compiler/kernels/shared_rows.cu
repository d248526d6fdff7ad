// Rows of shared memory that some lanes store to, up to its first and last byte, where rows of the other lanes go
// beyond. The source of shared_rows.ptx:
//   nvcc -arch=sm_90 -ptx -o shared_rows.ptx shared_rows.cu
#include <cstdint>

#include "kernel.h"

__device__ __forceinline__ int inBlock() { return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z); }

// One element before the thread's own and one behind it, in all of the block's shared memory.
KERNEL shifted(ARGS) {
  __shared__ unsigned row[256];
  const int t = inBlock(), threads = blockDim.x * blockDim.y * blockDim.z;
  for (int k = t; k < 256; k += threads) row[k] = k;
  __syncthreads();
  const unsigned word = in[linear() % n];
  if (t > 0 && t <= 256) row[t - 1] = word;
  __syncthreads();
  const unsigned before = row[t % 256];
  __syncthreads();
  if (t < 255 && word % 3) row[t + 1] = word * 5;
  __syncthreads();
  if (t >= 5 && t < 261 && word & 1) row[t - 5] = ~word;
  __syncthreads();
  out[linear() * 2] = before;
  out[linear() * 2 + 1] = row[t % 256];
}

// Rows of blocks with two dimensions: floats and elements of eight bytes, and lanes by number and by data.
KERNEL borders(ARGS) {
  __shared__ float now[16][16];
  __shared__ uint64_t wide[16][16];
  const int x = threadIdx.x % 16, y = (threadIdx.y + threadIdx.x / 16) % 16;
  const unsigned word = in[linear() % n];
  const int t = inBlock(), threads = blockDim.x * blockDim.y * blockDim.z;
  for (int k = t; k < 256; k += threads) now[k / 16][k % 16] = float(k), wide[k / 16][k % 16] = k;
  __syncthreads();
  // Threads of one place store the same.
  if (x > 0 && x < 15 && y > 0 && y < 15) now[y][x] = float(x * 16 + y);
  if (x >= 3 && y != 4) wide[y][x] = uint64_t(x) << 40 | y;
  __syncthreads();
  float sum = now[y][x] + now[(y + 1) % 16][x];
  for (int round = 0; round < 3; ++round) {
    __syncthreads();
    if (x > round && x < 15 - round) now[y][x - round - 1] = float(x + y * round);
    __syncthreads();
    sum += now[y][(x + round) % 16];
  }
  out[linear() * 2] = __float_as_uint(sum) ^ word;
  out[linear() * 2 + 1] = unsigned(wide[y][x] >> 33) + unsigned(wide[y][x]);
}

// The first rows of a window with nothing in front of it, and a row as long as the window only for lanes that are
// there.
KERNEL tiny(ARGS) {
  __shared__ unsigned few[5];
  const int t = inBlock();
  if (t < 5) few[t] = in[t];
  __syncthreads();
  if (t >= 2 && t < 7) few[t - 2] ^= t;
  __syncthreads();
  out[linear()] = few[t % 5];
}

// A row of global memory for each round, at distances that the kernel is given, upwards and downwards.
KERNEL rowOfEachRound(ARGS) {
  __shared__ unsigned row[512];
  const int t = inBlock(), threads = blockDim.x * blockDim.y * blockDim.z, pitch = n / 16;
  unsigned sum = 0;
  int at = t % pitch, down = 15 * pitch + t % pitch;
#pragma unroll 1
  for (int round = 0; round < 15; ++round, at += pitch, down -= pitch) {
    row[t % 512] = in[at];
    __syncthreads();
    sum = sum * 3 + row[(t + 7) % (threads < 512 ? threads : 512)] + in[down];
    __syncthreads();
  }
  // In blocks of whole warps the lanes of a warp read side by side.
  const int step = blockDim.x, rounds = min(n / step, 5);
  unsigned straight = 0;
  int place = threadIdx.x, back = threadIdx.x + (rounds - 1) * step;
#pragma unroll 1
  for (int round = 0; round < rounds; ++round, place += step, back -= step) {
    straight = straight * 5 + in[place];
    __syncthreads();
    straight ^= in[back];
    __syncthreads();
  }
  out[linear() * 2] = sum;
  out[linear() * 2 + 1] = straight;
}
