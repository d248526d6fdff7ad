// Blocks that meet at barriers, whole warps that branch by threadIdx.x, reductions that end in one lane, and indices
// that wrap or do not. The source of rounds.ptx:
//   nvcc -arch=sm_90 -ptx -o rounds.ptx rounds.cu
#include <cstdint>

__device__ uint32_t threadOf() {
  const uint32_t inBlock = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  return blockIdx.x * blockDim.x * blockDim.y * blockDim.z + inBlock;
}

__device__ uint32_t inBlock() { return (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x; }

template <class T>
__device__ T sumOfWarp(T value) {
  for (int offset = 16; offset > 0; offset /= 2) value += __shfl_down_sync(0xffffffffu, value, offset);
  return value;
}

// Each warp leaves a sum, the first one adds them up.
template <class T>
__device__ T sumOfRow(T value) {
  __shared__ T partial[8][32];
  const uint32_t row = threadIdx.y + threadIdx.z * blockDim.y;
  T sum = sumOfWarp(value);
  if (threadIdx.x % 32 == 0) partial[row % 8][threadIdx.x / 32] = sum;
  __syncthreads();
  sum = 0;
  if (threadIdx.x < 32) sum = sumOfWarp(threadIdx.x < blockDim.x / 32 ? partial[row % 8][threadIdx.x] : T(0));
  return sum;
}

extern "C" __global__ void reduceRows(const uint32_t* in, uint32_t* out, uint32_t n) {
  if (blockDim.x % 32) return;
  const float sum = sumOfRow(float(in[threadOf() % (n + 64)] % 1000) / 3);
  if (threadIdx.x == 0) out[threadOf()] = __float_as_uint(sum);
}

// The partial sums of four warps, read by four lanes.
extern "C" __global__ void fewPartials(const uint32_t* in, uint32_t* out, uint32_t n) {
  __shared__ float partial[64];
  if (blockDim.x % 32 || blockDim.x * blockDim.y * blockDim.z > 256) return;
  partial[inBlock() % 64] = 0;
  __syncthreads();
  const float sum = sumOfWarp(float(in[threadOf() % (n + 64)] % 77) * 0.1f);
  if (threadIdx.x % 32 == 0) partial[inBlock() / 32] = sum;
  __syncthreads();
  if (threadIdx.x < 32) {
    float all = sumOfWarp(threadIdx.x < 4 ? partial[threadIdx.x] : 0.0f);
    double more = sumOfWarp(threadIdx.x < 3 ? double(partial[threadIdx.x + 1]) : 1.0);
    if (threadIdx.x == 0) out[threadOf()] = __float_as_uint(all) ^ uint32_t(__double_as_longlong(more) >> 20);
  }
}

// Every kind of comparison of threadIdx.x with a constant, where it parts warps from each other and where lanes.
extern "C" __global__ void compareThread(const uint32_t* in, uint32_t* out, uint32_t n) {
  const uint32_t x = threadIdx.x, t = threadOf();
  const int s = int(threadIdx.x);
  uint32_t seen = 0;
  if (x < 32) seen += in[t % 64] | 1;
  if (x < 40) seen += in[t % 63] * 3 | 1;
  if (x <= 31) seen ^= in[t % 62] << 3 | 1;
  if (x <= 70) seen += 0x1000 + in[x % 5];
  if (x > 31) seen *= in[t % 61] | 5;
  if (x > 33) seen += in[t % 60];
  if (x >= 64) seen ^= in[t % 59];
  if (x >= 65) seen += in[t % 58] * 7;
  if (x == 37) seen += in[0] + n;
  if (x != 64) seen ^= in[1];
  if (x == 96) seen = in[2];
  if (s < 0) seen = 1;
  if (s < 1) seen += 77;
  if (s > 126) seen ^= in[3];
  if (s >= 2000) seen = 2;
  if (!(x < 48) && x != 50) seen += __popc(__ballot_sync(__activemask(), in[t % 57] & 1));
  out[t] = seen;
}

// Only one lane writes, and what it writes comes from others.
extern "C" __global__ void oneLaneWrites(const uint32_t* in, uint32_t* out, uint32_t n) {
  if (blockDim.x % 32) return;
  const uint32_t t = threadOf();
  const uint32_t v = in[t % (n + 64)];
  const uint32_t up = __shfl_up_sync(0xffffffffu, v, 3), mixed = __shfl_xor_sync(0xffffffffu, v + up, 9);
  const int any = __any_sync(0xffffffffu, v % 7 == 0);
  if (threadIdx.x == 5) out[t] = mixed + any;
  if (threadIdx.x == 38) out[t] = up * 3 + mixed;
  if (threadIdx.x % 32 == 31) out[t] ^= sumOfWarp(1u) + __shfl_sync(1u << 31, v, 31);
}

// Tiles: values live over barriers inside a loop that all warps run alike.
extern "C" __global__ void tileLoop(const uint32_t* in, uint32_t* out, uint32_t n) {
  __shared__ uint32_t tile[1024];
  const uint32_t t = threadOf(), own = inBlock(), threads = blockDim.x * blockDim.y * blockDim.z;
  uint32_t sum = t;
  for (uint32_t step = 0; step < n % 7 + 2; ++step) {
    tile[own] = in[(t + step) % (n + 64)];
    __syncthreads();
    for (uint32_t k = 0; k < 5; ++k) sum = sum * 31 + tile[(own * 3 + k) % threads];
    __syncthreads();
  }
  out[t] = sum;
}

// A tree of halves, as teaching material writes it.
extern "C" __global__ void halves(const uint32_t* in, uint32_t* out, uint32_t n) {
  __shared__ uint32_t value[1024];
  const uint32_t t = threadOf(), own = inBlock(), threads = blockDim.x * blockDim.y * blockDim.z;
  value[own] = in[t % (n + 64)];
  __syncthreads();
  for (uint32_t half = 512; half > 0; half >>= 1) {
    if (own < half && own + half < threads) value[own] += value[own + half];
    __syncthreads();
  }
  if (own == 0) out[t] = value[0];
  if (threadIdx.x == 3) out[t] ^= value[own] + 1;
}

// Warps that end before a barrier which the others meet.
extern "C" __global__ void someEnd(const uint32_t* in, uint32_t* out, uint32_t n) {
  __shared__ uint32_t value[1024];
  const uint32_t t = threadOf(), own = inBlock();
  if (blockDim.x % 32) return;
  value[own] = in[t % (n + 64)];
  __syncthreads();
  out[t] = value[own];
  if (threadIdx.x >= 64) return;
  value[own] += 5;
  __syncthreads();
  out[t] += value[own ^ 1] * (own % 2 + 1) * (threadIdx.x != 63 && (own ^ 1) < blockDim.x);
  if (threadIdx.y == 1) return;
  __syncthreads();
  out[t] ^= 3;
}

// Barriers that some blocks meet and others do not, and a number of rounds that only memory knows.
extern "C" __global__ void someBlocks(const uint32_t* in, uint32_t* out, uint32_t n) {
  __shared__ uint32_t value[1024];
  const uint32_t t = threadOf(), own = inBlock(), threads = blockDim.x * blockDim.y * blockDim.z;
  uint32_t sum = 0;
  value[own] = t;
  if (blockIdx.x % 2) {
    __syncthreads();
    sum = value[threads - 1 - own];
    __syncthreads();
  }
  for (uint32_t round = 0; round < in[0] % 3 + blockIdx.x % 2; ++round) {
    value[own] = sum + round + in[t % 64];
    __syncthreads();
    sum += value[(own + 1) % threads];
    __syncthreads();
  }
  for (uint32_t k = 0; k < (threadIdx.x / 32) % 3 + 1; ++k) sum = sum * 5 + k;
  out[t] = sum + n;
}

// Indices of 32 bits, widened: some wrap inside a warp, some between warps, some never.
extern "C" __global__ void wrappingIndices(const uint32_t* in, uint32_t* out, uint32_t n) {
  const uint32_t t = threadOf(), x = threadIdx.x;
  const auto fold = [](uint64_t v) { return uint32_t(v) * 3 ^ uint32_t(v >> 32); };
  uint32_t seen = 0;
  seen += fold(uint64_t(x * 0x08000000u) * 12);
  seen += fold(uint64_t(x * 0x02000000u) * 8) * 5;
  seen += fold(uint64_t(blockDim.x * 3 - 64 + x) * 4) * 7;
  seen += fold(uint64_t(x - 16) * 4) * 11;
  seen += fold(uint64_t(int64_t(int(x) - 48) * 8)) * 13;
  seen += fold(uint64_t(0xffffffe0u + x) * 4) * 17;
  seen += fold(uint64_t(int64_t(int(0x7fffffe0u + x)) * 4)) * 19;
  seen += fold(uint64_t(int64_t(int(0x7ffffff0u + x)) * 4)) * 23;
  seen += fold(uint64_t((blockIdx.x * blockDim.x + x) << 2 | 1) * 2) * 29;
  seen += fold(uint64_t((x & 31) * 0x10000000u) * 2) * 31;
  seen += in[uint64_t(blockDim.x * 0x04000000u * 2 + x) % 64];
  seen += in[(0u - 32u + x) + 32u] + in[uint32_t(0xfffffff8u + x) + 8u];
  out[t] = seen + n;
}

// Most warps of a row have nothing to do: from the start.
extern "C" __global__ void firstWarps(const uint32_t* in, uint32_t* out, uint32_t n) {
  if (threadIdx.x > 31) return;
  out[threadOf()] = in[threadOf() % n] + threadIdx.y * 3 + threadIdx.z;
}

extern "C" __global__ void oneLaneOfRow(const uint32_t* in, uint32_t* out, uint32_t n) {
  if (threadIdx.x != 0) return;
  out[threadOf()] = in[threadOf() % n] + threadIdx.y * 3 + threadIdx.z;
}

// Behind a barrier; where one lane in the middle, all but one, or the last have something to do, all warps are asked.
template <class Holds>
__device__ void leaveRow(const uint32_t* in, uint32_t* out, uint32_t n, Holds holds) {
  __shared__ uint32_t seen[64];
  const uint32_t t = inBlock(), next = threadIdx.x / 32 + (threadIdx.y + threadIdx.z * blockDim.y) * 5;
  if (t < 64) seen[t] = t;
  __syncthreads();
  atomicAdd(&seen[next % 64], in[threadOf() % n] | 1);
  __syncthreads();
  if (holds(threadIdx.x)) out[threadOf()] = seen[next % 64] + seen[t % 64] * 3 + threadIdx.y;
}

extern "C" __global__ void leavesFirstWarp(const uint32_t* in, uint32_t* out, uint32_t n) {
  leaveRow(in, out, n, [](uint32_t x) { return x < 32; });
}

extern "C" __global__ void leavesFewLanes(const uint32_t* in, uint32_t* out, uint32_t n) {
  leaveRow(in, out, n, [](uint32_t x) { return x <= 42; });
}

extern "C" __global__ void leavesOneLane(const uint32_t* in, uint32_t* out, uint32_t n) {
  leaveRow(in, out, n, [](uint32_t x) { return x == 0; });
}

extern "C" __global__ void leavesLaneBehind(const uint32_t* in, uint32_t* out, uint32_t n) {
  leaveRow(in, out, n, [](uint32_t x) { return x == 65; });
}

extern "C" __global__ void leavesAllButOne(const uint32_t* in, uint32_t* out, uint32_t n) {
  leaveRow(in, out, n, [](uint32_t x) { return x != 1; });
}

extern "C" __global__ void leavesLastWarps(const uint32_t* in, uint32_t* out, uint32_t n) {
  leaveRow(in, out, n, [](uint32_t x) { return x >= 64; });
}

extern "C" __global__ void leavesLastLanes(const uint32_t* in, uint32_t* out, uint32_t n) {
  leaveRow(in, out, n, [](uint32_t x) { return x > 40; });
}
