// Shared memory whose size the launch gives: alone, beside static memory, above 48 KiB by opting in, in two types.
#include "check.h"

extern __shared__ unsigned char dynamicBytes[];

__global__ void reverse(int* values, int size) {
  int* local = reinterpret_cast<int*>(dynamicBytes);
  for (int i = threadIdx.x; i < size; i += blockDim.x) local[i] = values[i];
  __syncthreads();
  for (int i = threadIdx.x; i < size; i += blockDim.x) values[i] = local[size - 1 - i];
}

__global__ void both(const float* in, double* out, int size) {
  __shared__ float fixed[64];
  double* sums = reinterpret_cast<double*>(dynamicBytes);
  float* copies = reinterpret_cast<float*>(sums + size);
  if (threadIdx.x < 64) fixed[threadIdx.x] = float(threadIdx.x);
  copies[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  sums[threadIdx.x] = double(copies[size - 1 - threadIdx.x]) + fixed[threadIdx.x % 64];
  __syncthreads();
  out[threadIdx.x] = sums[(threadIdx.x + 1) % size];
}

static void checkReverse(int size, int threads) {
  std::vector<int> in, expected;
  for (int i = 0; i < size; ++i) in.push_back(i * 7);
  for (int i = 0; i < size; ++i) expected.push_back(in[size - 1 - i]);
  DeviceArray<int> values(in);
  reverse<<<1, threads, size * sizeof(int)>>>(values, size);
  CHECK_LAUNCH();
  expectEqual(values.host(), expected, "reverse");
}

int main() {
  checkReverse(1, 32);
  checkReverse(1000, 128);
  checkReverse(12 * 1024, 1024);  // exactly 48 KiB

  CHECK(cudaFuncSetAttribute(reverse, cudaFuncAttributeMaxDynamicSharedMemorySize, 64 * 1024));
  checkReverse(16 * 1024, 1024);
  cudaFuncAttributes attributes;
  CHECK(cudaFuncGetAttributes(&attributes, reverse));
  EXPECT(attributes.maxDynamicSharedSizeBytes == 64 * 1024 && attributes.sharedSizeBytes == 0);

  const int size = 96;
  const auto in = randomFloats(size, 0, 1, 16);
  DeviceArray<float> deviceIn(in);
  DeviceArray<double> out(size);
  both<<<1, size, size*(sizeof(double) + sizeof(float))>>>(deviceIn, out, size);
  CHECK_LAUNCH();
  std::vector<double> sums, expected;
  for (int i = 0; i < size; ++i) sums.push_back(double(in[size - 1 - i]) + i % 64);
  for (int i = 0; i < size; ++i) expected.push_back(sums[(i + 1) % size]);
  expectEqual(out.host(), expected, "both kinds");
  return passed();
}
