// Tiles in shared memory: sums of products that are long chains, of warps that read the same rows of a tile and of such
// that do not. The source of jammed.ptx:
//   nvcc -arch=sm_90 -ptx -o jammed.ptx jammed.cu
#include <cstdint>

#include "kernel.h"

__device__ int inBlock() { return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z); }
__device__ float small(uint32_t word) { return static_cast<float>(word % 2048) / 256; }
__device__ void give(uint32_t* out, float a, float b) {
  out[8 * linear()] = __float_as_uint(a), out[8 * linear() + 1] = __float_as_uint(b);
}

// A product of tiles: rows by threadIdx.y, columns by threadIdx.x.
template <int kDeep>
__device__ void product(const unsigned* in, unsigned* out, int n) {
  __shared__ float a[32 * kDeep], b[kDeep * 128];
  const int row = threadIdx.y + blockDim.y * threadIdx.z, threads = blockDim.x * blockDim.y * blockDim.z;
  float sum = 0;
  for (int start = 0; start < 2; ++start) {
    for (int i = inBlock(); i < blockDim.y * blockDim.z * kDeep; i += threads)
      a[i] = small(in[(i * 7 + start + blockIdx.x) % n]);
    for (int k = row; k < kDeep; k += blockDim.y * blockDim.z)
      b[k * 128 + threadIdx.x] = small(in[(k * 5 + threadIdx.x + start * 32) % n]);
    __syncthreads();
#pragma unroll
    for (int k = 0; k < kDeep; ++k) sum += a[row * kDeep + k] * b[k * 128 + threadIdx.x];
    __syncthreads();
  }
  give(out, sum, row);
}
KERNEL product32(ARGS) { product<32>(in, out, n); }
KERNEL product16(ARGS) { product<16>(in, out, n); }

// Every warp reads vectors of its own, before and behind its own place.
KERNEL neighbours(ARGS) {
  __shared__ float tile[320];
  for (int i = inBlock(); i < 320; i += blockDim.x * blockDim.y * blockDim.z) tile[i] = small(in[(linear() + i) % n]);
  __syncthreads();
  const int at = inBlock() + 32;
  float sum = 0;
#pragma unroll
  for (int k = -16; k < 16; ++k) sum = sum * 0.5f + tile[at + k];
  __syncthreads();
  give(out, sum, tile[at]);
}

// Columns that all warps read, and a state of several values from round to round.
KERNEL columns(ARGS) {
  __shared__ float tile[24 * 129], weights[32];
  float low = 1e9f, total = 0, last = linear();
  for (int round = 0; round < 2; ++round) {
    const int row = threadIdx.y + blockDim.y * threadIdx.z;
    for (int k = row; k < 24; k += blockDim.y * blockDim.z)
      tile[k * 129 + threadIdx.x] = small(in[(k * 3 + threadIdx.x + round) % n]);
    if (inBlock() < 32) weights[inBlock()] = small(in[(inBlock() + round) % n]);
    __syncthreads();
#pragma unroll
    for (int k = 0; k < 24; ++k) {
      const float value = tile[k * 129 + threadIdx.x];
      low = fminf(low, value), total += value * weights[k], last = last * 0.5f + value;
    }
    __syncthreads();
  }
  give(out, low + total, last);
}

// A chain that stores on its way: what one thread of a warp stores another one reads behind the next barrier.
KERNEL storing(ARGS) {
  __shared__ float tile[24 * 128], sums[256];
  float sum = 0;
  const int row = threadIdx.y + blockDim.y * threadIdx.z;
  for (int k = row; k < 24; k += blockDim.y * blockDim.z)
    tile[k * 128 + threadIdx.x] = small(in[(k * 5 + threadIdx.x) % n]);
  __syncthreads();
  for (int round = 0; round < 2; ++round) {
#pragma unroll
    for (int k = 0; k < 24; ++k) sum = sum * 0.25f + tile[k * 128 + threadIdx.x];
    sums[inBlock() % 256] = sum;
    __syncthreads();
    sum += sums[(inBlock() + 1) % min(256, blockDim.x * blockDim.y * blockDim.z)];
    __syncthreads();
  }
  give(out, sum, 0);
}
