// A tiled product of halves as libraries write it: tiles through shared memory, ldmatrix, mma.sync, stmatrix where the
// device has it; and of bytes. Against plain loops.
#include <cuda_fp16.h>

#include <cstdint>

#include "check.h"

constexpr int kTile = 64, kDepth = 32, kPad = 8, kWarps = 4;

__device__ unsigned sharedAddress(const void* p) { return static_cast<unsigned>(__cvta_generic_to_shared(p)); }

__device__ void loadFour(unsigned (&r)[4], const __half* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(sharedAddress(row)));
}
__device__ void loadFourTurned(unsigned (&r)[4], const __half* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(sharedAddress(row)));
}
__device__ void multiply(float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// C = A * B, all by rows; a block of four warps makes 64 x 64, each warp 16 rows of it.
__global__ void gemm(const __half* a, const __half* b, float* c, int n, int k) {
  __shared__ alignas(16) __half tileA[kTile][kDepth + kPad], tileB[kDepth][kTile + kPad];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int row = blockIdx.y * kTile, column = blockIdx.x * kTile;
  float sum[kTile / 8][4] = {};
  for (int at = 0; at < k; at += kDepth) {
    for (int i = threadIdx.x; i < kTile * kDepth / 8; i += 32 * kWarps) {
      const int r = i / (kDepth / 8), q = i % (kDepth / 8) * 8;
      *reinterpret_cast<int4*>(&tileA[r][q]) = *reinterpret_cast<const int4*>(&a[(row + r) * k + at + q]);
      const int s = i / (kTile / 8), t = i % (kTile / 8) * 8;
      *reinterpret_cast<int4*>(&tileB[s][t]) = *reinterpret_cast<const int4*>(&b[(at + s) * n + column + t]);
    }
    __syncthreads();
    for (int step = 0; step < kDepth; step += 16) {
      unsigned left[4], right[4];
      loadFour(left, &tileA[warp * 16 + lane % 16][step + lane / 16 * 8]);
      for (int j = 0; j < kTile; j += 16) {
        loadFourTurned(right, &tileB[step + lane % 16][j + lane / 16 * 8]);
        multiply(sum[j / 8], left, right[0], right[1]);
        multiply(sum[j / 8 + 1], left, right[2], right[3]);
      }
    }
    __syncthreads();
  }
  for (int j = 0; j < kTile / 8; ++j)
    for (int e = 0; e < 4; ++e)
      c[(row + warp * 16 + lane / 4 + e / 2 * 8) * n + column + j * 8 + lane % 4 * 2 + e % 2] = sum[j][e];
}

static void checkHalves(int m, int n, int k) {
  std::vector<__half> a(m * k), b(k * n);
  const auto noise = randomFloats(m * k + k * n, -1, 1, 3);
  for (int i = 0; i < m * k; ++i) a[i] = __float2half(noise[i]);
  for (int i = 0; i < k * n; ++i) b[i] = __float2half(noise[m * k + i]);
  std::vector<float> expected(m * n);
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j) {
      double sum = 0;
      for (int l = 0; l < k; ++l) sum += double(__half2float(a[i * k + l])) * double(__half2float(b[l * n + j]));
      expected[i * n + j] = float(sum);
    }
  DeviceArray<__half> left(a), right(b);
  DeviceArray<float> result(m * n);
  gemm<<<dim3(n / kTile, m / kTile), 32 * kWarps>>>(left, right, result, n, k);
  CHECK_LAUNCH();
  expectNear(result.host(), expected, 1e-3, "halves");
}

// One warp, bytes: 16 x 8 x 32 by the fragments' own layout, clamped at the end.
__global__ void bytes(const int8_t* a, const uint8_t* b, const int* c, int* d) {
  const int g = threadIdx.x / 4, t = threadIdx.x % 4;
  const auto word = [](const void* p) { return *static_cast<const unsigned*>(p); };
  const unsigned a0 = word(a + g * 32 + 4 * t), a1 = word(a + (g + 8) * 32 + 4 * t), a2 = word(a + g * 32 + 16 + 4 * t),
                 a3 = word(a + (g + 8) * 32 + 16 + 4 * t), b0 = word(b + g * 32 + 4 * t),
                 b1 = word(b + g * 32 + 16 + 4 * t);
  const int at = g * 8 + 2 * t;
  int d0, d1, d2, d3;
  asm volatile(
      "mma.sync.aligned.m16n8k32.row.col.satfinite.s32.s8.u8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%10, %11, %12, %13};"
      : "=r"(d0), "=r"(d1), "=r"(d2), "=r"(d3)
      : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1), "r"(c[at]), "r"(c[at + 1]), "r"(c[at + 64]),
        "r"(c[at + 65]));
  d[at] = d0, d[at + 1] = d1, d[at + 64] = d2, d[at + 65] = d3;
}

static void checkBytes() {
  const auto noise = randomWords(16 * 32 + 32 * 8 + 128, 0, 4);
  std::vector<int8_t> a(16 * 32);
  std::vector<uint8_t> b(8 * 32);  // by columns
  std::vector<int> c(128), expected(128);
  for (size_t i = 0; i < a.size(); ++i) a[i] = int8_t(noise[i]);
  for (size_t i = 0; i < b.size(); ++i) b[i] = uint8_t(noise[512 + i]);
  for (int i = 0; i < 128; ++i) c[i] = i % 3 == 0 ? 0x7fffff00 : i % 3 == 1 ? int(0x80000100) : int(noise[768 + i]) / 4;
  for (int i = 0; i < 16; ++i)
    for (int j = 0; j < 8; ++j) {
      long long sum = c[i * 8 + j];
      for (int k = 0; k < 32; ++k) sum += a[i * 32 + k] * b[j * 32 + k];
      expected[i * 8 + j] = int(std::min(std::max(sum, -0x80000000ll), 0x7fffffffll));
    }
  DeviceArray<int8_t> left(a);
  DeviceArray<uint8_t> right(b);
  DeviceArray<int> start(c), result(128);
  bytes<<<1, 32>>>(left, right, start, result);
  CHECK_LAUNCH();
  expectEqual(result.host(), expected, "bytes");
}

int main() {
  checkHalves(64, 64, 32);
  checkHalves(256, 192, 160);
  checkBytes();
  return passed();
}
