// Cooperative groups without a grid barrier: tiles of a warp, coalesced threads, the block as a group.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>

#include "check.h"

namespace cg = cooperative_groups;

template <int kTile>
__global__ void tileSums(const int* in, int* sums, int* prefix, int* ranks) {
  const cg::thread_block block = cg::this_thread_block();
  const cg::thread_block_tile<kTile> tile = cg::tiled_partition<kTile>(block);
  const int i = blockIdx.x * blockDim.x + block.thread_rank();
  int value = in[i];
  for (int offset = kTile / 2; offset > 0; offset /= 2) value += tile.shfl_down(value, offset);
  if (tile.thread_rank() == 0) sums[i / kTile] = value;
  prefix[i] = cg::inclusive_scan(tile, in[i]);
  ranks[i] = int(tile.meta_group_rank() * 100 + tile.thread_rank());
  const int most = cg::reduce(tile, in[i], cg::greater<int>());
  if (tile.any(in[i] > most)) ranks[i] = -1;
}

__global__ void coalescedIncrement(const int* in, int size, int* counters) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < size && in[i] % 3 == 0) {
    const cg::coalesced_group active = cg::coalesced_threads();
    int first = 0;
    if (active.thread_rank() == 0) first = atomicAdd(counters, int(active.size()));
    first = active.shfl(first, 0);
    atomicAdd(counters + 1, first + int(active.thread_rank()));
  }
}

__global__ void blockGroup(int* out) {
  __shared__ int values[160];
  const cg::thread_block block = cg::this_thread_block();
  values[block.thread_rank()] = int(block.thread_rank());
  block.sync();
  out[block.thread_rank()] = values[block.size() - 1 - block.thread_rank()] + int(block.group_index().x);
}

template <int kTile>
void checkTile(const std::vector<int>& in) {
  const int size = int(in.size());
  DeviceArray<int> deviceIn(in), sums(size / kTile), prefix(size), ranks(size);
  tileSums<kTile><<<size / 128, 128>>>(deviceIn, sums, prefix, ranks);
  CHECK_LAUNCH();
  std::vector<int> expectedSums(size / kTile), expectedPrefix(size), expectedRanks(size);
  for (int i = 0; i < size; ++i) {
    expectedSums[i / kTile] += in[i];
    expectedPrefix[i] = expectedSums[i / kTile];
    expectedRanks[i] = i % 128 / kTile * 100 + i % kTile;
  }
  expectEqual(sums.host(), expectedSums, "tile sums");
  expectEqual(prefix.host(), expectedPrefix, "tile prefix");
  expectEqual(ranks.host(), expectedRanks, "tile ranks");
}

int main() {
  std::vector<int> in;
  for (unsigned word : randomWords(1024, 1000, 35)) in.push_back(int(word));
  checkTile<32>(in);
  checkTile<16>(in);
  checkTile<8>(in);
  checkTile<4>(in);
  checkTile<2>(in);

  DeviceArray<int> deviceIn(in), counters(2);
  counters.clear();
  coalescedIncrement<<<8, 128>>>(deviceIn, int(in.size()), counters);
  CHECK_LAUNCH();
  int multiples = 0;
  for (int value : in) multiples += value % 3 == 0;
  const auto counts = counters.host();
  EXPECT(counts[0] == multiples && counts[1] == multiples * (multiples - 1) / 2);

  DeviceArray<int> out(160);
  blockGroup<<<1, 160>>>(out);
  CHECK_LAUNCH();
  const auto seen = out.host();
  for (int i = 0; i < 160; ++i) EXPECT(seen[i] == 159 - i);
  return passed();
}
