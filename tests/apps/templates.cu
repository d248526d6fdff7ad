// Kernels from templates, functors and lambdas: long mangled names, and captured values as parameters.
#include "check.h"

template <class T, int kFactor, class Function>
__global__ void transformAll(const T* in, T* out, int size, Function function) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < size) out[i] = function(in[i]) * T(kFactor);
}

template <class T>
struct Polynomial {
  T a, b, c;
  __host__ __device__ T operator()(T x) const { return (a * x + b) * x + c; }
};

struct Clamp {
  int low, high;
  __host__ __device__ int operator()(int x) const { return x < low ? low : x > high ? high : x; }
};

namespace outer {
namespace {
template <class... T>
__global__ void sumOf(double* out, T... values) {
  *out = (double(values) + ...);
}
}  // namespace
}  // namespace outer

template <class T, int kFactor, class Function>
void check(Function function) {
  std::vector<T> in, expected;
  for (unsigned word : randomWords(1000, 100, 33)) in.push_back(T(word));
  for (T value : in) expected.push_back(function(value) * T(kFactor));
  DeviceArray<T> deviceIn(in), out(in.size());
  transformAll<T, kFactor><<<8, 128>>>(deviceIn, out, int(in.size()), function);
  CHECK_LAUNCH();
  expectEqual(out.host(), expected, "transform");
}

int main() {
  check<int, 3>(Polynomial<int>{2, -3, 5});
  check<double, 2>(Polynomial<double>{2, -3, 5});
  check<long long, -1>(Polynomial<long long>{1ll << 33, 7, 11});
  check<int, 1>(Clamp{20, 70});
  DeviceArray<double> out(1);
  outer::sumOf<<<1, 1>>>(out, 1, 2.5, 3.25f, 'a', 1ll << 40, (unsigned char)200, short(-3), true);
  CHECK_LAUNCH();
  EXPECT(out.host()[0] == 1 + 2.5 + 3.25 + 'a' + double(1ll << 40) + 200 - 3 + 1);
  return passed();
}
