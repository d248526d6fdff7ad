// What warps of a block keep while they wait at barriers: what can be computed again, what is the same in all of them,
// flags, and what is neither; and neighbours that are clamped to a border. The source of kept.ptx:
//   nvcc -arch=sm_90 -ptx -o kept.ptx kept.cu
#include "kernel.h"

__device__ __forceinline__ int inBlock() { return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z); }
// Another number in each block.
__device__ __forceinline__ int ofBlock(int n) { return n + 3 * blockIdx.x + blockIdx.y; }
__device__ __forceinline__ int threadsOfBlock() { return blockDim.x * blockDim.y * blockDim.z; }

// A stencil in a tile: clamped neighbours, the cells that still count grow fewer, a flag says which were computed.
KERNEL stencilSteps(ARGS) {
  const int m = ofBlock(n);
  __shared__ float now[520], next[520];
  const int w = blockDim.x, h = blockDim.y, tx = threadIdx.x, ty = threadIdx.y, t = inBlock();
  if (threadsOfBlock() > 512) return;
  const int left = int(blockIdx.x) * 7 - 3, firstX = left < 0 ? -left : 0, lastX = left + w > 40 ? 40 - left : w - 1;
  const int firstY = m & 1, lastY = h - 1 - (m & 2) / 2, plane = threadIdx.z * w * h;
  const int steps = 1 + (m & 3);
  now[t] = float(in[t & 31] % 1000) * 0.25f;
  next[t] = -1;
  __syncthreads();
  int north = ty - 1, south = ty + 1, west = tx - 1, east = tx + 1;
  north = north < firstY ? firstY : north, south = south > lastY ? lastY : south;
  west = west < firstX ? firstX : west, east = east > lastX ? lastX : east;
  north = max(0, min(north, h - 1)), south = max(0, min(south, h - 1));
  west = max(0, min(west, w - 1)), east = max(0, min(east, w - 1));
  bool isDone = false;
  for (int step = 0; step < steps; ++step) {
    isDone = false;
    if (tx >= step + 1 && tx <= w - step - 2 && ty >= step && ty <= h - step - 1 && tx >= firstX && tx <= lastX) {
      isDone = true;
      const int row = plane + ty * w;
      next[t] = now[t] + 0.5f * ((now[plane + south * w + tx] + now[plane + north * w + tx] - 2.0 * now[t]) * 0.125 +
                                 (now[row + east] + now[row + west] - 2.0 * now[t]) * 0.25);
    }
    __syncthreads();
    if (step == steps - 1) break;
    if (isDone) now[t] = next[t];
    __syncthreads();
  }
  out[linear()] = isDone ? __float_as_uint(next[t]) : t;
}

// One barrier a round, with values of all warps that change from round to round and with each other.
KERNEL commonRounds(ARGS) {
  const int m = ofBlock(n);
  __shared__ unsigned sums[520];
  const int t = inBlock(), count = threadsOfBlock();
  if (count > 512) return;
  unsigned a = m, b = blockIdx.x + 1, own = threadIdx.y * 3 + 1, limit = 3 + (m & 7);
  double scale = 0.5 * m;
  sums[t] = in[t & 31];
  for (unsigned round = 0; round < limit; ++round) {
    __syncthreads();
    const unsigned other = sums[(t + a) % count];
    const unsigned sum = a + b;
    a = b, b = sum;
    own = own * 5 + a;
    if (m & 4) scale = scale * 0.75 + round;
    if ((a & 7) == 5) limit -= 1;
    __syncthreads();
    sums[t] = other * 3 + own + b;
  }
  out[linear()] = sums[t] + a * 7 + b * 11 + own + unsigned(long(scale * 16));
}

// Values that only some warps change, by conditions of rows, columns and lanes, and some that all change at times.
KERNEL someChange(ARGS) {
  const int m = ofBlock(n);
  __shared__ unsigned kept[520];
  const int t = inBlock();
  if (threadsOfBlock() > 512) return;
  unsigned byAll = 1, byRow = 2, byColumn = 3, byLane = 4, byWarp = 5;
  kept[t] = 0;
  for (int round = 0; round < 4; ++round) {
    if (m & 1) byAll = byAll * 3 + round;
    if (threadIdx.y == unsigned(round)) byRow = byRow * 5 + 1;
    if (threadIdx.x > 7) byColumn = byColumn * 7 + 1;
    if (in[t & 31] & 1) byLane = 9;
    if (t < 32) byWarp = byWarp + byAll;
    __syncthreads();
    kept[t] += byAll + byRow * 3 + byColumn * 5 + byLane * 7 + byWarp * 11;
    if (threadIdx.x >= blockDim.x / 2) {
      byAll += 0;
      byWarp ^= 1;
    }
    __syncthreads();
    kept[t] ^= kept[t] >> 3;
    if (threadIdx.z == 1) byAll = 8;  // no longer by all
  }
  out[linear()] = kept[t] + byAll;
}

// Flags that are set, cleared, turned round and combined, in numbers of several widths.
KERNEL flags(ARGS) {
  const int m = ofBlock(n);
  __shared__ unsigned seen[520];
  const int t = inBlock();
  if (threadsOfBlock() > 512) return;
  bool any = false, all = true, odd = false;
  int number = 0;
  unsigned char few = 0;
  seen[t] = in[t & 31];
  for (int round = 0; round < 3 + (m & 3); ++round) {
    __syncthreads();
    const unsigned v = seen[t] >> round;
    if (v & 1) any = true, number = 1;
    if (v & 2) all = false;
    if (v & 4) odd = !odd;
    if (threadIdx.x > 3 + round) few = any && !odd;
    if (v & 8) number = odd ? 1 : 0;
    __syncthreads();
    if (any && odd) seen[t] += 3;
    if (all || few) seen[t] ^= 0x50;
    if (number) seen[t] += 0x100;
  }
  out[linear()] = seen[t] * 32 + any + all * 2 + odd * 4 + number * 8 + few * 16;
}

// Long and short ways to values of thread indices, used behind barriers, among them some that fault if computed early.
KERNEL indicesAgain(ARGS) {
  const int m = ofBlock(n);
  __shared__ unsigned places[520];
  const int t = inBlock();
  if (threadsOfBlock() > 512) return;
  const unsigned x = threadIdx.x, y = threadIdx.y, k = m;
  const unsigned shortWay = x * 4 + y, mixed = (x ^ y) + (k & 3),
                 longWay = ((((x + 1) * (y + 3)) ^ k) * 7 + x) * (y | 1);
  const int divided = m > 1002 ? int(x) / (m - 1002) : -1;
  const unsigned small = min(x, 9u), large = max(y, k & 1), chosen = y & 1 ? x : k;
  const bool inside = x > 1 && y < 3 && k > 1001;
  places[t] = 0;
  for (unsigned round = 0; round < 2 + (k & 1); ++round) {
    __syncthreads();
    places[t] += shortWay + round;
    __syncthreads();
    places[t] ^= mixed * 3 + longWay;
    __syncthreads();
    if (inside) places[t] += divided + small * large;
  }
  __syncthreads();
  out[linear()] = places[t] + chosen + longWay;
}

// Rows of neighbours clamped to borders, in global memory by indices of 32 bits, where rows are not whole.
KERNEL clampedRows(ARGS) {
  const int m = ofBlock(n);
  const int t = linear(), x = int(threadIdx.x), w = int(blockDim.x);
  const int last = m & 1 ? w - 1 : 5, first = m & 2 ? 0 : 2;
  const int base = (t - x) & 15;
  unsigned sum = 0;
  if (x >= 0) sum += in[base + min(max(x - 1, first), 15)];
  if (x < w - 1) sum += 3 * in[base + min(min(x + 1, last), 15)];
  if (x > 2) sum += 5 * in[base + (x < last ? min(x, 15) : max(first, 0))];
  if (x & 1) sum += 7 * in[base + min(unsigned(x - 1), 14u)];
  sum += 11 * in[base + min(abs(x - 3), 15)];
  sum += 13 * in[min(15, 2 * min(x, 7))];
  if (x < last) out[8 * (t - x) + max(x, first) + (x < first ? 2 * w + x : 0)] = sum;
  out[8 * (t - x) + 4 * w + min(x, w)] = sum * 3;
}
