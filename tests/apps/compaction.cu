// Stream compaction in order: ballots inside a warp, a scan across the block's warps, offsets across blocks.
#include "check.h"

constexpr int kBlock = 128;

__device__ bool wanted(int value) { return value % 7 < 3; }

__global__ void countWanted(const int* in, int size, int* counts) {
  const int i = blockIdx.x * kBlock + threadIdx.x;
  const int count = __syncthreads_count(i < size && wanted(in[i]));
  if (threadIdx.x == 0) counts[blockIdx.x] = count;
}

__global__ void exclusiveScan(int* values, int size) {
  if (threadIdx.x != 0) return;
  int sum = 0;
  for (int i = 0; i < size; ++i) {
    const int value = values[i];
    values[i] = sum;
    sum += value;
  }
}

__global__ void compact(const int* in, int size, const int* offsets, int* out) {
  __shared__ int warpCounts[kBlock / 32];
  const int i = blockIdx.x * kBlock + threadIdx.x, warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const bool keep = i < size && wanted(in[i]);
  const unsigned ballot = __ballot_sync(0xffffffff, keep);
  if (lane == 0) warpCounts[warp] = __popc(ballot);
  __syncthreads();
  int at = offsets[blockIdx.x] + __popc(ballot & ((1u << lane) - 1));
  for (int w = 0; w < warp; ++w) at += warpCounts[w];
  if (keep) out[at] = in[i];
}

__global__ void blockVotes(const int* in, int* out) {
  const int value = in[blockIdx.x * blockDim.x + threadIdx.x];
  const int any = __syncthreads_or(value == 77), all = __syncthreads_and(value < 900);
  if (threadIdx.x == 0) out[blockIdx.x] = any * 2 + all;
}

int main() {
  std::vector<int> in, expected;
  for (unsigned word : randomWords(30001, 1000, 41)) in.push_back(int(word));
  for (int value : in)
    if (value % 7 < 3) expected.push_back(value);
  const int size = int(in.size()), blocks = (size + kBlock - 1) / kBlock;
  DeviceArray<int> deviceIn(in), offsets(blocks), out(expected.size());
  countWanted<<<blocks, kBlock>>>(deviceIn, size, offsets);
  exclusiveScan<<<1, 32>>>(offsets, blocks);
  compact<<<blocks, kBlock>>>(deviceIn, size, offsets, out);
  CHECK_LAUNCH();
  expectEqual(out.host(), expected, "compaction");

  DeviceArray<int> votes(300);
  blockVotes<<<300, 100>>>(deviceIn, votes);
  CHECK_LAUNCH();
  const auto seen = votes.host();
  for (int block = 0; block < 300; ++block) {
    bool any = false, all = true;
    for (int i = 0; i < 100; ++i) {
      any = any || in[block * 100 + i] == 77;
      all = all && in[block * 100 + i] < 900;
    }
    EXPECT(seen[block] == any * 2 + all);
  }
  return passed();
}
