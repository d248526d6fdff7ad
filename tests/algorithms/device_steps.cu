// Reductions, scans, selections, partitions, runs and histograms of whole arrays by CUB.
#include <cub/cub.cuh>

#include "keys.h"

struct Larger {
  __host__ __device__ Key operator()(const Key& a, const Key& b) const { return a < b ? b : a; }
};
struct Plus {
  __host__ __device__ Key operator()(const Key& a, const Key& b) const { return Key(a + b); }
};
struct IsLarge {
  __host__ __device__ bool operator()(const Key& key) const { return Key(3) < key; }
};

void reductions(const std::vector<Key>& keys) {
  const size_t size = keys.size();
  DeviceArray<Key> in(keys), out(1);
  withTemporary([&](void* t, size_t& bytes) {
    return cub::DeviceReduce::Reduce(t, bytes, (const Key*)in, (Key*)out, int(size), Plus(), Key(0));
  });
  same(out.host()[0], std::accumulate(keys.begin(), keys.end(), Key(0), Plus()), "sum", size);
  withTemporary([&](void* t, size_t& bytes) {
    return cub::DeviceReduce::Reduce(t, bytes, (const Key*)in, (Key*)out, int(size), Larger(), keys[0]);
  });
  same(out.host()[0], std::accumulate(keys.begin(), keys.end(), keys[0], Larger()), "largest", size);
}

void scans(const std::vector<Key>& keys) {
  const size_t size = keys.size();
  DeviceArray<Key> in(keys), out(size);
  std::vector<Key> want(size);
  withTemporary([&](void* t, size_t& bytes) {
    return cub::DeviceScan::InclusiveScan(t, bytes, (const Key*)in, (Key*)out, Plus(), int(size));
  });
  std::partial_sum(keys.begin(), keys.end(), want.begin(), Plus());
  same(out.host(), want, "inclusive scan", size);
  withTemporary([&](void* t, size_t& bytes) {
    return cub::DeviceScan::ExclusiveScan(t, bytes, (const Key*)in, (Key*)out, Larger(), keys[0], int(size));
  });
  Key most = keys[0];
  for (size_t n = 0; n < size; ++n) want[n] = most, most = Larger()(most, keys[n]);
  same(out.host(), want, "exclusive scan of the largest", size);
}

void selections(const std::vector<Key>& keys) {
  const size_t size = keys.size();
  DeviceArray<Key> in(keys), out(size);
  DeviceArray<int> count(1);
  std::vector<Key> large, rest;
  for (const Key& key : keys) (IsLarge()(key) ? large : rest).push_back(key);
  withTemporary([&](void* t, size_t& bytes) {
    return cub::DeviceSelect::If(t, bytes, (const Key*)in, (Key*)out, (int*)count, int(size), IsLarge());
  });
  same(count.host()[0], int(large.size()), "selected", size);
  same(out.host(), large, "selection", size);
  withTemporary([&](void* t, size_t& bytes) {
    return cub::DevicePartition::If(t, bytes, (const Key*)in, (Key*)out, (int*)count, int(size), IsLarge());
  });
  std::vector<Key> both = large;
  both.insert(both.end(), rest.rbegin(), rest.rend());
  same(out.host(), both, "partition", size);
}

void runs(std::vector<Key> keys) {
  const size_t size = keys.size();
  for (size_t n = 1; n < size; ++n)
    if (n % 7 > 2 || n % 300 > 100) keys[n] = keys[n - 1];
  DeviceArray<Key> in(keys), out(size);
  DeviceArray<int> lengths(size), count(1);
  std::vector<Key> heads;
  std::vector<int> want;
  for (size_t n = 0; n < size; ++n) {
    if (n == 0 || keys[n] != keys[n - 1]) heads.push_back(keys[n]), want.push_back(0);
    ++want.back();
  }
  withTemporary([&](void* t, size_t& bytes) {
    return cub::DeviceRunLengthEncode::Encode(t, bytes, (const Key*)in, (Key*)out, (int*)lengths, (int*)count,
                                              int(size));
  });
  same(count.host()[0], int(heads.size()), "runs", size);
  same(out.host(), heads, "heads of runs", size);
  same(lengths.host(), want, "lengths of runs", size);
  withTemporary([&](void* t, size_t& bytes) {
    return cub::DeviceSelect::Unique(t, bytes, (const Key*)in, (Key*)out, (int*)count, int(size));
  });
  same(count.host()[0], int(heads.size()), "unique ones", size);
  same(out.host(), heads, "unique", size);
}

int main(int argc, char** argv) {
  begin(argc, argv);
  for (size_t size : sizes()) {
    const std::vector<Key> keys = randomKeys(size, unsigned(size) + 1);
    reductions(keys);
    scans(keys);
    selections(keys);
    runs(keys);
  }
  return end();
}
