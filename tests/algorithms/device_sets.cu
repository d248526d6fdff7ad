// Merges, set operations, searches and sums by key of sorted arrays by Thrust, and histograms by CUB.
#include <thrust/binary_search.h>
#include <thrust/device_vector.h>
#include <thrust/merge.h>
#include <thrust/reduce.h>
#include <thrust/set_operations.h>
#include <thrust/unique.h>
#include <cub/cub.cuh>

#include "keys.h"

struct Less {
  __host__ __device__ bool operator()(const Key& a, const Key& b) const { return a < b; }
};
struct Equal {
  __host__ __device__ bool operator()(const Key& a, const Key& b) const { return a == b; }
};
using Array = thrust::device_vector<Key>;

std::vector<Key> sorted(size_t size, unsigned seed) {
  std::vector<Key> keys = randomKeys(size, seed);
  std::sort(keys.begin(), keys.end(), Less());
  return keys;
}

template <class T>
std::vector<T> toHost(const thrust::device_vector<T>& array, size_t size) {
  std::vector<T> out(size);
  thrust::copy(array.begin(), array.begin() + size, out.begin());
  return out;
}

void merges(const std::vector<Key>& a, const std::vector<Key>& b) {
  const size_t size = a.size() + b.size();
  const Array da(a), db(b);
  Array out(size);
  std::vector<Key> want(size);
  std::merge(a.begin(), a.end(), b.begin(), b.end(), want.begin(), Less());
  thrust::merge(da.begin(), da.end(), db.begin(), db.end(), out.begin(), Less());
  same(toHost(out, size), want, "merge", a.size());

  // Equal keys of the first array come first.
  std::vector<uint32_t> marksA(a.size(), 1), marksB(b.size(), 2), wantMarks;
  for (size_t i = 0, j = 0; i < a.size() || j < b.size();)
    if (j == b.size() || (i < a.size() && !(b[j] < a[i])))
      wantMarks.push_back(1), ++i;
    else
      wantMarks.push_back(2), ++j;
  const thrust::device_vector<uint32_t> dma(marksA), dmb(marksB);
  thrust::device_vector<uint32_t> marks(size);
  thrust::merge_by_key(da.begin(), da.end(), db.begin(), db.end(), dma.begin(), dmb.begin(), out.begin(), marks.begin(),
                       Less());
  same(toHost(out, size), want, "merge by key", a.size());
  same(toHost(marks, size), wantMarks, "merge by key, values", a.size());
}

void sets(const std::vector<Key>& a, const std::vector<Key>& b) {
  const Array da(a), db(b);
  Array out(a.size() + b.size());
  const auto check = [&](const char* name, const std::vector<Key>& want, Array::iterator end) {
    same(size_t(end - out.begin()), want.size(), std::string(name) + ", elements", a.size());
    same(toHost(out, want.size()), want, name, a.size());
  };
  std::vector<Key> want;
  std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(want), Less());
  check("set union", want, thrust::set_union(da.begin(), da.end(), db.begin(), db.end(), out.begin(), Less()));
  want.clear();
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(want), Less());
  check("set intersection", want,
        thrust::set_intersection(da.begin(), da.end(), db.begin(), db.end(), out.begin(), Less()));
  want.clear();
  std::set_difference(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(want), Less());
  check("set difference", want,
        thrust::set_difference(da.begin(), da.end(), db.begin(), db.end(), out.begin(), Less()));
}

void searches(const std::vector<Key>& a, const std::vector<Key>& b) {
  const Array da(a), db(b);
  thrust::device_vector<uint32_t> out(b.size());
  std::vector<uint32_t> lower, upper;
  for (const Key& key : b) {
    lower.push_back(uint32_t(std::lower_bound(a.begin(), a.end(), key, Less()) - a.begin()));
    upper.push_back(uint32_t(std::upper_bound(a.begin(), a.end(), key, Less()) - a.begin()));
  }
  thrust::lower_bound(da.begin(), da.end(), db.begin(), db.end(), out.begin(), Less());
  same(toHost(out, b.size()), lower, "lower bounds", a.size());
  thrust::upper_bound(da.begin(), da.end(), db.begin(), db.end(), out.begin(), Less());
  same(toHost(out, b.size()), upper, "upper bounds", a.size());
}

void sumsByKey(const std::vector<Key>& a) {
  const Array da(a);
  const thrust::device_vector<uint32_t> values(places(a.size()));
  Array heads(a.size());
  thrust::device_vector<uint32_t> sums(a.size());
  std::vector<Key> wantHeads;
  std::vector<uint32_t> want;
  for (size_t n = 0; n < a.size(); ++n) {
    if (n == 0 || a[n] != a[n - 1]) wantHeads.push_back(a[n]), want.push_back(0);
    want.back() += uint32_t(n);
  }
  const auto ends = thrust::reduce_by_key(da.begin(), da.end(), values.begin(), heads.begin(), sums.begin(), Equal());
  same(size_t(ends.first - heads.begin()), want.size(), "sums by key, keys", a.size());
  same(toHost(heads, want.size()), wantHeads, "sums by key, heads", a.size());
  same(toHost(sums, want.size()), want, "sums by key", a.size());
}

// CUB has no histograms of keys of 16 bytes.
void histograms(const std::vector<Key>& keys) {
  if constexpr (sizeof(Key) <= 8) {
    constexpr int kLevels = 18;
    const Key lower = 0, upper = 100;
    std::vector<Key> levels;
    for (int n = 0; n < kLevels; ++n) levels.push_back(Key(lower + n * (upper - lower) / (kLevels - 1)));
    std::vector<int> want(kLevels - 1, 0);
    for (const Key& key : keys)
      for (int n = 0; n + 1 < kLevels; ++n) want[n] += !(key < levels[n]) && key < levels[n + 1];
    DeviceArray<Key> in(keys), edges(levels);
    DeviceArray<int> out(kLevels - 1);
    withTemporary([&](void* t, size_t& bytes) {
      return cub::DeviceHistogram::HistogramRange(t, bytes, (const Key*)in, (int*)out, kLevels, (const Key*)edges,
                                                  int(keys.size()));
    });
    same(out.host(), want, "histogram", keys.size());
  }
}

int main(int argc, char** argv) {
  begin(argc, argv);
  for (size_t size : sizes()) {
    const std::vector<Key> a = sorted(size, unsigned(size) + 3), b = sorted(size / 2 + 5, unsigned(size) + 4);
    merges(a, b);
    sets(a, b);
    searches(a, b);
    sumsByKey(a);
    histograms(randomKeys(size, unsigned(size) + 5));
  }
  return end();
}
