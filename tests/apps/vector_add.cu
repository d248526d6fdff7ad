// The first program of every course: one thread an element, a last block that is partly idle.
#include "check.h"

__global__ void vectorAdd(const float* a, const float* b, float* c, int size) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < size) c[i] = a[i] + b[i];
}

int main() {
  for (int size : {1, 31, 32, 255, 256, 50000, 1 << 20}) {
    const auto a = randomFloats(size, -1, 1, 1), b = randomFloats(size, -1, 1, 2);
    DeviceArray<float> deviceA(a), deviceB(b), deviceC(size);
    vectorAdd<<<(size + 255) / 256, 256>>>(deviceA, deviceB, deviceC, size);
    CHECK_LAUNCH();
    std::vector<float> expected(size);
    for (int i = 0; i < size; ++i) expected[i] = a[i] + b[i];
    expectEqual(deviceC.host(), expected, "vectorAdd");
  }
  return passed();
}
