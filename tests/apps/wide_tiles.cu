// Cooperative groups: tiles of several warps, which talk through memory: the block's own before compute capability 8.0,
// reserved memory after.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>

#include "check.h"

namespace cg = cooperative_groups;

constexpr int kMostThreads = 512;

template <int kTile>
__global__ void wideTile(const int* in, int* sums, int* prefix, int* shared) {
  __shared__ cg::block_tile_memory<kMostThreads> memory;
  __shared__ int values[kMostThreads];
  const cg::thread_block block = cg::this_thread_block(memory);
  const auto tile = cg::tiled_partition<kTile>(block);
  const int i = block.thread_rank();
  values[i] = in[i];
  tile.sync();
  sums[i] = cg::reduce(tile, in[i], cg::plus<int>()) + int(tile.meta_group_rank());
  prefix[i] = cg::exclusive_scan(tile, in[i]);
  shared[i] = values[i - tile.thread_rank() + (tile.thread_rank() + 33) % kTile] + tile.shfl(in[i], 3);
  if (tile.any(in[i] < 0)) sums[i] = -1;
}

template <int kTile>
void checkWideTile(const std::vector<int>& in) {
  DeviceArray<int> deviceIn(in), sums(kMostThreads), prefix(kMostThreads), shared(kMostThreads);
  wideTile<kTile><<<1, kMostThreads>>>(deviceIn, sums, prefix, shared);
  CHECK_LAUNCH();
  std::vector<int> expectedSums(kMostThreads), expectedPrefix(kMostThreads), expectedShared(kMostThreads);
  for (int i = 0; i < kMostThreads; ++i) {
    const int first = i / kTile * kTile;
    for (int k = first; k < first + kTile; ++k) {
      expectedSums[i] += in[k];
      if (k < i) expectedPrefix[i] += in[k];
    }
    expectedSums[i] += i / kTile;
    expectedShared[i] = in[first + (i - first + 33) % kTile] + in[first + 3];
  }
  expectEqual(sums.host(), expectedSums, "sums of a tile of several warps");
  expectEqual(prefix.host(), expectedPrefix, "prefix of a tile of several warps");
  expectEqual(shared.host(), expectedShared, "shared memory behind a tile's barrier");
}

int main() {
  std::vector<int> in;
  for (unsigned word : randomWords(kMostThreads, 1000, 36)) in.push_back(int(word));
  checkWideTile<64>(in);
  checkWideTile<128>(in);
  checkWideTile<256>(in);
  checkWideTile<512>(in);
  return passed();
}
