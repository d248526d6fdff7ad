// Indexed loads and stores of 1 to 16 bytes at random places.
#include <algorithm>
#include <numeric>
#include <random>

#include "check.h"

template <class T>
__global__ void gather(const T* table, const unsigned* index, T* out, int size) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < size) out[i] = table[index[i]];
}

template <class T>
__global__ void scatter(const T* in, const unsigned* index, T* table, int size) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < size) table[index[i]] = in[i];
}

template <class T>
void check(int size) {
  std::vector<unsigned> permutation(size);
  std::iota(permutation.begin(), permutation.end(), 0u);
  std::shuffle(permutation.begin(), permutation.end(), std::mt19937(13));
  const auto words = randomWords(size * sizeof(T) / 4 + 4, 0, 14);
  std::vector<T> values(size);
  std::memcpy(values.data(), words.data(), size * sizeof(T));
  DeviceArray<T> table(values), gathered(size), back(size);
  DeviceArray<unsigned> index(permutation);
  gather<T><<<(size + 255) / 256, 256>>>(table, index, gathered, size);
  scatter<T><<<(size + 255) / 256, 256>>>(gathered, index, back, size);
  CHECK_LAUNCH();
  const auto seen = gathered.host(), restored = back.host();
  for (int i = 0; i < size; ++i) EXPECT(std::memcmp(&seen[i], &values[permutation[i]], sizeof(T)) == 0);
  EXPECT(std::memcmp(restored.data(), values.data(), size * sizeof(T)) == 0);
}

int main() {
  check<unsigned char>(10007);
  check<unsigned short>(10007);
  check<unsigned>(100003);
  check<unsigned long long>(30011);
  check<float2>(10007);
  check<int4>(10007);
  check<uchar4>(10007);
  return passed();
}
