// A failed assertion in a kernel: cudaErrorAssert, which stays until the process ends or the device is reset.
#include <cassert>

#include "check.h"

__global__ void expectSmall(const int* values) { assert(values[threadIdx.x] < 100); }

int main() {
  std::vector<int> good(64, 5), bad = good;
  bad[37] = 100;
  {
    DeviceArray<int> goodValues(good);
    expectSmall<<<1, 64>>>(goodValues);
    CHECK_LAUNCH();
  }
  DeviceArray<int> badValues(bad);
  expectSmall<<<1, 64>>>(badValues);
  CHECK(cudaGetLastError());
  EXPECT_CODE(cudaDeviceSynchronize(), cudaErrorAssert);
  EXPECT_CODE(cudaDeviceSynchronize(), cudaErrorAssert);
  int* later = nullptr;
  EXPECT_CODE(cudaMalloc(&later, 16), cudaErrorAssert);
  return passed();
}
