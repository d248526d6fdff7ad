// Scans, reductions and the smaller steps of a block and of a warp: differences, exchanges, histograms, runs.
#include <cub/block/block_shuffle.cuh>
#include <cub/cub.cuh>

#include "keys.h"

struct Larger {
  __host__ __device__ Key operator()(const Key& a, const Key& b) const { return a < b ? b : a; }
};
struct Plus {
  __host__ __device__ Key operator()(const Key& a, const Key& b) const { return Key(a + b); }
};
struct Different {
  __host__ __device__ bool operator()(const Key& a, const Key& b) const { return a != b; }
};
struct Difference {
  __host__ __device__ Key operator()(const Key& a, const Key& b) const { return Key(a - b); }
};

template <int kThreads, int kItems, cub::BlockScanAlgorithm kAlgorithm>
__global__ void scan(const Key* in, Key* inclusive, Key* exclusive, Key* largest, Key* totals) {
  using Scan = cub::BlockScan<Key, kThreads, kAlgorithm>;
  __shared__ typename Scan::TempStorage temporary;
  Key items[kItems], out[kItems], total;
  const unsigned first = (blockIdx.x * kThreads + threadIdx.x) * kItems;
  for (int i = 0; i < kItems; ++i) items[i] = in[first + i];
  Scan(temporary).InclusiveScan(items, out, Plus());
  for (int i = 0; i < kItems; ++i) inclusive[first + i] = out[i];
  __syncthreads();
  Scan(temporary).ExclusiveScan(items, out, Key(3), Plus(), total);
  for (int i = 0; i < kItems; ++i) exclusive[first + i] = out[i];
  if (threadIdx.x == 0) totals[blockIdx.x] = total;
  __syncthreads();
  Scan(temporary).InclusiveScan(items, out, Larger());
  for (int i = 0; i < kItems; ++i) largest[first + i] = out[i];
}

template <int kThreads, int kItems, cub::BlockReduceAlgorithm kAlgorithm>
__global__ void reduce(const Key* in, Key* sums, Key* largest, int valid) {
  using Reduce = cub::BlockReduce<Key, kThreads, kAlgorithm>;
  __shared__ typename Reduce::TempStorage temporary;
  Key items[kItems];
  const unsigned first = (blockIdx.x * kThreads + threadIdx.x) * kItems;
  for (int i = 0; i < kItems; ++i) items[i] = in[first + i];
  const Key sum = Reduce(temporary).Reduce(items, Plus());
  __syncthreads();
  const Key most = Reduce(temporary).Reduce(items[0], Larger(), valid);
  if (threadIdx.x == 0) sums[blockIdx.x] = sum, largest[blockIdx.x] = most;
}

template <int kLanes>
__global__ void inLanes(const Key* in, Key* inclusive, Key* exclusive, Key* sums, Key* largest, int valid) {
  using Scan = cub::WarpScan<Key, kLanes>;
  using Reduce = cub::WarpReduce<Key, kLanes>;
  __shared__ typename Scan::TempStorage scans[128 / kLanes];
  __shared__ typename Reduce::TempStorage reductions[128 / kLanes];
  const unsigned at = blockIdx.x * blockDim.x + threadIdx.x, group = threadIdx.x / kLanes;
  const Key mine = in[at];
  Key a, b;
  Scan(scans[group]).Scan(mine, a, b, Key(5), Plus());
  inclusive[at] = a, exclusive[at] = b;
  const Key sum = Reduce(reductions[group]).Reduce(mine, Plus());
  const Key most = Reduce(reductions[group]).Reduce(mine, Larger(), valid);
  if (threadIdx.x % kLanes == 0) sums[at / kLanes] = sum, largest[at / kLanes] = most;
}

template <int kThreads, int kItems>
__global__ void steps(const Key* in, int* heads, int* tails, Key* left, Key* right, Key* striped, Key* turned) {
  using Flags = cub::BlockDiscontinuity<Key, kThreads>;
  using Neighbours = cub::BlockAdjacentDifference<Key, kThreads>;
  using Exchange = cub::BlockExchange<Key, kThreads, kItems>;
  using Shuffle = cub::BlockShuffle<Key, kThreads>;
  __shared__ union {
    typename Flags::TempStorage flags;
    typename Neighbours::TempStorage neighbours;
    typename Exchange::TempStorage exchange;
    typename Shuffle::TempStorage shuffle;
  } temporary;
  Key items[kItems], out[kItems];
  int head[kItems], tail[kItems];
  const unsigned first = (blockIdx.x * kThreads + threadIdx.x) * kItems;
  for (int i = 0; i < kItems; ++i) items[i] = in[first + i];
  Flags(temporary.flags).FlagHeadsAndTails(head, tail, items, Different());
  for (int i = 0; i < kItems; ++i) heads[first + i] = head[i], tails[first + i] = tail[i];
  __syncthreads();
  Neighbours(temporary.neighbours).SubtractLeft(items, out, Difference());
  for (int i = 0; i < kItems; ++i) left[first + i] = out[i];
  __syncthreads();
  Neighbours(temporary.neighbours).SubtractRight(items, out, Difference());
  for (int i = 0; i < kItems; ++i) right[first + i] = out[i];
  __syncthreads();
  Exchange(temporary.exchange).BlockedToStriped(items, out);
  for (int i = 0; i < kItems; ++i) striped[first + i] = out[i];
  __syncthreads();
  Shuffle(temporary.shuffle).Up(items, out);
  if (threadIdx.x == 0) out[0] = items[0];
  for (int i = 0; i < kItems; ++i) turned[first + i] = out[i];
}

template <int kThreads, int kItems, cub::BlockHistogramAlgorithm kAlgorithm>
__global__ void histogram(const uint8_t* in, unsigned* bins) {
  using Histogram = cub::BlockHistogram<uint8_t, kThreads, kItems, 64, kAlgorithm>;
  __shared__ typename Histogram::TempStorage temporary;
  __shared__ unsigned counts[64];
  uint8_t items[kItems];
  for (int i = 0; i < kItems; ++i) items[i] = in[(blockIdx.x * kThreads + threadIdx.x) * kItems + i] % 64;
  Histogram(temporary).Histogram(items, counts);
  __syncthreads();
  for (int i = threadIdx.x; i < 64; i += kThreads) bins[blockIdx.x * 64 + i] = counts[i];
}

constexpr int kBlocks = 3;

template <int kThreads, int kItems, cub::BlockScanAlgorithm kAlgorithm>
void scans(const char* what) {
  const size_t tile = kThreads * kItems, size = kBlocks * tile;
  if (tile > largestSize) return;
  const std::vector<Key> keys = randomKeys(size, kThreads + kItems);
  DeviceArray<Key> in(keys), inclusive(size), exclusive(size), largest(size), totals(kBlocks);
  scan<kThreads, kItems, kAlgorithm><<<kBlocks, kThreads>>>(in, inclusive, exclusive, largest, totals);
  CHECK_LAUNCH();
  std::vector<Key> a(size), b(size), c(size), d(kBlocks);
  for (size_t n = 0; n < size; ++n) {
    const bool starts = n % tile == 0;
    a[n] = starts ? keys[n] : Plus()(a[n - 1], keys[n]);
    b[n] = starts ? Key(3) : Plus()(b[n - 1], keys[n - 1]);
    c[n] = starts ? keys[n] : Larger()(c[n - 1], keys[n]);
    d[n / tile] = starts ? keys[n] : Plus()(d[n / tile], keys[n]);
  }
  // What the scan starts from is part of the block's sum in some releases of CUB.
  const std::vector<Key> got = totals.host();
  std::vector<Key> withStart = d;
  for (Key& key : withStart) key = Key(key + 3);
  same(inclusive.host(), a, std::string(what) + ", inclusive", tile);
  same(exclusive.host(), b, std::string(what) + ", exclusive", tile);
  same(largest.host(), c, std::string(what) + ", largest", tile);
  same(got, got == withStart ? withStart : d, std::string(what) + ", sums", tile);
}

template <int kThreads, int kItems, cub::BlockReduceAlgorithm kAlgorithm>
void reductions(const char* what, int valid) {
  const size_t tile = kThreads * kItems, size = kBlocks * tile;
  if (tile > largestSize) return;
  const std::vector<Key> keys = randomKeys(size, kThreads * 3 + kItems);
  DeviceArray<Key> in(keys), sums(kBlocks), largest(kBlocks);
  reduce<kThreads, kItems, kAlgorithm><<<kBlocks, kThreads>>>(in, sums, largest, valid);
  CHECK_LAUNCH();
  std::vector<Key> a, b;
  for (int block = 0; block < kBlocks; ++block) {
    const Key* const first = &keys[block * tile];
    a.push_back(std::accumulate(first + 1, first + tile, first[0], Plus()));
    Key most = first[0];
    for (int t = 0; t < valid; ++t) most = Larger()(most, first[t * kItems]);
    b.push_back(most);
  }
  same(sums.host(), a, std::string(what) + ", sums", tile);
  same(largest.host(), b, std::string(what) + ", largest of some", tile);
}

template <int kLanes>
void warps(int valid) {
  const size_t size = kBlocks * 128;
  const std::vector<Key> keys = randomKeys(size, kLanes);
  DeviceArray<Key> in(keys), inclusive(size), exclusive(size), sums(size / kLanes), largest(size / kLanes);
  inLanes<kLanes><<<kBlocks, 128>>>(in, inclusive, exclusive, sums, largest, valid);
  CHECK_LAUNCH();
  std::vector<Key> a(size), b(size), c(size / kLanes), d(size / kLanes);
  for (size_t n = 0; n < size; ++n) {
    const bool starts = n % kLanes == 0;
    b[n] = starts ? Key(5) : Plus()(b[n - 1], keys[n - 1]);
    a[n] = Plus()(b[n], keys[n]);
    c[n / kLanes] = starts ? keys[n] : Plus()(c[n / kLanes], keys[n]);
    if (starts || n % kLanes < size_t(valid)) d[n / kLanes] = starts ? keys[n] : Larger()(d[n / kLanes], keys[n]);
  }
  const std::string what = "in " + std::to_string(kLanes) + " lanes";
  same(inclusive.host(), a, what + ", inclusive", size);
  same(exclusive.host(), b, what + ", exclusive", size);
  same(sums.host(), c, what + ", sums", size);
  same(largest.host(), d, what + ", largest of some", size);
}

template <int kThreads, int kItems>
void smaller() {
  const size_t tile = kThreads * kItems, size = kBlocks * tile;
  if (tile > largestSize) return;
  std::vector<Key> keys = randomKeys(size, kThreads);
  for (size_t n = 1; n < size; ++n)
    if (n % 3) keys[n] = keys[n - 1];
  DeviceArray<Key> in(keys), left(size), right(size), striped(size), turned(size);
  DeviceArray<int> heads(size), tails(size);
  steps<kThreads, kItems><<<kBlocks, kThreads>>>(in, heads, tails, left, right, striped, turned);
  CHECK_LAUNCH();
  std::vector<int> h(size), t(size);
  std::vector<Key> l(size), r(size), s(size), u(size);
  for (size_t n = 0; n < size; ++n) {
    const size_t at = n % tile, first = n - at;
    h[n] = at == 0 || keys[n] != keys[n - 1];
    t[n] = at == tile - 1 || keys[n] != keys[n + 1];
    l[n] = at == 0 ? keys[n] : Difference()(keys[n], keys[n - 1]);
    r[n] = at == tile - 1 ? keys[n] : Difference()(keys[n], keys[n + 1]);
    s[n] = keys[first + at % kItems * kThreads + at / kItems];
    u[n] = at == 0 ? keys[n] : keys[n - 1];
  }
  same(heads.host(), h, "heads", tile);
  same(tails.host(), t, "tails", tile);
  same(left.host(), l, "differences to the left", tile);
  same(right.host(), r, "differences to the right", tile);
  same(striped.host(), s, "blocked to striped", tile);
  same(turned.host(), u, "shuffled up", tile);
}

template <int kThreads, int kItems, cub::BlockHistogramAlgorithm kAlgorithm>
void histograms(const char* what) {
  const size_t tile = kThreads * kItems, size = kBlocks * tile;
  if (tile > largestSize) return;
  std::vector<uint8_t> samples;
  for (unsigned word : randomWords(size, 256, kItems)) samples.push_back(uint8_t(word));
  DeviceArray<uint8_t> in(samples);
  DeviceArray<unsigned> bins(kBlocks * 64);
  histogram<kThreads, kItems, kAlgorithm><<<kBlocks, kThreads>>>(in, bins);
  CHECK_LAUNCH();
  std::vector<unsigned> want(kBlocks * 64);
  for (size_t n = 0; n < size; ++n) ++want[n / tile * 64 + samples[n] % 64];
  same(bins.host(), want, what, tile);
}

int main(int argc, char** argv) {
  begin(argc, argv);
  scans<32, 3, cub::BLOCK_SCAN_WARP_SCANS>("scan of one warp");
  scans<128, 5, cub::BLOCK_SCAN_WARP_SCANS>("scan by warps");
  scans<96, 4, cub::BLOCK_SCAN_RAKING>("raking scan");
  scans<128, 3, cub::BLOCK_SCAN_RAKING_MEMOIZE>("memoizing scan");
  reductions<32, 1, cub::BLOCK_REDUCE_WARP_REDUCTIONS>("reduction of one warp", 20);
  reductions<100, 3, cub::BLOCK_REDUCE_WARP_REDUCTIONS>("reduction by warps", 77);
  reductions<256, 4, cub::BLOCK_REDUCE_RAKING>("raking reduction", 250);
  reductions<128, 2, cub::BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY>("raking reduction in any order", 33);
  warps<32>(30);
  warps<16>(9);
  warps<4>(3);
  smaller<64, 3>();
  smaller<96, 1>();
  histograms<128, 4, cub::BLOCK_HISTO_ATOMIC>("histogram by atomics");
  histograms<64, 7, cub::BLOCK_HISTO_SORT>("histogram by sorting");
  return end();
}
