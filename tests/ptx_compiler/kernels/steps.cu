// Columns: each lane reads and writes at a constant distance from its neighbour, in loops whose lanes come and go. The
// halves of a warp do different things, so that one of them is absent from a loop all the time. The source of
// steps.ptx:
//   nvcc -arch=sm_90 -ptx -o steps.ptx steps.cu
#include "kernel.h"

constexpr int kMost = 32, kSide = 16, kRow = 8, kOdd = 5;  // warps of a block

__device__ __forceinline__ int inBlock() { return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z); }

// A triangle by columns in one half, by rows in the other.
KERNEL halves(ARGS) {
  __shared__ unsigned columns[4][kSide][kSide], rows[4][kSide][kSide];
  const int warp = inBlock() / 32 % 4, t = inBlock() % kSide;
  const bool isRow = inBlock() % 32 < kSide;
  auto& column = columns[warp];
  auto& row = rows[warp];
  for (int y = 0; y < kSide; ++y) {
    if (isRow)
      row[y][t] = in[(linear() + y) % n];
    else
      column[t][y] = in[(linear() * 3 + y) % n];
  }
  __syncthreads();
  if (inBlock() < 128) {
    if (isRow) {
      for (int i = 1; i < kSide; ++i)
        for (int j = 0; j < i; ++j) row[i][t] -= (j + i) * row[j][t];
    } else {
      for (int i = 0; i < kSide; ++i) {
        for (int j = 0; j < i; ++j) column[t][i] -= column[t][j] * (i ^ j);
        column[t][i] = column[t][i] * 7 + i;
      }
    }
  }
  __syncthreads();
  unsigned sum = 0;
  for (int y = 0; y < kSide; ++y) sum = sum * 31 + (isRow ? row[y][t] : column[t][y]);
  out[linear() * 8] = sum;
}

// Members of structures, and loops that each lane leaves at its own time.
KERNEL members(ARGS) {
  unsigned* const mine = out + linear() * 8;
  const unsigned seed = in[linear() % n];
  for (int k = 0; k < 8; ++k) mine[k] = seed * k;
  const int rounds = seed % 9;
  unsigned sum = seed;
  for (int k = 0; k < rounds; ++k) {
    sum = sum * 5 + mine[k % 8];
    mine[(k + 3) & 7] = sum;
  }
  for (int k = 0; k < 8; ++k)
    if ((seed >> k) & 1) mine[k] += mine[7 - k] + sum;
}

// The same backwards, and with a distance that is no power of two.
KERNEL backwards(ARGS) {
  __shared__ unsigned words[kMost * 32 * kOdd];
  const int at = (kMost * 32 - 1 - inBlock()) * kOdd;
  const unsigned seed = in[linear() % n];
  for (int k = 0; k < kOdd; ++k) words[at + k] = seed + k;
  unsigned sum = 0;
  for (int round = 0; round < int(seed % 4) + 2; ++round)
    for (int k = 0; k < kOdd; ++k) {
      sum = sum * 3 + words[at + kOdd - 1 - k];
      words[at + k] = sum;
    }
  out[linear() * 8] = sum;
}

// Several lanes meet in a place, which one of them decides.
KERNEL meet(ARGS) {
  __shared__ unsigned words[kMost][32];
  const int t = inBlock() % 32, warp = inBlock() / 32 % kMost;
  words[warp][t] = in[linear() % n];
  __syncwarp();
  unsigned sum = 0;
  for (int k = 0; k < 8; ++k) {
    words[warp][(t & ~3) % 32] = sum + in[(linear() + k) % n];
    __syncwarp();
    sum = sum * 5 + words[warp][t];
    __syncwarp();
  }
  out[linear() * 8] = sum;
}

// What one column gives goes to the next one.
KERNEL moved(ARGS) {
  __shared__ unsigned words[kMost * 32 * kRow];
  unsigned* const mine = words + inBlock() * kRow;
  const unsigned seed = in[linear() % n];
  for (int k = 0; k < kRow; ++k) mine[k] = seed * (k + 1) >> 3;
  for (int i = 1; i < 1 + int(seed % kRow); ++i) {
    const unsigned value = mine[i];
    int at = i;
    for (; at > 0 && mine[at - 1] > value; --at) mine[at] = mine[at - 1];
    mine[at] = value;
  }
  for (int k = 0; k < int(seed % (kRow - 1)) + 1; ++k) mine[k] = mine[k + 1];
  unsigned sum = 0;
  for (int k = 0; k < kRow; ++k) sum = sum * 3 + mine[k];
  out[linear() * 8] = sum;
}
