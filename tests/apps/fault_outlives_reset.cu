// A kernel's fault ends the process's use of the device for good: cudaDeviceReset does not heal it, and nothing
// crashes.
#include "check.h"

__global__ void store(int* where, int value) { *where = value; }

int main() {
  int *device = nullptr, value = 0;
  CHECK(cudaMalloc(&device, sizeof(int)));
  store<<<1, 1>>>(device, 5);
  CHECK_LAUNCH();
  CHECK(cudaMemcpy(&value, device, sizeof value, cudaMemcpyDeviceToHost));
  EXPECT(value == 5);

  store<<<1, 1>>>(reinterpret_cast<int*>(0x10), 1);
  EXPECT_CODE(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
  cudaDeviceReset();  // may report the fault once more, or not
  EXPECT(cudaMalloc(&device, sizeof(int)) != cudaSuccess);
  store<<<1, 1>>>(device, 6);
  EXPECT(cudaGetLastError() != cudaSuccess);
  EXPECT(cudaDeviceSynchronize() != cudaSuccess);
  return passed();
}
