// Shared memory at a constant distance from lane to lane: diagonals of a tile that begin with some of the lanes,
// elements that several stores reach, rows read as columns, and stores of other widths and from elsewhere in between.
// In blocks of one warp all places are known when code is made. The source of known_places.ptx:
//   nvcc -arch=sm_90 -ptx -o known_places.ptx known_places.cu
#include "kernel.h"

constexpr int kSide = 8, kMost = 8;  // warps of a block

__device__ __forceinline__ int inBlock() { return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z); }

// The first lanes of each warp have a tile.
KERNEL wavefront(ARGS) {
  __shared__ int tiles[kMost][kSide + 1][kSide + 1];
  auto& tile = tiles[inBlock() / 32 % kMost];
  const int t = inBlock() % 32;
  const bool takesPart = t < kSide;
  if (takesPart)
    for (int y = 0; y <= kSide; ++y) tile[y][t] = in[(linear() + y) % n] & 1023;
  if (t == 0)
    for (int y = 0; y <= kSide; ++y) tile[y][kSide] = y;
  __syncthreads();
#pragma unroll
  for (int m = 0; m < kSide; ++m) {
    if (t <= m) {
      const int x = t + 1, y = m - t + 1;
      tile[y][x] = max(tile[y - 1][x - 1] + 3, max(tile[y][x - 1], tile[y - 1][x]) - 2);
    }
    __syncthreads();
  }
#pragma unroll
  for (int m = kSide - 2; m >= 0; --m) {
    if (t <= m) {
      const int x = t + kSide - m, y = kSide - t;
      tile[y][x] = max(tile[y - 1][x - 1] + 3, max(tile[y][x - 1], tile[y - 1][x]) - 2);
    }
    __syncthreads();
  }
  int sum = 0;
  if (takesPart)
    for (int y = 0; y <= kSide; ++y) sum = sum * 31 + tile[y][t + 1];
  out[linear() * 8] = sum;
}

// Rows become columns, some are overwritten in part, and some lanes store where others have.
KERNEL overwritten(ARGS) {
  __shared__ __align__(16) int words[kMost][32 * 5 + 64];
  int* const mine = words[inBlock() / 32 % kMost];
  const int t = inBlock() % 32;
  const int value = in[linear() % n];
  for (int k = t; k < 32 * 5 + 64; k += 32) mine[k] = k;
  __syncthreads();
  mine[t * 4] = value;
  __syncthreads();
  int sum = mine[t * 4 + 4] + mine[t + 1] * 3;
  __syncthreads();
  if (t < 5) mine[t * 4 + 12] = sum;
  __syncthreads();
  sum = sum * 7 + mine[t * 4];
  __syncthreads();
  reinterpret_cast<unsigned char*>(mine)[t * 8 + 1] = sum;
  __syncthreads();
  sum = sum * 7 + mine[t * 2 + 1] + mine[t * 4 + 4];
  __syncthreads();
  if (t % 3 == 0) reinterpret_cast<long long*>(mine)[t] = (long long)sum << 13;
  __syncthreads();
  sum = sum * 7 + mine[t * 2] + mine[t * 3];
  __syncthreads();
  int* const there = n < 0 ? reinterpret_cast<int*>(out) : mine;  // it is not known which
  there[t * 4 + 1] = sum;
  __syncthreads();
  sum = sum * 7 + mine[t * 4 + 1] + mine[t * 5];
  __syncthreads();
  mine[t & 12] = t;  // several lanes store to one place
  __syncthreads();
  out[linear() * 8] = sum * 7 + mine[t & 14];
}

// One word a row of the block.
KERNEL rowsStore(ARGS) {
  __shared__ unsigned rows[64];
  __shared__ double wide[64];
  const int row = threadIdx.y + blockDim.y * threadIdx.z, t = threadIdx.x;
  for (int k = inBlock(); k < 64; k += blockDim.x * blockDim.y * blockDim.z) rows[k] = wide[k] = k;
  const unsigned value = in[linear() % n];
  __syncthreads();
  if (row < 64) {
    if (t == 1) rows[row] = value;
    if (t == 2) wide[row] = value;
  }
  __syncthreads();
  unsigned sum = row < 64 ? rows[row] + unsigned(wide[row]) * 5 : 0;
  __syncthreads();
  if (32 % blockDim.x == 0 && blockDim.x < 32) {  // two rows of one warp, of which is known whose stays
    rows[row / 2 % 64] = row * 1000 + t;
    __syncwarp();
    sum = sum * 3 + rows[row / 2 % 64];
    __syncwarp();
    if (value & 1) wide[row / 2 % 64] = row * 1000 + t;
    __syncwarp();
    sum = sum * 3 + unsigned(wide[row / 2 % 64]) * 5;
  }
  out[linear() * 8 + 7] = sum;
}

// Neighbours that stop at a border: as maximum and minimum give them.
KERNEL clamped(ARGS) {
  __shared__ unsigned rows[1024 + 64];
  const int size = blockDim.x * blockDim.y * blockDim.z, t = inBlock();
  for (int k = t; k < 1024 + 64; k += size) rows[k] = k * 7;
  __syncthreads();
  const int base = threadIdx.y * blockDim.x, x = threadIdx.x, first = in[3] % 4;
  const int last = max(int(blockDim.x) - 1 - int(in[5] % 4), 0);
  unsigned sum = rows[base + max(x - 1, first)] * 3 + rows[base + min(x + 1, last)];
  if (x > first && x < last) sum = sum * 31 + rows[base + max(x - 1, first)] * 3 + rows[base + min(x + 1, last)];
  __syncthreads();
  if (x > first && x < last) rows[base + max(x - 1, first)] = sum;
  __syncthreads();
  sum += in[(max(x - 2, 0) + linear() - x) % n] + in[min(x + 2, n - 1)];
  // Bits of the thread's number above those of the lane, and below.
  sum = sum * 31 + (x >> 6) * 5 + (x & 63) * 3 + rows[x & 63] + (x >> 7) + rows[(x & 127) + (x >> 7) * 32] + (x & ~63);
  out[linear() * 8 + 3] = sum;
}
