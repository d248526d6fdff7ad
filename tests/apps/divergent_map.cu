// Lanes of a warp take different branches, nested and with different numbers of loop rounds, and meet again.
#include "check.h"

__host__ __device__ inline int collatzSteps(unsigned n) {
  int steps = 0;
  while (n != 1) {
    n = n % 2 ? 3 * n + 1 : n / 2;
    ++steps;
  }
  return steps;
}

__host__ __device__ inline int classify(unsigned value) {
  int result = 0;
  if (value % 3 == 0) {
    result = value % 5 == 0 ? 15 : 3;
    for (unsigned i = 0; i < value % 7; ++i) result += int(i * i);
  } else if (value % 5 == 0) {
    switch (value % 4) {
      case 0:
        result = -1;
        break;
      case 1:
        result = int(value >> 3);
        break;
      case 2:
        result = int(value) * 3;
        break;
      default:
        result = 77;
        break;
    }
  } else {
    result = collatzSteps(value % 1000 + 1);
    if (result > 60) return -result;
  }
  return result * 2 + 1;
}

__global__ void map(const unsigned* in, int* out, int size) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= size) return;
  out[i] = classify(in[i]);
}

int main() {
  const auto in = randomWords(20000, 1 << 20, 5);
  DeviceArray<unsigned> deviceIn(in);
  DeviceArray<int> deviceOut(in.size());
  map<<<(in.size() + 127) / 128, 128>>>(deviceIn, deviceOut, int(in.size()));
  CHECK_LAUNCH();
  std::vector<int> expected;
  for (unsigned value : in) expected.push_back(classify(value));
  expectEqual(deviceOut.host(), expected, "classify");
  return passed();
}
