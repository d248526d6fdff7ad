// What the programs of this folder share: the type of keys that they are compiled for (-DKEY=i32), keys made at random
// with many that are equal, sizes around the borders of tiles, and checks that count what is wrong and go on.
//
// The programs know nothing of Verdigris. Arguments: the largest size (default: all sizes).
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include <cuda_fp16.h>

#include "../apps/check.h"

#ifndef KEY
#define KEY i32
#endif

namespace keys {
using i8 = int8_t;
using u16 = uint16_t;
using i32 = int32_t;
using f32 = float;
using u64 = uint64_t;
using f64 = double;
using i128 = __int128;
using f16 = __half;
}  // namespace keys
using Key = keys::KEY;
template <class T>
constexpr bool kIsReal = std::is_floating_point_v<T> || std::is_same_v<T, __half>;
constexpr bool kIsFloat = kIsReal<Key>;

// Sums of floats are exact as long as they are of small whole numbers.
template <class T>
T randomKey(std::mt19937_64& random) {
  const uint64_t word = random();
  if constexpr (kIsReal<T>) return T(float(int(word % 2001) - 1000));
  const T key = T(word % 3 ? word : word % 50);
  if constexpr (sizeof(T) == 16)
    return word % 5 ? key ^ T(random()) << 64 : key;
  else
    return key;
}

inline std::vector<Key> randomKeys(size_t size, unsigned seed) {
  std::mt19937_64 random(seed);
  std::vector<Key> keys(size);
  for (Key& key : keys) key = randomKey<Key>(random);
  return keys;
}

inline std::vector<uint32_t> places(size_t size) {
  std::vector<uint32_t> out(size);
  std::iota(out.begin(), out.end(), 0u);
  return out;
}

// The places of keys in order, those of equal ones as they were.
template <class Before>
std::vector<uint32_t> sortedPlaces(const std::vector<Key>& keys, Before before) {
  std::vector<uint32_t> order = places(keys.size());
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return before(keys[a], keys[b]); });
  return order;
}

template <class T>
std::vector<T> at(const std::vector<T>& values, const std::vector<uint32_t>& order) {
  std::vector<T> out;
  for (uint32_t place : order) out.push_back(values[place]);
  return out;
}

inline size_t largestSize = ~size_t{0};
inline unsigned checked = 0, wrong = 0;

template <class T>
void same(std::vector<T> got, const std::vector<T>& want, const std::string& what, size_t size) {
  ++checked;
  EXPECT(got.size() >= want.size());
  for (size_t n = 0; n < want.size(); ++n) {
    if (got[n] == want[n]) continue;
    ++wrong;
    std::printf("wrong: %s, %zu: element %zu is %.17g, not %.17g\n", what.c_str(), size, n, double(got[n]),
                double(want[n]));
    return;
  }
}

template <class T>
void same(T got, T want, const std::string& what, size_t size) {
  same(std::vector<T>{got}, std::vector<T>{want}, what, size);
}

// Calls a function of CUB twice, as they want: for the size of its temporary memory, and to work.
template <class Call>
void withTemporary(Call&& call) {
  size_t bytes = 0;
  CHECK(call(nullptr, bytes));
  DeviceArray<char> temporary(bytes + 1);
  CHECK(call(static_cast<void*>(temporary), bytes));
  CHECK_LAUNCH();
}

inline std::vector<size_t> sizes() {
  std::vector<size_t> all{1, 2, 31, 32, 33, 63, 64, 65, 100, 127, 128, 129, 255, 256, 257, 383, 384, 511, 512, 513};
  for (size_t size : {1000, 1023, 1024, 1025, 1535, 1537, 2047, 2048, 2049, 3000, 4095, 4097, 5000, 8193, 20011})
    all.push_back(size);
  all.erase(std::remove_if(all.begin(), all.end(), [](size_t size) { return size > largestSize; }), all.end());
  return all;
}

inline void begin(int argc, char** argv) {
  if (argc > 1) largestSize = std::strtoull(argv[1], nullptr, 10);
}

inline int end() {
  std::printf("%u checks, %u wrong\n", checked, wrong);
  return wrong != 0;
}
