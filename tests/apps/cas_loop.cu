// Loops around atomicCAS: a float maximum, a product of doubles, and a lock that one thread of each block takes.
#include "check.h"

__device__ float atomicMaxFloat(float* address, float value) {
  int* bits = reinterpret_cast<int*>(address);
  int seen = *bits;
  while (value > __int_as_float(seen)) {
    const int assumed = seen;
    seen = atomicCAS(bits, assumed, __float_as_int(value));
    if (seen == assumed) break;
  }
  return __int_as_float(seen);
}

__device__ void atomicMultiply(double* address, double value) {
  auto* bits = reinterpret_cast<unsigned long long*>(address);
  unsigned long long seen = *bits, assumed;
  do {
    assumed = seen;
    seen = atomicCAS(bits, assumed,
                     (unsigned long long)__double_as_longlong(__longlong_as_double((long long)assumed) * value));
  } while (seen != assumed);
}

__global__ void maximum(const float* in, int size, float* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < size) atomicMaxFloat(out, in[i]);
}

__global__ void product(double* out) { atomicMultiply(out, threadIdx.x % 2 ? 2.0 : 0.5); }

__device__ int lockWord = 0;

__global__ void lockedIncrement(volatile int* value) {
  if (threadIdx.x != 0) return;
  while (atomicCAS(&lockWord, 0, 1) != 0) {
  }
  __threadfence();
  *value = *value + 1;
  __threadfence();
  atomicExch(&lockWord, 0);
}

int main() {
  const auto in = randomFloats(20000, 0, 1000, 22);
  DeviceArray<float> deviceIn(in), most(1);
  most.clear();
  maximum<<<(20000 + 127) / 128, 128>>>(deviceIn, 20000, most);
  CHECK_LAUNCH();
  float expected = 0;
  for (float value : in) expected = std::fmax(expected, value);
  EXPECT(most.host()[0] == expected);

  DeviceArray<double> result(std::vector<double>{3});
  product<<<4, 101>>>(result);
  CHECK_LAUNCH();
  EXPECT(result.host()[0] == 3.0 / 16);

  DeviceArray<int> count(1);
  count.clear();
  lockedIncrement<<<300, 32>>>(count);
  CHECK_LAUNCH();
  EXPECT(count.host()[0] == 300);
  return passed();
}
