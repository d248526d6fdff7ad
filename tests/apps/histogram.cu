// Histograms with atomics in global memory and with shared ones that are merged; bytes, and wide bins.
#include "check.h"

__global__ void histogramGlobal(const unsigned char* in, int size, unsigned* bins) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < size; i += blockDim.x * gridDim.x)
    atomicAdd(&bins[in[i]], 1u);
}

__global__ void histogramShared(const unsigned char* in, int size, unsigned* bins) {
  __shared__ unsigned local[256];
  for (int i = threadIdx.x; i < 256; i += blockDim.x) local[i] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < size; i += blockDim.x * gridDim.x)
    atomicAdd(&local[in[i]], 1u);
  __syncthreads();
  for (int i = threadIdx.x; i < 256; i += blockDim.x)
    if (local[i]) atomicAdd(&bins[i], local[i]);
}

int main() {
  std::vector<unsigned char> in;
  for (unsigned word : randomWords(200003, 0, 11)) in.push_back((word & 255) & (word >> 8));  // uneven on purpose
  std::vector<unsigned> expected(256);
  for (unsigned char byte : in) ++expected[byte];
  DeviceArray<unsigned char> deviceIn(in);
  for (auto* kernel : {histogramGlobal, histogramShared}) {
    DeviceArray<unsigned> bins(256);
    bins.clear();
    kernel<<<24, 192>>>(deviceIn, int(in.size()), bins);
    CHECK_LAUNCH();
    expectEqual(bins.host(), expected, "histogram");
  }
  return passed();
}
