// A grid-stride loop: the same answer whatever the grid, from one thread to more threads than elements.
#include "check.h"

__global__ void saxpy(size_t size, float a, const float* x, float* y) {
  for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < size; i += size_t(blockDim.x) * gridDim.x)
    y[i] = a * x[i] + y[i];
}

int main() {
  const size_t size = 30011;
  const auto x = randomFloats(size, -10, 10, 3), y = randomFloats(size, -10, 10, 4);
  std::vector<float> expected(size);
  for (size_t i = 0; i < size; ++i) expected[i] = std::fma(2.5f, x[i], y[i]);
  const dim3 shapes[][2] = {{1, 1}, {1, 32}, {7, 96}, {64, 256}, {1000, 33}, {3, 1024}};
  for (const auto& shape : shapes) {
    DeviceArray<float> deviceX(x), deviceY(y);
    saxpy<<<shape[0], shape[1]>>>(size, 2.5f, deviceX, deviceY);
    CHECK_LAUNCH();
    expectEqual(deviceY.host(), expected, "saxpy");
  }
  return passed();
}
