// What the test programs share: checks that end the program with a message, arrays in device memory, random inputs.
// The programs know nothing of Verdigris; they are ordinary CUDA programs.
#pragma once

#include <cuda_runtime.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

[[noreturn]] inline void failAt(const char* file, int line, const char* what, const char* got) {
  std::fprintf(stderr, "%s:%d: %s%s%s\n", file, line, what, *got ? ": " : "", got);
  std::fflush(stderr);
  std::_Exit(1);
}

// The call must return exactly this code.
#define EXPECT_CODE(call, expected)                                                                       \
  do {                                                                                                    \
    const cudaError_t code_ = (call);                                                                     \
    if (code_ != (expected)) failAt(__FILE__, __LINE__, #call " != " #expected, cudaGetErrorName(code_)); \
  } while (0)

#define CHECK(call) EXPECT_CODE(call, cudaSuccess)

#define EXPECT(condition)                                               \
  do {                                                                  \
    if (!(condition)) failAt(__FILE__, __LINE__, "not so", #condition); \
  } while (0)

// The launch before this line must have been accepted and the work must end well.
#define CHECK_LAUNCH()              \
  do {                              \
    CHECK(cudaGetLastError());      \
    CHECK(cudaDeviceSynchronize()); \
  } while (0)

inline int passed() {
  std::puts("OK");
  return 0;
}

// An array in device memory, freed with its owner.
template <class T>
class DeviceArray {
 public:
  explicit DeviceArray(size_t size) : size_(size) { CHECK(cudaMalloc(&data_, size * sizeof(T))); }
  explicit DeviceArray(const std::vector<T>& values) : DeviceArray(values.size()) {
    CHECK(cudaMemcpy(data_, values.data(), size_ * sizeof(T), cudaMemcpyHostToDevice));
  }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;
  ~DeviceArray() { cudaFree(data_); }

  operator T*() const { return data_; }
  size_t size() const { return size_; }
  void clear() { CHECK(cudaMemset(data_, 0, size_ * sizeof(T))); }
  std::vector<T> host() const {
    std::vector<T> values(size_);
    CHECK(cudaMemcpy(values.data(), data_, size_ * sizeof(T), cudaMemcpyDeviceToHost));
    return values;
  }

 private:
  T* data_ = nullptr;
  size_t size_;
};

template <class T>
void expectEqual(const std::vector<T>& actual, const std::vector<T>& expected, const char* what) {
  EXPECT(actual.size() == expected.size());
  for (size_t i = 0; i < actual.size(); ++i) {
    if (std::memcmp(&actual[i], &expected[i], sizeof(T)) == 0) continue;
    std::fprintf(stderr, "%s: element %zu is %.9g, not %.9g\n", what, i, double(actual[i]), double(expected[i]));
    std::_Exit(1);
  }
}

// Every element within `tolerance`, relative to the expected value where that is larger than one.
template <class T>
void expectNear(const std::vector<T>& actual, const std::vector<T>& expected, double tolerance, const char* what) {
  EXPECT(actual.size() == expected.size());
  for (size_t i = 0; i < actual.size(); ++i) {
    const double scale = std::fmax(1.0, std::fabs(double(expected[i])));
    if (std::fabs(double(actual[i]) - double(expected[i])) <= tolerance * scale) continue;
    std::fprintf(stderr, "%s: element %zu is %.9g, not %.9g\n", what, i, double(actual[i]), double(expected[i]));
    std::_Exit(1);
  }
}

// The numbers of std::mt19937. nvcc takes a third less time for a program without <random>.
class RandomWords {
 public:
  explicit RandomWords(unsigned seed) {
    for (unsigned i = 0; i < kSize; ++i) {
      state_[i] = seed;
      seed = 1812433253u * (seed ^ seed >> 30) + i + 1;
    }
  }

  unsigned operator()() {
    if (next_ == kSize) renew();
    unsigned x = state_[next_++];
    x ^= x >> 11;
    x ^= x << 7 & 0x9D2C5680u;
    x ^= x << 15 & 0xEFC60000u;
    return x ^ x >> 18;
  }

 private:
  void renew() {
    for (unsigned i = 0; i < kSize; ++i) {
      const unsigned both = (state_[i] & 0x80000000u) | (state_[(i + 1) % kSize] & 0x7FFFFFFFu);
      state_[i] = state_[(i + 397) % kSize] ^ both >> 1 ^ (both & 1 ? 0x9908B0DFu : 0);
    }
    next_ = 0;
  }

  static constexpr unsigned kSize = 624;
  unsigned state_[kSize], next_ = kSize;
};

inline std::vector<float> randomFloats(size_t size, float low, float high, unsigned seed = 1) {
  RandomWords random(seed);
  std::vector<float> values(size);
  for (float& value : values) value = std::fmin(float(random()) * 0x1p-32f, 0x0.ffffffp0f) * (high - low) + low;
  return values;
}

inline std::vector<unsigned> randomWords(size_t size, unsigned below = 0, unsigned seed = 1) {
  RandomWords random(seed);
  std::vector<unsigned> values(size);
  for (unsigned& value : values) value = below ? random() % below : random();
  return values;
}
