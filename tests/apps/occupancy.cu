// Occupancy queries, function attributes and the numbers they must agree with.
#include "check.h"

__global__ void plain(float* values) { values[threadIdx.x] += 1; }

__global__ void __launch_bounds__(128) bounded(float* values) {
  __shared__ float tile[1024];
  tile[threadIdx.x] = values[threadIdx.x];
  __syncthreads();
  values[threadIdx.x] = tile[127 - threadIdx.x];
}

int main() {
  cudaDeviceProp properties;
  CHECK(cudaGetDeviceProperties(&properties, 0));
  int blocks = 0;
  CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, plain, 256, 0));
  EXPECT(blocks >= 1 && blocks * 256 <= properties.maxThreadsPerMultiProcessor);
  int fewer = 0;
  CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&fewer, plain, 256, 40 * 1024));
  EXPECT(fewer >= 1 && fewer <= blocks && size_t(fewer) * 40 * 1024 <= properties.sharedMemPerMultiprocessor);
  int minimumGrid = 0, block = 0;
  CHECK(cudaOccupancyMaxPotentialBlockSize(&minimumGrid, &block, plain));
  EXPECT(block >= 32 && block <= properties.maxThreadsPerBlock && block % 32 == 0);
  EXPECT(minimumGrid >= properties.multiProcessorCount);

  cudaFuncAttributes attributes;
  CHECK(cudaFuncGetAttributes(&attributes, bounded));
  EXPECT(attributes.sharedSizeBytes == 4096 && attributes.maxThreadsPerBlock == 128);
  CHECK(cudaFuncGetAttributes(&attributes, plain));
  EXPECT(attributes.sharedSizeBytes == 0 && attributes.maxThreadsPerBlock >= 256 && attributes.numRegs > 0);
  EXPECT(attributes.binaryVersion >= 75 && attributes.ptxVersion == 75);

  std::vector<float> start;
  for (int i = 0; i < 128; ++i) start.push_back(float(i));
  DeviceArray<float> values(start);
  bounded<<<1, 128>>>(values);
  CHECK_LAUNCH();
  const auto reversed = values.host();
  for (int i = 0; i < 128; ++i) EXPECT(reversed[i] == float(127 - i));
  bounded<<<1, 256>>>(values);
  EXPECT(cudaGetLastError() != cudaSuccess);
  CHECK(cudaDeviceSynchronize());
  return passed();
}
