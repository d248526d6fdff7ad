// What blocks of two and three dimensions do with their tiles: values that are the same along a row of the block, or
// count on by one there, in loads, stores, comparisons, loops, guards and operations of warps. The source of tiles.ptx:
//   nvcc -arch=sm_90 -ptx -o tiles.ptx tiles.cu
#include <cstdint>

#include "kernel.h"

__device__ __forceinline__ int row() { return threadIdx.y + blockDim.y * threadIdx.z; }
__device__ __forceinline__ int rows() { return blockDim.y * blockDim.z; }
__device__ __forceinline__ unsigned fold(uint64_t x) { return unsigned(x) ^ unsigned(x >> 32) * 31; }

// A tile of each factor goes through shared memory; one is read along rows, the other along columns.
KERNEL product(ARGS) {
  __shared__ float tileA[32][128], tileB[32][128];
  const int x = threadIdx.x, y = row(), pitch = 61;
  float sum = 0;
  for (int start = 0; start < 96; start += blockDim.x) {
    tileA[y][x] = float(in[(y * pitch + start + x) % n] % 100);
    tileB[y][x] = float(in[((start + y) * pitch + x) % n] % 100) * 0.5f;
    __syncthreads();
    for (int k = 0; k < rows(); ++k) sum += tileA[y][k % blockDim.x] * tileB[k][x];
    __syncthreads();
  }
  out[linear()] = __float_as_uint(sum);
}

KERNEL fixedProduct(ARGS) {
  if (blockDim.x > 16 || blockDim.x < 8) return;
  __shared__ float tileA[32][16], tileB[32][16];
  const int x = threadIdx.x, y = row();
  const int wide = gridDim.x * blockDim.x, column = blockIdx.x * blockDim.x + x;
  float sum = 0;
  for (int start = 0; start < 48; start += 16) {
    tileA[y][x] = float(in[y * 7 + start + x] % 100);
    tileB[y][x] = float(in[(start + y) * wide % 700 + column] % 100) * 0.25f;
    __syncthreads();
#pragma unroll
    for (int k = 0; k < 8; ++k) sum += tileA[y][k] * tileB[k % rows()][x];
    __syncthreads();
  }
  out[linear()] = __float_as_uint(sum);
}

// Neighbours in both directions, with edges that cut through rows and between them.
KERNEL neighbours(ARGS) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  const int wide = 43, high = 21, i = y * wide + x;
  if (x < 1 || y < 1 || x >= wide - 1 || y >= high - 1) return;
  out[linear()] = in[i] + in[i - 1] * 3 + in[i + 1] * 5 + in[i - wide] * 7 + in[i + wide] * 11;
}

// Read along columns, written along rows, the tile padded.
KERNEL transposition(ARGS) {
  __shared__ unsigned tile[128][33];
  const int x = threadIdx.x, y = row();
  tile[x][y] = in[(y * 31 + x) % n];
  __syncthreads();
  const int thread = y * blockDim.x + x, across = thread % rows(), down = thread / rows();
  out[linear()] = tile[down][across] + tile[x][y] * 3;
}

// Rows that go different ways; pointers of rows that do not read are wild.
KERNEL rowsApart(ARGS) {
  const int x = threadIdx.x, y = row();
  const unsigned* pointer = y & 1 ? in + y : reinterpret_cast<const unsigned*>(uint64_t(y) << 44 | 8);
  asm volatile("" : "+l"(pointer));
  unsigned seen = y;
  if (y & 1) seen += *pointer * 3;
  if (y & 1) seen += pointer[x] * 5;
  if (y % 3 == 1 && x > 2) seen ^= *(y & 1 ? pointer : in);
  for (int k = 0; k < y % 5; ++k) seen = seen * 31 + in[k * 17 + y] + in[k * 19 + x];
  switch (y % 4) {
    case 0:
      seen += in[x];
      break;
    case 1:
      seen ^= in[y * 3];
      break;
    case 2:
      seen *= 3;
      break;
    default:
      seen -= x;
  }
  if (y == 1) return;
  out[linear()] = seen + in[y * 2 + 1];
}

// Loops whose trip count and pointers a row has for itself.
KERNEL rowLoops(ARGS) {
  const int x = threadIdx.x, y = row();
  unsigned seen = 0;
  const unsigned* at = in + y * 3;
  for (int k = 0; k < 6; ++k, at += y + 1) seen = seen * 7 + at[0] + at[x];
  int rounds = in[y] % 7;
  while (rounds-- > 0) seen += in[(rounds * y + x) % n] ^ rounds;
  float value = float(y) / 3, other = value;
  for (int k = 0; k < 4; ++k) {
    value = value * 1.5f + k;
    other = sqrtf(fabsf(other - value)) + __int_as_float(0x3f800000 + y);
  }
  out[linear()] = seen + __float_as_uint(value) + __float_as_uint(other) * 3;
}

// Widenings that wrap between rows, inside of them, or not at all.
KERNEL widenings(ARGS) {
  const unsigned x = threadIdx.x, y = row();
  unsigned seen = 0;
  seen += fold(uint64_t(y * 0x10000000u + x) * 4);
  seen += fold(uint64_t(x * 0x10000000u + y) * 12) * 3;
  seen += fold(uint64_t(0xfffffffcu + x + y) * 8) * 5;
  seen += fold(uint64_t(int64_t(int(0x7ffffffau + x + y * 2)) * 4)) * 7;
  seen += fold(uint64_t(int64_t(int(y * blockDim.x + x) - 9) * 8)) * 11;
  seen += fold(uint64_t(blockIdx.x * blockDim.x + x) * 4 + y) * 13;
  seen += in[(0u - 8u + x) + 8u + y] + in[uint32_t(0xfffffff9u + x * 2 + y) + 7u];
  seen += fold(uint64_t(uint16_t(y * 0x1001 + x)) * 5) + fold(uint64_t(int64_t(int16_t(x * 0x1fff + y)))) * 17;
  seen += fold(uint64_t(y) * uint64_t(n) * 0x123456789ull) * 19 + __umulhi(y * 0x12345678u, n * 0x9abcdefu) * 23;
  out[linear()] = seen;
}

template <class T>
__device__ unsigned words(T v) {
  unsigned sum = 0;
  for (unsigned k = 0; k < sizeof(T) / 4; ++k) sum = sum * 33 + reinterpret_cast<unsigned*>(&v)[k];
  return sum;
}

// Vectors and elements of every size.
KERNEL vectors(ARGS) {
  const int x = threadIdx.x, y = row();
  unsigned seen = words(reinterpret_cast<const uint2*>(in)[y * 5 + x]);
  seen += words(reinterpret_cast<const uint4*>(in)[y + x]) * 3;
  seen += words(reinterpret_cast<const uint4*>(in)[y * 2]) * 5;
  seen += words(reinterpret_cast<const double*>(in)[y * 9 + x]) * 7;
  seen += words(reinterpret_cast<const volatile uint64_t*>(in)[y]) * 11;
  seen += reinterpret_cast<const uint8_t*>(in)[y * 21 + x] * 13 + reinterpret_cast<const int16_t*>(in)[y * 11 + x] * 17;
  seen += reinterpret_cast<const int8_t*>(in)[y * 3] * 19;
  if (x + y * 3 > 7 && x != 5) seen += words(reinterpret_cast<const uint2*>(in)[y * 7 + x]);
  uint4* const wide = reinterpret_cast<uint4*>(out + (size_t(linear()) - x) * 8);
  wide[x] = make_uint4(seen, y, seen * 3, x);
  uint2* const narrow = reinterpret_cast<uint2*>(out + (size_t(linear()) - x) * 8 + blockDim.x * 4);
  if ((x ^ y) % 3) narrow[x] = make_uint2(seen * 5, y * 7);
  uint16_t* const half = reinterpret_cast<uint16_t*>(out + (size_t(linear()) - x) * 8 + blockDim.x * 6);
  half[x] = uint16_t(seen >> 3);
  if (y % 2 == 0) reinterpret_cast<uint8_t*>(half + blockDim.x)[x] = uint8_t(seen >> 7);
}

// Operations of whole warps and atomics on what rows share.
KERNEL exchanges(ARGS) {
  if (blockDim.x * rows() % 32) return;
  __shared__ unsigned counts[64];
  const int x = threadIdx.x, y = row(), thread = y * blockDim.x + x;
  if (thread < 64) counts[thread] = thread;
  for (int k = thread + blockDim.x * rows(); k < 64; k += blockDim.x * rows()) counts[k] = k;
  if (thread == 0)
    for (int k = blockDim.x * rows(); k < 64; ++k) counts[k] = k;
  __syncthreads();
  const unsigned value = in[y * 3];
  atomicAdd(&counts[y % 64], value);
  atomicAdd(&counts[x % 64], y + 1u);
  atomicMax(&counts[63], unsigned(y));
  __syncthreads();
  const unsigned all = __activemask();
  unsigned seen = __shfl_xor_sync(all, value, 5) + __shfl_down_sync(all, in[y * 3 + x], 3) * 3;
  seen += __ballot_sync(all, y & 1) * 5 + __ballot_sync(all, in[y + 7] & 1) * 7;
  seen += __match_any_sync(all, y) * 11 + __reduce_add_sync(all, y * 13) + __reduce_max_sync(all, value) * 17;
  if (thread < 20) seen += counts[thread] + __popc(__ballot_sync(__activemask(), x & 1));
  out[linear()] = seen + counts[y % 64] + counts[x % 64] * 3 + counts[63];
}

__device__ __noinline__ unsigned mixed(unsigned a, unsigned b, const unsigned* from) {
  return a * 31 + from[b % 50] + (b ^ from[a % 40]);
}

// Guards, selections, conversions, calls and arrays of threads.
KERNEL odds(ARGS) {
  const int x = threadIdx.x, y = row();
  unsigned seen = mixed(y, x, in) + mixed(x, y, in) * 3 + mixed(y, y, in) * 5, guarded = y, loaded = 7;
  asm volatile(
      "{\n.reg .pred p, q;\n.reg .u64 at;\n"
      "setp.gt.s32 p, %4, 2;\nsetp.ne.s32 q, %3, 3;\n"
      "@p add.u32 %0, %0, 100;\n@!p mul.lo.u32 %0, %3, 9;\n@q add.u32 %0, %0, %4;\n"
      "mad.wide.s32 at, %4, 4, %2;\n@p ld.u32 %1, [at];\n@!p ld.u32 %1, [%2+8];\n}"
      : "+r"(guarded), "+r"(loaded)
      : "l"(in), "r"(x), "r"(y));
  seen += guarded * 7 + loaded * 11 + (y > 3 ? x + 5 : x + 9) + (y > 1 ? in[x] : in[y]);
  unsigned own[8];
  for (int k = 0; k < 8; ++k) own[k] = in[y + k] + x * k;
  seen += own[(y + n) % 8] * 13 + own[(x + n) % 8] + unsigned(double(y) * 1e3) + unsigned(float(y) * float(x));
  seen += unsigned(uint64_t(y) * 0xfffffffffull / 3 >> 5) + (unsigned(y) << (x & 3)) + (y / 3) % 5 + (x >> 2);
  seen += __byte_perm(y, in[y], 0x3715) + __funnelshift_l(in[y], y, 7) + __clz(y) + __brev(y) + max(y - 4, x - 6);
  seen += threadIdx.z * 1000 + threadIdx.y * 100 + (threadIdx.x & 15) + (threadIdx.x >> 1) + (blockDim.x == 16);
  out[linear()] = seen;
}

// Copies into shared memory that need no register.
KERNEL copies(ARGS) {
  __shared__ __align__(16) unsigned four[32][132];
  const int x = threadIdx.x, y = row();
  const auto place = [&](const void* at) { return unsigned(__cvta_generic_to_shared(at)); };
  unsigned seen = 0;
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(place(&four[y][x])), "l"(in + y * 9 + x) : "memory");
  asm volatile("cp.async.wait_all;" ::: "memory");
  __syncthreads();
  for (int k = 0; k < 4; ++k) seen = seen * 5 + four[y][(x + k) % blockDim.x] + four[y][0];
  __syncthreads();
  if (x * 4 < 128)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(place(&four[y][x * 4])), "l"(in + (y * 3 + x) * 4)
                 : "memory");
  asm volatile("cp.async.wait_all;" ::: "memory");
  __syncthreads();
  seen = seen * 3 + four[y][x] + four[y][(x * 4 + 3) % 128 / 4];
  __syncthreads();
  if (x < 64 && x != y)
    asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;" ::"r"(place(&four[y][x * 2])), "l"(in + (y + x) * 2),
                 "r"((x + y) % 9)
                 : "memory");
  asm volatile("cp.async.wait_all;" ::: "memory");
  __syncthreads();
  if (x < 64 && x != y) seen += four[y][x * 2] + four[y][x * 2 + 1] * 3;
  __syncthreads();
  // The size named twice, as the pipeline's functions do, and a smaller one.
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, 4;" ::"r"(place(&four[y][x])), "l"(in + y * 5 + x) : "memory");
  asm volatile("cp.async.wait_all;" ::: "memory");
  __syncthreads();
  seen = seen * 7 + four[y][(x + 1) % blockDim.x];
  __syncthreads();
  if (x < 32)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, 16;\ncp.async.cg.shared.global [%0], [%2], 16, 7;" ::"r"(
                     place(&four[y][x * 4])),
                 "l"(in + (y * 2 + x) * 4), "l"(in + (y + x * 2) * 4)
                 : "memory");
  asm volatile("cp.async.wait_all;" ::: "memory");
  __syncthreads();
  if (x < 32) seen += four[y][x * 4] + four[y][x * 4 + 1] * 3 + four[y][x * 4 + 2] * 5;
  __syncthreads();
  // All or nothing by a size and by a predicate, in some lanes, in rows, and in all.
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(place(&four[y][x])), "l"(in + y * 11 + x),
               "r"((x ^ y) % 3 ? 4 : 0)
               : "memory");
  asm volatile("cp.async.wait_all;" ::: "memory");
  __syncthreads();
  seen = seen * 3 + four[y][(x + 1) % blockDim.x];
  __syncthreads();
  if (x < 32)
    asm volatile(
        "{\n.reg .pred p;\nsetp.gt.s32 p, %3, 5;\n"
        "cp.async.cg.shared.global [%0], [%1], 16, %2;\n@p cp.async.cg.shared.global [%0], [%1], 16, p;\n}" ::"r"(
            place(&four[y][x * 4])),
        "l"(in + (y * 4 + x) * 4), "r"(y & 1 ? 16 : n & 1), "r"(x)
        : "memory");
  asm volatile("cp.async.wait_all;" ::: "memory");
  __syncthreads();
  out[linear()] = seen + (x < 32 ? four[y][x * 4] + four[y][x * 4 + 1] * 3 + four[y][x * 4 + 2] * 5 : 0);
}
