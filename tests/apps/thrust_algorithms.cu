// Thrust as tutorials use it: vectors, transforms, reductions, sorts by key, scans by key, sets, searches, iterators.
#include <thrust/binary_search.h>
#include <thrust/count.h>
#include <thrust/device_vector.h>
#include <thrust/execution_policy.h>
#include <thrust/functional.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/zip_iterator.h>
#include <thrust/reduce.h>
#include <thrust/scan.h>
#include <thrust/sequence.h>
#include <thrust/set_operations.h>
#include <thrust/sort.h>
#include <thrust/transform.h>
#include <thrust/transform_reduce.h>
#include <thrust/tuple.h>
#include <thrust/unique.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "check.h"

struct Saxpy {
  float a;
  __host__ __device__ float operator()(float x, float y) const { return a * x + y; }
};

struct Square {
  __host__ __device__ double operator()(int x) const { return double(x) * x; }
};

struct InsideCircle {
  __host__ __device__ bool operator()(int i) const {
    const unsigned x = unsigned(i) * 2654435761u >> 16, y = (unsigned(i) * 40503u + 12345u) & 0xffff;
    return double(x) * x + double(y) * y < 65536.0 * 65536.0;
  }
};

template <class T>
std::vector<T> onHost(const thrust::device_vector<T>& vector) {
  std::vector<T> values(vector.size());
  thrust::copy(vector.begin(), vector.end(), values.begin());
  return values;
}

void transforms() {
  const std::vector<float> x = randomFloats(10007, -1, 1, 1), y = randomFloats(10007, -1, 1, 2);
  thrust::device_vector<float> dx(x.begin(), x.end()), dy(y.begin(), y.end());
  thrust::transform(dx.begin(), dx.end(), dy.begin(), dy.begin(), Saxpy{2.5f});
  std::vector<float> expected(x.size());
  for (size_t i = 0; i < x.size(); ++i) expected[i] = std::fma(2.5f, x[i], y[i]);
  expectNear(onHost(dy), expected, 1e-6, "saxpy");
}

void reductions() {
  thrust::device_vector<int> numbers(50000);
  thrust::sequence(numbers.begin(), numbers.end(), -1000);
  const double squares =
      thrust::transform_reduce(numbers.begin(), numbers.end(), Square(), 0.0, thrust::plus<double>());
  double expected = 0;
  for (int i = 0; i < 50000; ++i) expected += double(i - 1000) * (i - 1000);
  EXPECT(std::fabs(squares - expected) <= 1e-9 * expected);
  const auto first = thrust::counting_iterator<int>(0);
  const long inside = thrust::count_if(thrust::device, first, first + 100000, InsideCircle());
  EXPECT(inside == std::count_if(first, first + 100000, InsideCircle()));
}

void sorts() {
  const std::vector<unsigned> keys = randomWords(20011, 500, 3);
  thrust::device_vector<unsigned> dk(keys.begin(), keys.end()), places(keys.size());
  thrust::sequence(places.begin(), places.end());
  thrust::stable_sort_by_key(dk.begin(), dk.end(), places.begin());
  std::vector<unsigned> expected(keys.size());
  std::iota(expected.begin(), expected.end(), 0u);
  std::stable_sort(expected.begin(), expected.end(), [&](unsigned a, unsigned b) { return keys[a] < keys[b]; });
  expectEqual(onHost(places), expected, "stable sort by key");

  // A comparison of our own sorts by merging, not by radix.
  thrust::device_vector<unsigned> byDigits(keys.begin(), keys.end());
  const auto before = [] __host__ __device__(unsigned a, unsigned b) {
    return a % 10 != b % 10 ? a % 10 < b % 10 : a > b;
  };
  thrust::sort(byDigits.begin(), byDigits.end(), before);
  std::vector<unsigned> sorted = keys;
  std::sort(sorted.begin(), sorted.end(), before);
  expectEqual(onHost(byDigits), sorted, "sort by last digit");

  // Sums of equal keys, and the running sums inside each.
  thrust::device_vector<int> ones(keys.size(), 1), counts(keys.size()), running(keys.size());
  thrust::device_vector<unsigned> unique(keys.size());
  const auto ends = thrust::reduce_by_key(dk.begin(), dk.end(), ones.begin(), unique.begin(), counts.begin());
  std::map<unsigned, int> histogram;
  for (unsigned key : keys) ++histogram[key];
  EXPECT(size_t(ends.first - unique.begin()) == histogram.size());
  const std::vector<int> found = onHost(counts);
  size_t i = 0;
  for (const auto& [key, count] : histogram) EXPECT(found[i++] == count);
  thrust::inclusive_scan_by_key(dk.begin(), dk.end(), ones.begin(), running.begin());
  const std::vector<unsigned> sortedKeys = onHost(dk);
  const std::vector<int> sums = onHost(running);
  for (size_t k = 0; k < sums.size(); ++k)
    EXPECT(sums[k] == (k && sortedKeys[k] == sortedKeys[k - 1] ? sums[k - 1] + 1 : 1));
}

void setsAndSearches() {
  std::vector<unsigned> a = randomWords(3000, 5000, 7), b = randomWords(4000, 5000, 8);
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  a.erase(std::unique(a.begin(), a.end()), a.end());
  thrust::device_vector<unsigned> da(a.begin(), a.end()), db(b.begin(), b.end());
  db.erase(thrust::unique(db.begin(), db.end()), db.end());
  b.erase(std::unique(b.begin(), b.end()), b.end());
  expectEqual(onHost(db), b, "unique");
  thrust::device_vector<unsigned> both(std::min(a.size(), b.size()));
  both.erase(thrust::set_intersection(da.begin(), da.end(), db.begin(), db.end(), both.begin()), both.end());
  std::vector<unsigned> expected;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(expected));
  expectEqual(onHost(both), expected, "intersection");
  thrust::device_vector<unsigned> places(b.size());
  thrust::lower_bound(da.begin(), da.end(), db.begin(), db.end(), places.begin());
  const std::vector<unsigned> found = onHost(places);
  for (size_t i = 0; i < b.size(); ++i)
    EXPECT(found[i] == unsigned(std::lower_bound(a.begin(), a.end(), b[i]) - a.begin()));
}

void zipped() {
  const std::vector<float> x = randomFloats(5000, -2, 2, 11), y = randomFloats(5000, -2, 2, 12);
  thrust::device_vector<float> dx(x.begin(), x.end()), dy(y.begin(), y.end());
  const auto first = thrust::make_zip_iterator(thrust::make_tuple(dx.begin(), dy.begin()));
  const float longest = thrust::transform_reduce(
      first, first + x.size(),
      [] __host__ __device__(const thrust::tuple<float, float>& p) {
        return thrust::get<0>(p) * thrust::get<0>(p) + thrust::get<1>(p) * thrust::get<1>(p);
      },
      0.0f, thrust::maximum<float>());
  float expected = 0;
  for (size_t i = 0; i < x.size(); ++i) expected = std::max(expected, std::fma(x[i], x[i], y[i] * y[i]));
  EXPECT(std::fabs(longest - expected) <= 1e-5f * expected);
}

int main() {
  transforms();
  reductions();
  sorts();
  setsAndSearches();
  zipped();
  return passed();
}
