// Sums by a tree in shared memory, by shuffles, and by the last block to finish (fence and counter).
#include <climits>

#include "check.h"

template <int kBlock>
__global__ void reduceShared(const int* in, int size, int* out) {
  __shared__ int partial[kBlock];
  int sum = 0;
  for (int i = blockIdx.x * kBlock + threadIdx.x; i < size; i += kBlock * gridDim.x) sum += in[i];
  partial[threadIdx.x] = sum;
  __syncthreads();
  for (int half = kBlock / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) atomicAdd(out, partial[0]);
}

__inline__ __device__ int warpSum(int value) {
  for (int offset = 16; offset > 0; offset /= 2) value += __shfl_down_sync(0xffffffff, value, offset);
  return value;
}

__global__ void reduceShuffle(const int* in, int size, int* out) {
  __shared__ int partial[32];
  int sum = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < size; i += blockDim.x * gridDim.x) sum += in[i];
  sum = warpSum(sum);
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x < 32) {
    sum = warpSum(threadIdx.x < blockDim.x / 32 ? partial[threadIdx.x] : 0);
    if (threadIdx.x == 0) atomicAdd(out, sum);
  }
}

__device__ unsigned finishedBlocks = 0;

__global__ void reduceLastBlock(const int* in, int size, volatile int* partial, int* out) {
  __shared__ int sums[128];
  __shared__ bool last;
  int sum = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < size; i += blockDim.x * gridDim.x) sum += in[i];
  sums[threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int i = 1; i < 128; ++i) sum += sums[i];
    partial[blockIdx.x] = sum;
    __threadfence();
    last = atomicInc(&finishedBlocks, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (last && threadIdx.x == 0) {
    int total = 0;
    for (unsigned block = 0; block < gridDim.x; ++block) total += partial[block];
    *out = total;
  }
}

__global__ void extremes(const int* in, int size, int* low, int* high) {
  int least = INT_MAX, most = INT_MIN;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < size; i += blockDim.x * gridDim.x) {
    least = min(least, in[i]);
    most = max(most, in[i]);
  }
  for (int offset = 16; offset > 0; offset /= 2) {
    least = min(least, __shfl_xor_sync(0xffffffff, least, offset));
    most = max(most, __shfl_xor_sync(0xffffffff, most, offset));
  }
  if (threadIdx.x % 32 == 0) {
    atomicMin(low, least);
    atomicMax(high, most);
  }
}

int main() {
  const auto words = randomWords(123457, 0, 9);
  std::vector<int> in;
  int expected = 0, least = INT_MAX, most = INT_MIN;
  for (unsigned word : words) {
    in.push_back(int(word) >> 12);
    expected += in.back();
    least = std::min(least, in.back());
    most = std::max(most, in.back());
  }
  const int size = int(in.size());
  DeviceArray<int> deviceIn(in), out(1), partial(40);

  out.clear();
  reduceShared<256><<<37, 256>>>(deviceIn, size, out);
  CHECK_LAUNCH();
  EXPECT(out.host()[0] == expected);

  out.clear();
  reduceShuffle<<<20, 512>>>(deviceIn, size, out);
  CHECK_LAUNCH();
  EXPECT(out.host()[0] == expected);

  for (int round = 0; round < 5; ++round) {
    out.clear();
    reduceLastBlock<<<40, 128>>>(deviceIn, size, partial, out);
    CHECK_LAUNCH();
    EXPECT(out.host()[0] == expected);
  }

  DeviceArray<int> low(std::vector<int>{INT_MAX}), high(std::vector<int>{INT_MIN});
  extremes<<<9, 96>>>(deviceIn, size, low, high);
  CHECK_LAUNCH();
  EXPECT(low.host()[0] == least && high.host()[0] == most);
  return passed();
}
