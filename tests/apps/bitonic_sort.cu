// Bitonic sort: one kernel a step in global memory, and whole blocks in shared memory.
#include <algorithm>

#include "check.h"

__global__ void step(unsigned* values, unsigned j, unsigned k) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x, other = i ^ j;
  if (other <= i) return;
  const bool ascending = (i & k) == 0;
  const unsigned a = values[i], b = values[other];
  if ((a > b) == ascending) {
    values[i] = b;
    values[other] = a;
  }
}

__global__ void sortBlocks(unsigned* values) {
  __shared__ unsigned local[512];
  const unsigned i = threadIdx.x;
  local[i] = values[blockIdx.x * 512 + i];
  __syncthreads();
  for (unsigned k = 2; k <= 512; k *= 2) {
    for (unsigned j = k / 2; j > 0; j /= 2) {
      const unsigned other = i ^ j;
      if (other > i) {
        const unsigned a = local[i], b = local[other];
        if ((a > b) == ((i & k) == 0)) {
          local[i] = b;
          local[other] = a;
        }
      }
      __syncthreads();
    }
  }
  values[blockIdx.x * 512 + i] = local[i];
}

int main() {
  const unsigned size = 1 << 14;
  const auto in = randomWords(size, 0, 15);
  auto expected = in;
  std::sort(expected.begin(), expected.end());
  DeviceArray<unsigned> values(in);
  for (unsigned k = 2; k <= size; k *= 2)
    for (unsigned j = k / 2; j > 0; j /= 2) step<<<size / 256, 256>>>(values, j, k);
  CHECK_LAUNCH();
  expectEqual(values.host(), expected, "bitonic sort");

  DeviceArray<unsigned> blocks(in);
  sortBlocks<<<size / 512, 512>>>(blocks);
  CHECK_LAUNCH();
  expected = in;
  for (unsigned start = 0; start < size; start += 512) std::sort(&expected[start], &expected[start] + 512);
  expectEqual(blocks.host(), expected, "sort of blocks");
  return passed();
}
