// A store to an address that belongs to nobody: cudaErrorIllegalAddress, sticky; the process lives on.
#include "check.h"

__global__ void store(int* where) { *where = 1; }

int main() {
  DeviceArray<int> good(1);
  store<<<1, 1>>>(good);
  CHECK_LAUNCH();
  EXPECT(good.host()[0] == 1);

  store<<<1, 1>>>(nullptr);
  EXPECT_CODE(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
  EXPECT_CODE(cudaGetLastError(), cudaErrorIllegalAddress);
  EXPECT_CODE(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
  cudaStream_t stream;
  EXPECT_CODE(cudaStreamCreate(&stream), cudaErrorIllegalAddress);
  int value;
  EXPECT_CODE(cudaMemcpy(&value, good, sizeof value, cudaMemcpyDeviceToHost), cudaErrorIllegalAddress);
  store<<<1, 1>>>(good);
  EXPECT_CODE(cudaGetLastError(), cudaErrorIllegalAddress);
  return passed();
}
