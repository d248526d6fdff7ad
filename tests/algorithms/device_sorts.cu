// Sorts of whole arrays by CUB: by digits, by merging, of segments, at sizes around the borders of tiles.
#include <cub/cub.cuh>

#include "keys.h"

struct Less {
  __host__ __device__ bool operator()(const Key& a, const Key& b) const { return a < b; }
};
struct Greater {
  __host__ __device__ bool operator()(const Key& a, const Key& b) const { return b < a; }
};

void byDigits(const std::vector<Key>& keys) {
  const size_t size = keys.size();
  DeviceArray<Key> in(keys), out(size);
  DeviceArray<uint32_t> values(places(size)), moved(size);
  const std::vector<uint32_t> up = sortedPlaces(keys, Less()), down = sortedPlaces(keys, Greater());
  withTemporary([&](void* t, size_t& bytes) {
    return cub::DeviceRadixSort::SortKeys(t, bytes, (const Key*)in, (Key*)out, int(size));
  });
  same(out.host(), at(keys, up), "radix sort of keys", size);
  withTemporary([&](void* t, size_t& bytes) {
    return cub::DeviceRadixSort::SortPairs(t, bytes, (const Key*)in, (Key*)out, (const uint32_t*)values,
                                           (uint32_t*)moved, int(size));
  });
  same(out.host(), at(keys, up), "radix sort of pairs", size);
  same(moved.host(), up, "radix sort of pairs, places", size);
  withTemporary([&](void* t, size_t& bytes) {
    return cub::DeviceRadixSort::SortPairsDescending(t, bytes, (const Key*)in, (Key*)out, (const uint32_t*)values,
                                                     (uint32_t*)moved, int(size));
  });
  same(moved.host(), down, "radix sort, descending", size);
}

void byMerging(const std::vector<Key>& keys) {
  const size_t size = keys.size();
  DeviceArray<Key> sorted(keys);
  DeviceArray<uint32_t> moved(places(size));
  const std::vector<uint32_t> down = sortedPlaces(keys, Greater());
  withTemporary([&](void* t, size_t& bytes) {
    return cub::DeviceMergeSort::StableSortPairs(t, bytes, (Key*)sorted, (uint32_t*)moved, int(size), Greater());
  });
  same(sorted.host(), at(keys, down), "merge sort", size);
  same(moved.host(), down, "merge sort, places", size);
}

// Segments of many sizes, some of them empty.
void inSegments(const std::vector<Key>& keys) {
  const size_t size = keys.size();
  std::vector<int> offsets{0};
  for (int step = 0; offsets.back() < int(size); step = (step * 5 + 3) % 700)
    offsets.push_back(std::min(int(size), offsets.back() + step));
  std::vector<Key> want = keys;
  for (size_t n = 1; n < offsets.size(); ++n) std::sort(want.begin() + offsets[n - 1], want.begin() + offsets[n]);
  DeviceArray<Key> in(keys), out(size);
  DeviceArray<int> edges(offsets);
  withTemporary([&](void* t, size_t& bytes) {
    return cub::DeviceSegmentedSort::SortKeys(t, bytes, (const Key*)in, (Key*)out, int(size), int(offsets.size()) - 1,
                                              (const int*)edges, (const int*)edges + 1);
  });
  same(out.host(), want, "segmented sort", size);
}

int main(int argc, char** argv) {
  begin(argc, argv);
  for (size_t size : sizes()) {
    const std::vector<Key> keys = randomKeys(size, unsigned(size));
    byDigits(keys);
    byMerging(keys);
    inSegments(keys);
  }
  return end();
}
