// Sorts of a block and of a warp inside kernels: by digits, with pairs, descending, striped, by some bits; by merging.
#include <cub/cub.cuh>

#include "keys.h"

struct Less {
  __host__ __device__ bool operator()(const Key& a, const Key& b) const { return a < b; }
};
struct Greater {
  __host__ __device__ bool operator()(const Key& a, const Key& b) const { return b < a; }
};

enum class Way { Keys, Pairs, Descending, Striped };

template <int kThreads, int kItems, Way kWay>
__global__ void sortByDigits(Key* keys, uint32_t* values) {
  using Sort = cub::BlockRadixSort<Key, kThreads, kItems, uint32_t>;
  using KeySort = cub::BlockRadixSort<Key, kThreads, kItems>;
  __shared__ union {
    typename Sort::TempStorage pairs;
    typename KeySort::TempStorage keys;
  } temporary;
  Key k[kItems];
  uint32_t v[kItems];
  const unsigned first = (blockIdx.x * kThreads + threadIdx.x) * kItems;
  for (int i = 0; i < kItems; ++i) k[i] = keys[first + i], v[i] = values[first + i];
  if (kWay == Way::Keys) KeySort(temporary.keys).Sort(k);
  if (kWay == Way::Pairs) Sort(temporary.pairs).Sort(k, v);
  if (kWay == Way::Descending) Sort(temporary.pairs).SortDescending(k, v);
  if (kWay == Way::Striped) Sort(temporary.pairs).SortBlockedToStriped(k, v);
  for (int i = 0; i < kItems; ++i) {
    const unsigned at = kWay == Way::Striped ? blockIdx.x * kThreads * kItems + i * kThreads + threadIdx.x : first + i;
    keys[at] = k[i], values[at] = v[i];
  }
}

template <int kThreads, int kItems>
__global__ void sortByMerging(Key* keys, uint32_t* values, int valid) {
  using Sort = cub::BlockMergeSort<Key, kThreads, kItems, uint32_t>;
  __shared__ typename Sort::TempStorage temporary;
  Key k[kItems];
  uint32_t v[kItems];
  const unsigned first = (blockIdx.x * kThreads + threadIdx.x) * kItems;
  for (int i = 0; i < kItems; ++i) k[i] = keys[first + i], v[i] = values[first + i];
  Sort(temporary).StableSort(k, v, Greater(), valid, std::numeric_limits<Key>::lowest());
  for (int i = 0; i < kItems; ++i) keys[first + i] = k[i], values[first + i] = v[i];
}

template <int kLanes, int kItems>
__global__ void sortInWarps(Key* keys, uint32_t* values) {
  using Sort = cub::WarpMergeSort<Key, kItems, kLanes, uint32_t>;
  __shared__ typename Sort::TempStorage temporary[128 / kLanes];
  Key k[kItems];
  uint32_t v[kItems];
  const unsigned first = (blockIdx.x * blockDim.x + threadIdx.x) * kItems;
  for (int i = 0; i < kItems; ++i) k[i] = keys[first + i], v[i] = values[first + i];
  Sort(temporary[threadIdx.x / kLanes]).StableSort(k, v, Less());
  for (int i = 0; i < kItems; ++i) keys[first + i] = k[i], values[first + i] = v[i];
}

// Sorts pieces of `tile` keys and compares each with the host's.
template <class Before, class Launch>
void check(const char* what, size_t tile, bool pairs, Before before, Launch launch) {
  const size_t size = 3 * tile;
  if (tile > largestSize) return;
  const std::vector<Key> keys = randomKeys(size, unsigned(tile));
  DeviceArray<Key> k(keys);
  DeviceArray<uint32_t> v(places(size));
  launch(k, v);
  CHECK_LAUNCH();
  std::vector<uint32_t> want;
  for (size_t first = 0; first < size; first += tile) {
    const std::vector<Key> part(keys.begin() + first, keys.begin() + first + tile);
    for (uint32_t place : sortedPlaces(part, before)) want.push_back(uint32_t(first) + place);
  }
  same(k.host(), at(keys, want), what, tile);
  if (pairs) same(v.host(), want, std::string(what) + ", places", tile);
}

template <int kThreads, int kItems>
void sorts() {
  const size_t tile = kThreads * kItems;
  check("block sort of keys", tile, false, Less(),
        [](auto& k, auto& v) { sortByDigits<kThreads, kItems, Way::Keys><<<3, kThreads>>>(k, v); });
  check("block sort of pairs", tile, true, Less(),
        [](auto& k, auto& v) { sortByDigits<kThreads, kItems, Way::Pairs><<<3, kThreads>>>(k, v); });
  check("block sort, descending", tile, true, Greater(),
        [](auto& k, auto& v) { sortByDigits<kThreads, kItems, Way::Descending><<<3, kThreads>>>(k, v); });
  check("block sort, striped", tile, true, Less(),
        [](auto& k, auto& v) { sortByDigits<kThreads, kItems, Way::Striped><<<3, kThreads>>>(k, v); });
  check("block sort by merging", tile, true, Greater(),
        [&](auto& k, auto& v) { sortByMerging<kThreads, kItems><<<3, kThreads>>>(k, v, int(tile)); });
}

int main(int argc, char** argv) {
  begin(argc, argv);
  sorts<32, 1>();
  sorts<64, 3>();
  sorts<128, 4>();
  sorts<256, 7>();
  check("warp sort", 32 * 4, true, Less(), [](auto& k, auto& v) { sortInWarps<32, 4><<<3, 32>>>(k, v); });
  check("sort in eight lanes", 8 * 3, true, Less(), [](auto& k, auto& v) { sortInWarps<8, 3><<<3, 8>>>(k, v); });
  return end();
}
