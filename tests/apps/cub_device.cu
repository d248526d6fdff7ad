// Algorithms over whole arrays by CUB: sums, scans with operators of our own, radix sorts, selection, runs, histograms.
#include <cub/cub.cuh>

#include <algorithm>
#include <numeric>

#include "check.h"

// Calls a CUB function twice, as they want: for the size of its temporary memory, and to work.
template <class Call>
void withTemporary(Call&& call) {
  size_t bytes = 0;
  CHECK(call(nullptr, bytes));
  DeviceArray<char> temporary(bytes + 1);
  CHECK(call(static_cast<void*>(temporary), bytes));
  CHECK_LAUNCH();
}

struct Largest {
  __host__ __device__ unsigned operator()(unsigned a, unsigned b) const { return a < b ? b : a; }
};

struct IsOdd {
  __host__ __device__ bool operator()(unsigned value) const { return value & 1; }
};

void reductions(const std::vector<unsigned>& values) {
  const int size = int(values.size());
  DeviceArray<unsigned> in(values), out(1);
  withTemporary(
      [&](void* t, size_t& bytes) { return cub::DeviceReduce::Sum(t, bytes, (unsigned*)in, (unsigned*)out, size); });
  expectEqual(out.host(), {std::accumulate(values.begin(), values.end(), 0u)}, "sum");
  withTemporary(
      [&](void* t, size_t& bytes) { return cub::DeviceReduce::Max(t, bytes, (unsigned*)in, (unsigned*)out, size); });
  expectEqual(out.host(), {*std::max_element(values.begin(), values.end())}, "largest");
}

void scans(const std::vector<unsigned>& values) {
  const int size = int(values.size());
  DeviceArray<unsigned> in(values), out(values.size());
  withTemporary([&](void* t, size_t& bytes) {
    return cub::DeviceScan::InclusiveSum(t, bytes, (unsigned*)in, (unsigned*)out, size);
  });
  std::vector<unsigned> expected(values.size());
  std::partial_sum(values.begin(), values.end(), expected.begin());
  expectEqual(out.host(), expected, "inclusive sum");
  withTemporary([&](void* t, size_t& bytes) {
    return cub::DeviceScan::ExclusiveScan(t, bytes, (unsigned*)in, (unsigned*)out, Largest(), 7u, size);
  });
  unsigned largest = 7;
  for (size_t i = 0; i < values.size(); ++i) {
    expected[i] = largest;
    largest = std::max(largest, values[i]);
  }
  expectEqual(out.host(), expected, "exclusive largest");
}

void sorts(const std::vector<unsigned>& keys) {
  const int size = int(keys.size());
  std::vector<unsigned> places(keys.size());
  std::iota(places.begin(), places.end(), 0u);
  DeviceArray<unsigned> keysIn(keys), keysOut(keys.size()), valuesIn(places), valuesOut(keys.size());
  withTemporary([&](void* t, size_t& bytes) {
    return cub::DeviceRadixSort::SortPairs(t, bytes, (unsigned*)keysIn, (unsigned*)keysOut, (unsigned*)valuesIn,
                                           (unsigned*)valuesOut, size);
  });
  std::stable_sort(places.begin(), places.end(), [&](unsigned a, unsigned b) { return keys[a] < keys[b]; });
  expectEqual(valuesOut.host(), places, "places of a stable sort");
  std::vector<float> floats(keys.size());
  for (size_t i = 0; i < keys.size(); ++i) floats[i] = float(int(keys[i])) / 1024;
  DeviceArray<float> floatsIn(floats), floatsOut(keys.size());
  withTemporary([&](void* t, size_t& bytes) {
    return cub::DeviceRadixSort::SortKeysDescending(t, bytes, (float*)floatsIn, (float*)floatsOut, size);
  });
  std::sort(floats.begin(), floats.end(), std::greater<float>());
  expectEqual(floatsOut.host(), floats, "descending floats");
}

void selections(const std::vector<unsigned>& values) {
  const int size = int(values.size());
  DeviceArray<unsigned> in(values), out(values.size());
  DeviceArray<int> count(1);
  withTemporary([&](void* t, size_t& bytes) {
    return cub::DeviceSelect::If(t, bytes, (unsigned*)in, (unsigned*)out, (int*)count, size, IsOdd());
  });
  std::vector<unsigned> expected;
  std::copy_if(values.begin(), values.end(), std::back_inserter(expected), IsOdd());
  EXPECT(count.host()[0] == int(expected.size()));
  std::vector<unsigned> selected = out.host();
  selected.resize(expected.size());
  expectEqual(selected, expected, "odd ones");
}

void runs(const std::vector<unsigned>& values) {
  std::vector<unsigned> small(values.size());
  for (size_t i = 0; i < values.size(); ++i) small[i] = values[i] % 3 == 0;
  const int size = int(small.size());
  DeviceArray<unsigned> in(small), unique(small.size());
  DeviceArray<int> lengths(small.size()), count(1);
  withTemporary([&](void* t, size_t& bytes) {
    return cub::DeviceRunLengthEncode::Encode(t, bytes, (unsigned*)in, (unsigned*)unique, (int*)lengths, (int*)count,
                                              size);
  });
  std::vector<int> expected;
  for (size_t i = 0; i < small.size(); ++i) {
    if (i == 0 || small[i] != small[i - 1]) expected.push_back(0);
    ++expected.back();
  }
  EXPECT(count.host()[0] == int(expected.size()));
  std::vector<int> found = lengths.host();
  found.resize(expected.size());
  expectEqual(found, expected, "lengths of runs");
}

void histograms(const std::vector<unsigned>& values) {
  constexpr int kBins = 64;
  const int size = int(values.size());
  std::vector<float> samples(values.size());
  std::vector<int> expected(kBins);
  for (size_t i = 0; i < values.size(); ++i) {
    samples[i] = float(values[i] % 6400) / 100;
    ++expected[values[i] % 6400 / 100];
  }
  DeviceArray<float> in(samples);
  DeviceArray<int> bins(kBins);
  withTemporary([&](void* t, size_t& bytes) {
    return cub::DeviceHistogram::HistogramEven(t, bytes, (float*)in, (int*)bins, kBins + 1, 0.0f, float(kBins), size);
  });
  expectEqual(bins.host(), expected, "bins");
}

int main() {
  for (size_t size : {1, 31, 4096, 30011}) {
    const std::vector<unsigned> values = randomWords(size, 0, unsigned(size));
    reductions(values);
    scans(values);
    sorts(values);
    selections(values);
    runs(values);
    histograms(values);
  }
  return passed();
}
