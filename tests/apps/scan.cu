// A prefix sum over many blocks: shuffles inside a warp, shared memory across warps, three kernels across blocks.
#include "check.h"

constexpr int kBlock = 256;

__device__ int inclusiveInWarp(int value) {
  const int lane = threadIdx.x % 32;
  for (int offset = 1; offset < 32; offset *= 2) {
    const int below = __shfl_up_sync(0xffffffff, value, offset);
    if (lane >= offset) value += below;
  }
  return value;
}

__global__ void scanBlocks(const int* in, int* out, int* totals, int size) {
  __shared__ int warpTotals[kBlock / 32];
  const int i = blockIdx.x * kBlock + threadIdx.x, warp = threadIdx.x / 32;
  int value = inclusiveInWarp(i < size ? in[i] : 0);
  if (threadIdx.x % 32 == 31) warpTotals[warp] = value;
  __syncthreads();
  for (int w = 0; w < warp; ++w) value += warpTotals[w];
  if (i < size) out[i] = value;
  if (totals && threadIdx.x == kBlock - 1) totals[blockIdx.x] = value;
}

__global__ void addBlockOffsets(int* out, const int* scannedTotals, int size) {
  const int i = blockIdx.x * kBlock + threadIdx.x;
  if (blockIdx.x > 0 && i < size) out[i] += scannedTotals[blockIdx.x - 1];
}

int main() {
  for (int size : {1, 32, 255, 256, 257, 65536, 65000}) {
    std::vector<int> in;
    for (unsigned word : randomWords(size, 100, 10)) in.push_back(int(word));
    const int blocks = (size + kBlock - 1) / kBlock;
    EXPECT(blocks <= kBlock);
    DeviceArray<int> deviceIn(in), out(size), totals(blocks), scannedTotals(blocks);
    scanBlocks<<<blocks, kBlock>>>(deviceIn, out, totals, size);
    scanBlocks<<<1, kBlock>>>(totals, scannedTotals, nullptr, blocks);
    addBlockOffsets<<<blocks, kBlock>>>(out, scannedTotals, size);
    CHECK_LAUNCH();
    std::vector<int> expected(size);
    int sum = 0;
    for (int i = 0; i < size; ++i) expected[i] = sum += in[i];
    expectEqual(out.host(), expected, "scan");
  }
  return passed();
}
