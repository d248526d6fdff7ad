// Algorithms of a block and of a warp by CUB inside kernels of our own: striped loads, scans, radix sort, reductions.
#include <cub/cub.cuh>

#include <algorithm>
#include <numeric>

#include "check.h"

constexpr int kThreads = 128, kItems = 7, kTile = kThreads * kItems;

__global__ void sortTiles(const int* in, int* out) {
  using Load = cub::BlockLoad<int, kThreads, kItems, cub::BLOCK_LOAD_TRANSPOSE>;
  using Sort = cub::BlockRadixSort<int, kThreads, kItems>;
  using Store = cub::BlockStore<int, kThreads, kItems, cub::BLOCK_STORE_TRANSPOSE>;
  __shared__ union {
    typename Load::TempStorage load;
    typename Sort::TempStorage sort;
    typename Store::TempStorage store;
  } temporary;
  int keys[kItems];
  Load(temporary.load).Load(in + blockIdx.x * kTile, keys);
  __syncthreads();
  Sort(temporary.sort).Sort(keys);
  __syncthreads();
  Store(temporary.store).Store(out + blockIdx.x * kTile, keys);
}

__global__ void scanTiles(const int* in, int* out, int* totals) {
  using Scan = cub::BlockScan<int, kThreads, cub::BLOCK_SCAN_WARP_SCANS>;
  __shared__ typename Scan::TempStorage temporary;
  int items[kItems], total;
  for (int i = 0; i < kItems; ++i) items[i] = in[blockIdx.x * kTile + threadIdx.x * kItems + i];
  Scan(temporary).ExclusiveSum(items, items, total);
  for (int i = 0; i < kItems; ++i) out[blockIdx.x * kTile + threadIdx.x * kItems + i] = items[i];
  if (threadIdx.x == 0) totals[blockIdx.x] = total;
}

// The sum over groups of eight lanes, and the largest of the block.
__global__ void reduceGroups(const int* in, int* groupSums, int* largest) {
  using Groups = cub::WarpReduce<int, 8>;
  using Block = cub::BlockReduce<int, kThreads>;
  __shared__ typename Groups::TempStorage groups[kThreads / 8];
  __shared__ typename Block::TempStorage block;
  const int value = in[blockIdx.x * kThreads + threadIdx.x];
  const int sum = Groups(groups[threadIdx.x / 8]).Sum(value);
  if (threadIdx.x % 8 == 0) groupSums[(blockIdx.x * kThreads + threadIdx.x) / 8] = sum;
  const int most = Block(block).Reduce(value, [](int a, int b) { return a < b ? b : a; });
  if (threadIdx.x == 0) largest[blockIdx.x] = most;
}

int main() {
  constexpr int kBlocks = 9;
  std::vector<int> values;
  for (unsigned word : randomWords(kBlocks * kTile, 2000000, 5)) values.push_back(int(word) - 1000000);
  DeviceArray<int> in(values), out(values.size()), totals(kBlocks);

  sortTiles<<<kBlocks, kThreads>>>(in, out);
  CHECK_LAUNCH();
  std::vector<int> expected = values;
  for (int b = 0; b < kBlocks; ++b) std::sort(expected.begin() + b * kTile, expected.begin() + (b + 1) * kTile);
  expectEqual(out.host(), expected, "sorted tiles");

  scanTiles<<<kBlocks, kThreads>>>(in, out, totals);
  CHECK_LAUNCH();
  std::vector<int> sums(kBlocks);
  for (int b = 0; b < kBlocks; ++b)
    for (int i = b * kTile; i < (b + 1) * kTile; ++i) {
      expected[i] = sums[b];
      sums[b] += values[i];
    }
  expectEqual(out.host(), expected, "scanned tiles");
  expectEqual(totals.host(), sums, "totals");

  const int blocks = int(values.size()) / kThreads;
  DeviceArray<int> groupSums(values.size() / 8), largest(blocks);
  reduceGroups<<<blocks, kThreads>>>(in, groupSums, largest);
  CHECK_LAUNCH();
  std::vector<int> expectedSums(values.size() / 8), expectedLargest;
  for (size_t i = 0; i < values.size(); ++i) expectedSums[i / 8] += values[i];
  for (int b = 0; b < blocks; ++b)
    expectedLargest.push_back(*std::max_element(values.begin() + b * kThreads, values.begin() + (b + 1) * kThreads));
  expectEqual(groupSums.host(), expectedSums, "sums of eight");
  expectEqual(largest.host(), expectedLargest, "largest");
  return passed();
}
