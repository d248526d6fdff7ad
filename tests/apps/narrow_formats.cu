// Numbers of four, six and eight bits and bare exponents (e4m3, e5m2, e3m2, e2m3, e2m1, e8m0), for a GPU that has
// instructions for them: what the toolkit's conversions give on the device and, in plain arithmetic, on the host. All
// halves, all bf16, floats of every exponent, both ways, rounding up and towards zero, saturating or not.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp4.h>
#include <cuda_fp6.h>
#include <cuda_fp8.h>

#include <cstring>

#include "check.h"

constexpr int kFloatsOfAPattern = 3;

// The n-th float: each pattern of the upper half exact, just above, and with a tie.
__host__ __device__ float nthFloat(unsigned n) {
  const unsigned ends[kFloatsOfAPattern] = {0, 1, 0x8000};
  const unsigned bits = (n / kFloatsOfAPattern & 0xffff) << 16 | ends[n % kFloatsOfAPattern];
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

// A pair of neighbours of a kind: the n-th and one far from it.
template <class Pair>
__host__ __device__ Pair nthPair(unsigned n) {
  Pair pair;
  pair.x = static_cast<unsigned short>(n);
  pair.y = static_cast<unsigned short>(n * 40503u + 7);
  return pair;
}
__host__ __device__ inline float2 nthFloats(unsigned n) { return {nthFloat(n), nthFloat(n * 40503u + 7)}; }

template <__nv_fp8_interpretation_t kKind, __nv_saturation_t kLimit>
struct ToEighths {
  static __host__ __device__ unsigned of(float2 v) { return __nv_cvt_float2_to_fp8x2(v, kLimit, kKind); }
  static __host__ __device__ unsigned of(__half2_raw v) { return __nv_cvt_halfraw2_to_fp8x2(v, kLimit, kKind); }
  static __host__ __device__ unsigned of(__nv_bfloat162_raw v) {
    return __nv_cvt_bfloat16raw2_to_fp8x2(v, kLimit, kKind);
  }
};
template <__nv_fp6_interpretation_t kKind>
struct ToSixths {
  static __host__ __device__ unsigned of(float2 v) { return __nv_cvt_float2_to_fp6x2(v, kKind, cudaRoundNearest); }
  static __host__ __device__ unsigned of(__half2_raw v) {
    return __nv_cvt_halfraw2_to_fp6x2(v, kKind, cudaRoundNearest);
  }
  static __host__ __device__ unsigned of(__nv_bfloat162_raw v) {
    return __nv_cvt_bfloat16raw2_to_fp6x2(v, kKind, cudaRoundNearest);
  }
};
struct ToFourths {
  static __host__ __device__ unsigned of(float2 v) { return __nv_cvt_float2_to_fp4x2(v, __NV_E2M1, cudaRoundNearest); }
  static __host__ __device__ unsigned of(__half2_raw v) {
    return __nv_cvt_halfraw2_to_fp4x2(v, __NV_E2M1, cudaRoundNearest);
  }
  static __host__ __device__ unsigned of(__nv_bfloat162_raw v) {
    return __nv_cvt_bfloat16raw2_to_fp4x2(v, __NV_E2M1, cudaRoundNearest);
  }
};
template <cudaRoundMode kRounding, __nv_saturation_t kLimit>
struct ToExponents {
  static __host__ __device__ unsigned of(float2 v) { return __nv_cvt_float2_to_e8m0x2(v, kLimit, kRounding); }
  static __host__ __device__ unsigned of(__nv_bfloat162_raw v) {
    return __nv_cvt_bfloat162raw_to_e8m0x2(v, kLimit, kRounding);
  }
};

template <class To>
struct FromFloats {
  static __host__ __device__ unsigned of(unsigned n) { return To::of(nthFloats(n)); }
};
template <class To, class Pair>
struct FromPairs {
  static __host__ __device__ unsigned of(unsigned n) { return To::of(nthPair<Pair>(n)); }
};

// Widened pairs as floats' bits; all NaNs are one.
__host__ __device__ unsigned sum(float low, float high) {
  const float values[] = {low, high};
  unsigned out = 0;
  for (float value : values) {
    unsigned bits = 0x7fffffff;
    if (value == value) memcpy(&bits, &value, sizeof bits);
    out = out * 2654435761u + bits;
  }
  return out;
}
__host__ __device__ unsigned sum(__half2_raw v) {
  const __half2 pair = v;
  return sum(__low2float(pair), __high2float(pair));
}
template <__nv_fp8_interpretation_t kKind>
struct OfEighths {
  static __host__ __device__ unsigned of(unsigned n) { return sum(__nv_cvt_fp8x2_to_halfraw2(n, kKind)); }
};
template <__nv_fp6_interpretation_t kKind>
struct OfSixths {
  static __host__ __device__ unsigned of(unsigned n) { return sum(__nv_cvt_fp6x2_to_halfraw2(n & 0x3f3f, kKind)); }
};
struct OfFourths {
  static __host__ __device__ unsigned of(unsigned n) { return sum(__nv_cvt_fp4x2_to_halfraw2(n & 0xff, __NV_E2M1)); }
};
struct OfExponents {
  static __host__ __device__ unsigned of(unsigned n) {
    const __nv_bfloat162_raw pair = __nv_cvt_e8m0x2_to_bf162raw(n);
    return sum(widened(pair.x), widened(pair.y));
  }
  static __host__ __device__ float widened(unsigned short upper) {
    const unsigned bits = static_cast<unsigned>(upper) << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
  }
};

template <class Function>
__global__ void apply(unsigned* out, unsigned size) {
  const unsigned n = blockIdx.x * blockDim.x + threadIdx.x;
  if (n < size) out[n] = Function::of(n);
}

template <class Function>
static void compare(const char* name, unsigned size) {
  DeviceArray<unsigned> out(size);
  apply<Function><<<(size + 255) / 256, 256>>>(out, size);
  CHECK_LAUNCH();
  const auto device = out.host();
  unsigned different = 0;
  for (unsigned n = 0; n < size; ++n) {
    const unsigned host = Function::of(n);
    if (device[n] == host) continue;
    if (++different <= 3) std::printf("%s of number %u: %08x, not %08x\n", name, n, device[n], host);
  }
  EXPECT(!different);
}

constexpr unsigned kAllHalves = 65536, kAllFloats = kAllHalves * kFloatsOfAPattern;

template <class To, bool kHalvesToo = true>
static void narrowing(const char* name) {
  compare<FromFloats<To>>(name, kAllFloats);
  compare<FromPairs<To, __nv_bfloat162_raw>>(name, kAllHalves);
  if constexpr (kHalvesToo) compare<FromPairs<To, __half2_raw>>(name, kAllHalves);
}

int main() {
  narrowing<ToEighths<__NV_E4M3, __NV_SATFINITE>>("e4m3, saturated,");
  narrowing<ToEighths<__NV_E4M3, __NV_NOSAT>>("e4m3");
  narrowing<ToEighths<__NV_E5M2, __NV_SATFINITE>>("e5m2, saturated,");
  narrowing<ToEighths<__NV_E5M2, __NV_NOSAT>>("e5m2");
  narrowing<ToSixths<__NV_E2M3>>("e2m3");
  narrowing<ToSixths<__NV_E3M2>>("e3m2");
  narrowing<ToFourths>("e2m1");
  narrowing<ToExponents<cudaRoundZero, __NV_SATFINITE>, false>("e8m0, towards zero, saturated,");
  narrowing<ToExponents<cudaRoundZero, __NV_NOSAT>, false>("e8m0, towards zero,");
  narrowing<ToExponents<cudaRoundPosInf, __NV_SATFINITE>, false>("e8m0, up, saturated,");
  narrowing<ToExponents<cudaRoundPosInf, __NV_NOSAT>, false>("e8m0, up,");
  compare<OfEighths<__NV_E4M3>>("half of e4m3", kAllHalves);
  compare<OfEighths<__NV_E5M2>>("half of e5m2", kAllHalves);
  compare<OfSixths<__NV_E2M3>>("half of e2m3", kAllHalves);
  compare<OfSixths<__NV_E3M2>>("half of e3m2", kAllHalves);
  compare<OfFourths>("half of e2m1", kAllHalves);
  compare<OfExponents>("bf16 of e8m0", kAllHalves);
  return 0;
}
