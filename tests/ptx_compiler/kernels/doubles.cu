// Floats, halves and integers that a literal makes doubles: sums and differences with powers of two of them, to the
// bit. NaNs become one, since which of two is handed on is open. The source of doubles.ptx:
//   nvcc -arch=sm_90 -fmad=false -ptx -o doubles.ptx doubles.cu
#include "kernel.h"

__device__ __forceinline__ unsigned mixed(double value) {
  if (value != value) return 0x7ff80000;
  const long long bits = __double_as_longlong(value);
  return static_cast<unsigned>(bits) * 31 + static_cast<unsigned>(bits >> 32);
}
__device__ __forceinline__ float number(const unsigned* in, int at, int n) { return __uint_as_float(in[at % n]); }

KERNEL stencil(ARGS) {
  unsigned sum = 0;
  for (int k = 0; k < 8; ++k) {
    const int at = linear() * 5 + k;
    const float c = number(in, at, n), left = number(in, at + 1, n), right = number(in, at + 2, n);
    sum = sum * 7 + mixed((left + right - 2.0 * c) * 0.3 + left);
    sum = sum * 7 + mixed(2.0 * c - right);
    sum = sum * 7 + mixed(left + 0.25 * c);
    sum = sum * 7 + mixed(left - -8.0 * c);
    sum = sum * 7 + __float_as_uint(static_cast<float>(fmin(4.0 * right - c, 1e30)));
  }
  out[linear() * 8] = sum;
}

// Factors at which the product is no longer exact, products that are needed themselves, and signs of zero.
KERNEL limits(ARGS) {
  unsigned sum = 0;
  for (int k = 0; k < 8; ++k) {
    const int at = linear() * 3 + k;
    const float c = number(in, at, n), d = number(in, at + 1, n);
    const double wide = __hiloint2double(in[at % n], in[(at + 1) % n]);
    const double product = 2.0 * c;
    sum = sum * 7 + mixed(d + product) + mixed(product);
    sum = sum * 7 + mixed(wide + 2.0 * wide);
    sum = sum * 7 + mixed(wide - 2.0 * static_cast<double>(c));
    sum = sum * 7 + mixed(1e300 * c + d) + mixed(wide * 0x1p600 - c);
    sum = sum * 7 + mixed((k & 1 ? 0.0f : -0.0f) - 2.0 * (c * 0.0f));
    const int whole = static_cast<int>(in[at % n]);
    sum = sum * 7 + mixed(0.5 * whole - d) + mixed(wide + 16.0 * static_cast<unsigned>(whole));
  }
  out[linear() * 8] = sum;
}
