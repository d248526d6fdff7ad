// Mathematical functions of the device library and the fast hardware ones, against the host's in double precision.
#include "check.h"

enum Function {
  kSqrt,
  kRsqrt,
  kCbrt,
  kExp,
  kExp2,
  kExpm1,
  kLog,
  kLog2,
  kLog10,
  kLog1p,
  kSin,
  kCos,
  kTan,
  kAsin,
  kAcos,
  kAtan,
  kSinh,
  kCosh,
  kTanh,
  kErf,
  kErfc,
  kTgamma,
  kLgamma,
  kPow,
  kAtan2,
  kFmod,
  kHypot,
  kFloor,
  kRound,
  kFastSin,
  kFastExp,
  kFastLog,
  kFastDivide,
  kReciprocal,
  kFunctions
};

template <class T>
__host__ __device__ T evaluate(int function, T x, T y) {
  switch (function) {
    case kSqrt:
      return sqrt(x);
    case kRsqrt:
      return T(1) / sqrt(x);
    case kCbrt:
      return cbrt(x);
    case kExp:
      return exp(x);
    case kExp2:
      return exp2(x);
    case kExpm1:
      return expm1(x);
    case kLog:
      return log(x);
    case kLog2:
      return log2(x);
    case kLog10:
      return log10(x);
    case kLog1p:
      return log1p(x);
    case kSin:
      return sin(x);
    case kCos:
      return cos(x);
    case kTan:
      return tan(x);
    case kAsin:
      return asin(x / T(50));
    case kAcos:
      return acos(x / T(50));
    case kAtan:
      return atan(x);
    case kSinh:
      return sinh(x);
    case kCosh:
      return cosh(x);
    case kTanh:
      return tanh(x);
    case kErf:
      return erf(x);
    case kErfc:
      return erfc(x);
    case kTgamma:
      return tgamma(x);
    case kLgamma:
      return lgamma(x);
    case kPow:
      return pow(x, y);
    case kAtan2:
      return atan2(x, y);
    case kFmod:
      return fmod(x, y);
    case kHypot:
      return hypot(x, y);
    case kFloor:
      return floor(x) + ceil(y);
    case kRound:
      return round(x) + rint(y) + trunc(y);
    case kFastSin:
      return sin(x / T(20));
    case kFastExp:
      return exp(x / T(4));
    case kFastLog:
      return log(x);
    case kFastDivide:
      return x / y;
    default:
      return T(1) / x;
  }
}

__device__ float evaluateFast(int function, float x, float y) {
  switch (function) {
    case kRsqrt:
      return rsqrtf(x);
    case kFastSin:
      return __sinf(x / 20);
    case kFastExp:
      return __expf(x / 4);
    case kFastLog:
      return __logf(x);
    case kFastDivide:
      return __fdividef(x, y);
    case kReciprocal:
      return __frcp_rn(x);
    default:
      return evaluate<float>(function, x, y);
  }
}

template <int kFunction>
__global__ void single(const float* x, const float* y, float* out, int size) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < size) out[i] = evaluateFast(kFunction, x[i], y[i]);
}

template <int kFunction>
__global__ void twice(const float* x, const float* y, double* out, int size) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < size) out[i] = evaluate<double>(kFunction, x[i], y[i]);
}

// Relative to the value, with a floor for results near zero.
static double tolerance(int function, bool isDouble) {
  if (function == kFastSin && !isDouble) return 2e-5;  // __sinf: an absolute error of 2^-20.5, here over at least 0.05
  if (function >= kFastSin && function <= kFastDivide) return isDouble ? 1e-14 : 2e-6;
  if (function == kTgamma || function == kPow) return isDouble ? 2e-14 : 1e-5;
  return isDouble ? 2e-15 : 1e-6;
}

template <class T>
void compare(int function, const std::vector<T>& actual, const std::vector<float>& x, const std::vector<float>& y) {
  for (size_t i = 0; i < x.size(); ++i) {
    const double expected = evaluate<double>(function, x[i], y[i]);
    const double bound = tolerance(function, sizeof(T) == 8) * std::fmax(std::fabs(expected), 0.05);
    if (std::fabs(double(actual[i]) - expected) <= bound) continue;
    std::fprintf(stderr, "function %d of %g, %g in %zu bytes: %.17g, not %.17g\n", function, x[i], y[i], sizeof(T),
                 double(actual[i]), expected);
    std::_Exit(1);
  }
}

template <int kFunction>
void check(const std::vector<float>& x, const std::vector<float>& y) {
  const int size = int(x.size());
  DeviceArray<float> deviceX(x), deviceY(y), out(size);
  DeviceArray<double> outDouble(size);
  single<kFunction><<<(size + 127) / 128, 128>>>(deviceX, deviceY, out, size);
  twice<kFunction><<<(size + 127) / 128, 128>>>(deviceX, deviceY, outDouble, size);
  CHECK_LAUNCH();
  compare(kFunction, out.host(), x, y);
  compare(kFunction, outDouble.host(), x, y);
  if constexpr (kFunction + 1 < kFunctions) check<kFunction + 1>(x, y);
}

__global__ void specials(float* out) {
  const float zero = out[0], inf = 1 / zero, nan = inf - inf;
  int i = 1;
  out[i++] = sqrtf(-1 - zero);
  out[i++] = logf(zero);
  out[i++] = expf(inf);
  out[i++] = expf(-inf);
  out[i++] = fmaxf(nan, 3);
  out[i++] = fminf(2, nan);
  out[i++] = powf(zero, zero);
  out[i++] = atan2f(zero, -1);
  out[i++] = sinf(inf);
  out[i++] = copysignf(2, -zero);
  out[i++] = float(isnan(nan) * 4 + isinf(inf) * 2 + isfinite(inf));
  out[i++] = fmaf(inf, zero, 1);
}

int main() {
  check<0>(randomFloats(2000, 0.01f, 30, 36), randomFloats(2000, 0.1f, 4, 37));
  DeviceArray<float> out(13);
  out.clear();
  specials<<<1, 1>>>(out);
  CHECK_LAUNCH();
  const auto seen = out.host();
  EXPECT(std::isnan(seen[1]) && seen[2] == -INFINITY && seen[3] == INFINITY && seen[4] == 0);
  EXPECT(seen[5] == 3 && seen[6] == 2 && seen[7] == 1 && std::fabs(seen[8] - 3.14159265f) < 1e-6f);
  EXPECT(std::isnan(seen[9]) && seen[10] == -2 && seen[11] == 6 && std::isnan(seen[12]));
  return passed();
}
