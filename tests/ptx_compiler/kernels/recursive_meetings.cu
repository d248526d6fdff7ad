// Lanes and warps that meet in functions that call themselves. Made by
//   nvcc -arch=sm_90 -ptx -o recursive_meetings.ptx recursive_meetings.cu
#include <mma.h>

#include "kernel.h"

#define RECURSIVE __device__ __noinline__ unsigned
constexpr unsigned kAll = ~0u;

__device__ int threadOfBlock() { return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z); }
__device__ int threadsOfBlock() { return blockDim.x * blockDim.y * blockDim.z; }
__device__ unsigned laneOfWarp() { return threadOfBlock() % 32; }
// Of the lane so far away, or of this one where there is none.
__device__ unsigned otherOf(unsigned value, unsigned distance) {
  const int thread = threadOfBlock(), other = thread ^ distance;
  return __shfl_sync(kAll, value, (other < threadsOfBlock() ? other : thread) % 32);
}

// Lanes that come to one shuffle from different depths, and to another one behind their calls.
RECURSIVE meetAtTheBottom(unsigned value, unsigned depth) {
  if (depth == 0) return otherOf(value, 1);
  const unsigned deeper = meetAtTheBottom(value * 5 + depth, depth - 1);
  return deeper * 3 + 1;
}
KERNEL bottoms(ARGS) {
  const int i = linear();
  const unsigned lane = laneOfWarp();
  unsigned r = meetAtTheBottom(in[i % n], (lane * 7 + 3) % 5);
  r += otherOf(r, 2);
  out[8 * i] = r;
}

// Groups of lanes, each as deep as its own data say; within a group all are at one depth.
RECURSIVE walkTogether(unsigned value, unsigned depth, unsigned group) {
  const unsigned votes = __ballot_sync(group, value & 1), first = __ffs(group) - 1;
  if (depth == 0) return votes + __reduce_add_sync(group, value & 0xff);
  unsigned r = walkTogether(value + __shfl_sync(group, value, first), depth - 1, group);
  if (depth & 1) r = r * 3 + walkTogether(r ^ votes, depth / 2, group);
  const bool any = __any_sync(group, r & 4);
  return r + any + __popc(__match_any_sync(group, r & 3));
}
KERNEL groups(ARGS) {
  const int i = linear();
  const unsigned value = in[i % n], depth = value % 4;
  const unsigned group = __match_any_sync(__activemask(), depth);
  out[8 * i] = walkTogether(value, depth, group);
  out[8 * i + 1] = value & 8 ? 0 : 1;
}

// Groups that become smaller the deeper they are, with barriers of the group round stores.
RECURSIVE sortedPlaces(unsigned* mine, unsigned key, unsigned bit, unsigned group, unsigned lane) {
  const unsigned ones = __ballot_sync(group, key >> bit & 1), zeros = group & ~ones;
  const bool one = key >> bit & 1;
  mine[lane] = key + bit;
  __syncwarp(group);
  const unsigned other = mine[31 - __clz(group)];
  __syncwarp(group);
  const unsigned below = one ? __popc(zeros) : 0;
  const unsigned inside = one ? ones : zeros;
  if (bit == 0) return below + __popc(inside & ((1u << lane) - 1)) + (other & 1);
  return below + sortedPlaces(mine, key, bit - 1, inside, lane);
}
KERNEL radix_sort(ARGS) {
  __shared__ unsigned space[1024];
  const int i = linear(), thread = threadOfBlock();
  const unsigned group = __activemask();
  out[8 * i] = sortedPlaces(space + (thread & ~31), in[i % n] % 64, 5, group, thread % 32);
}

// Barriers of the block, also those that combine.
RECURSIVE blockTree(unsigned* space, unsigned value, int threads, int width) {
  const int thread = threadOfBlock();
  space[thread] = value;
  const unsigned odd = __syncthreads_count(value & 1);
  if (width == 0) return space[0] + odd;
  const unsigned sum = value + space[(thread + width) % threads];
  __syncthreads();
  const unsigned deeper = blockTree(space, sum, threads, width / 2);
  return __syncthreads_or(deeper == thread) ? deeper * 3 : deeper * 5 + value;
}
KERNEL block_tree(ARGS) {
  __shared__ unsigned space[1024];
  const int i = linear();
  out[8 * i] = blockTree(space, in[i % n], threadsOfBlock(), threadsOfBlock() / 2);
}

// Only some lanes call: the others wait for them behind the call.
RECURSIVE stepsOf(unsigned n) { return n < 2 ? n : stepsOf(n % 3 ? n - 1 : n / 3) + 1; }
RECURSIVE waitForCallers(unsigned* space, unsigned value, unsigned depth) {
  unsigned r = value;
  if (value & 1) r += stepsOf(value % 23);
  r += otherOf(r, 1);
  const int thread = threadOfBlock();
  space[thread] = r;
  if (value & 2) r ^= stepsOf(value % 7 + thread % 5) << 8;
  __syncthreads();
  r += space[threadsOfBlock() - 1 - thread];
  __syncthreads();
  return depth ? waitForCallers(space, r, depth - 1) + 1 : r;
}
KERNEL callers(ARGS) {
  __shared__ unsigned space[1024];
  const int i = linear();
  out[8 * i] = waitForCallers(space, in[i % n], blockIdx.x % 3);
}

// Matrices.
using namespace nvcuda::wmma;
RECURSIVE powerOf(half* matrix, half* scratch, unsigned exponent) {
  if (exponent == 0) return 1;
  const unsigned deeper = powerOf(matrix, scratch, exponent - 1);
  fragment<matrix_a, 16, 16, 16, half, row_major> a;
  fragment<matrix_b, 16, 16, 16, half, row_major> b;
  fragment<accumulator, 16, 16, 16, half> c;
  fill_fragment(c, 0.0f);
  load_matrix_sync(a, matrix, 16);
  load_matrix_sync(b, scratch, 16);
  mma_sync(c, a, b, c);
  __syncwarp();
  store_matrix_sync(scratch, c, 16, mem_row_major);
  __syncwarp();
  return deeper * 3 + exponent;
}
KERNEL powers_of_matrices(ARGS) {
  __shared__ half space[8][512];
  const int i = linear(), thread = threadOfBlock(), warp = thread / 32, lane = thread % 32;
  unsigned r = 0;
  if (threadsOfBlock() % 32 == 0) {
    half *matrix = space[warp % 8], *scratch = matrix + 256;
    if (warp < 8) {
      for (int k = lane; k < 256; k += 32) {
        matrix[k] = __float2half(float(in[(i + k) % n] % 3));
        scratch[k] = __float2half(k / 16 == k % 16 ? 1.0f : 0.0f);
      }
      __syncwarp();
      r = powerOf(matrix, scratch, warp % 3 + 1);
      r = r * 7 + __half_as_ushort(scratch[lane * 8 + 3]);
    }
  }
  out[8 * i] = r;
}
