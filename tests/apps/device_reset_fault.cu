// After a fault, cudaDeviceReset makes the device usable again within the same process.
#include "check.h"

__global__ void store(int* where, int value) { *where = value; }

int main() {
  for (int round = 0; round < 3; ++round) {
    int *device = nullptr, value = 0;
    CHECK(cudaMalloc(&device, sizeof(int)));
    store<<<1, 1>>>(device, 5 + round);
    CHECK_LAUNCH();
    CHECK(cudaMemcpy(&value, device, sizeof value, cudaMemcpyDeviceToHost));
    EXPECT(value == 5 + round);
    store<<<1, 1>>>(reinterpret_cast<int*>(0x10), 1);
    EXPECT_CODE(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
    EXPECT(cudaMalloc(&device, 4) == cudaErrorIllegalAddress);
    cudaDeviceReset();  // the runtime may report the fault once more
    cudaGetLastError();
  }
  return passed();
}
