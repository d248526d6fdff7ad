// Launches that must be refused, with the right error each, leaving the device as usable as before.
#include "check.h"

__global__ void increment(int* value) { atomicAdd(value, 1); }
__global__ void needsShared(int* value) {
  extern __shared__ int local[];
  local[threadIdx.x] = 1;
  *value = local[0];
}

int main() {
  DeviceArray<int> value(1);
  value.clear();
  increment<<<1, 1025>>>(value);
  EXPECT_CODE(cudaGetLastError(), cudaErrorInvalidValue);
  increment<<<1, dim3(32, 33)>>>(value);
  EXPECT_CODE(cudaGetLastError(), cudaErrorInvalidValue);
  increment<<<1, dim3(1, 1, 65)>>>(value);
  EXPECT_CODE(cudaGetLastError(), cudaErrorInvalidValue);
  increment<<<0, 32>>>(value);
  EXPECT_CODE(cudaGetLastError(), cudaErrorInvalidValue);
  increment<<<32, 0>>>(value);
  EXPECT_CODE(cudaGetLastError(), cudaErrorInvalidValue);
  increment<<<dim3(1, 65536), 1>>>(value);
  EXPECT_CODE(cudaGetLastError(), cudaErrorInvalidValue);
  needsShared<<<1, 32, 60 * 1024>>>(value);
  EXPECT_CODE(cudaGetLastError(), cudaErrorInvalidValue);
  EXPECT_CODE(cudaFuncSetAttribute(needsShared, cudaFuncAttributeMaxDynamicSharedMemorySize, 10 << 20),
              cudaErrorInvalidValue);
  EXPECT_CODE(cudaPeekAtLastError(), cudaErrorInvalidValue);
  EXPECT_CODE(cudaGetLastError(), cudaErrorInvalidValue);
  CHECK(cudaGetLastError());

  EXPECT_CODE(cudaMemcpy(nullptr, value, 4, cudaMemcpyDeviceToHost), cudaErrorInvalidValue);
  EXPECT_CODE(cudaFree(reinterpret_cast<void*>(0x1234)), cudaErrorInvalidValue);
  EXPECT_CODE(cudaSetDevice(1000), cudaErrorInvalidDevice);
  void* nothing = nullptr;
  EXPECT_CODE(cudaMalloc(&nothing, size_t(1) << 60), cudaErrorMemoryAllocation);
  EXPECT_CODE(cudaLaunchKernel((const void*)main, 1, 1, nullptr, 0, nullptr), cudaErrorInvalidResourceHandle);
  cudaGetLastError();

  increment<<<7, 32>>>(value);
  CHECK_LAUNCH();
  EXPECT(value.host()[0] == 7 * 32);
  return passed();
}
