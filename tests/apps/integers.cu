// Integer arithmetic of all widths: division and remainder by variables and constants, shifts, wide products.
#include <climits>
#include <cstdint>
#include <random>
#include <type_traits>

#include "check.h"

template <class T>
struct Results {
  T quotient, remainder, byConstant, modConstant, shiftLeft, shiftRight, product, difference, byPower;
};

template <class T>
__host__ __device__ Results<T> compute(T a, T b) {
  const int shift = int(b & T(sizeof(T) * 8 - 1));
  return {T(a / b),      T(a % b), T(a / T(7)), T(a % T(100)), T(a << shift),
          T(a >> shift), T(a * b), T(a - b),    T(a / T(16))};
}

template <class T>
__global__ void computeAll(const T* a, const T* b, Results<T>* out, int size) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < size) out[i] = compute(a[i], b[i]);
}

// Of all magnitudes.
template <class T>
T number(std::mt19937_64& random) {
  if constexpr (sizeof(T) <= 8) return T(random() >> random() % 64);
  const unsigned __int128 high = random();
  return T((high << 64 | random()) >> random() % 128);
}

template <class T>
void check(const char* name) {
  using Unsigned = std::conditional_t<(sizeof(T) > 8), unsigned __int128, uint64_t>;
  std::mt19937_64 random(24);
  std::vector<T> a, b;
  for (int i = 0; i < 5000; ++i) {
    a.push_back(number<T>(random));
    const T divisor = number<T>(random);
    b.push_back(divisor == 0 || divisor == T(-1) ? T(3) : divisor);
  }
  const int size = int(a.size());
  DeviceArray<T> deviceA(a), deviceB(b);
  DeviceArray<Results<T>> out(size);
  computeAll<T><<<(size + 127) / 128, 128>>>(deviceA, deviceB, out, size);
  CHECK_LAUNCH();
  const auto actual = out.host();
  for (int i = 0; i < size; ++i) {
    // Products and shifts are compared modulo 2^n; made unsigned on the host so that nothing overflows there.
    const Results<T> expected = {T(a[i] / b[i]),
                                 T(a[i] % b[i]),
                                 T(a[i] / T(7)),
                                 T(a[i] % T(100)),
                                 T(Unsigned(a[i]) << int(b[i] & T(sizeof(T) * 8 - 1))),
                                 T(a[i] >> int(b[i] & T(sizeof(T) * 8 - 1))),
                                 T(Unsigned(a[i]) * Unsigned(b[i])),
                                 T(Unsigned(a[i]) - Unsigned(b[i])),
                                 T(a[i] / T(16))};
    const Results<T>& seen = actual[i];
    if (seen.quotient == expected.quotient && seen.remainder == expected.remainder &&
        seen.byConstant == expected.byConstant && seen.modConstant == expected.modConstant &&
        seen.shiftLeft == expected.shiftLeft && seen.shiftRight == expected.shiftRight &&
        seen.product == expected.product && seen.difference == expected.difference && seen.byPower == expected.byPower)
      continue;
    std::fprintf(stderr, "%s: wrong for %lld and %lld\n", name, (long long)a[i], (long long)b[i]);
    std::_Exit(1);
  }
}

__global__ void wide(const long long* a, const long long* b, unsigned long long* out, int size) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= size) return;
  out[i] = (unsigned long long)__mul64hi(a[i], b[i]);
  out[size + i] = __umul64hi((unsigned long long)a[i], (unsigned long long)b[i]);
  out[2 * size + i] = (unsigned)__mulhi(int(a[i]), int(b[i]));
  out[3 * size + i] = __umulhi(unsigned(a[i]), unsigned(b[i]));
  out[4 * size + i] = (unsigned)__mul24(int(a[i]) << 8 >> 8, int(b[i]) << 8 >> 8);
  out[5 * size + i] = __usad(unsigned(a[i]), unsigned(b[i]), 17u);
  out[6 * size + i] = (unsigned)__hadd(int(a[i]), int(b[i]));
}

int main() {
  check<int8_t>("int8");
  check<uint8_t>("uint8");
  check<int16_t>("int16");
  check<uint16_t>("uint16");
  check<int32_t>("int32");
  check<uint32_t>("uint32");
  check<long long>("int64");
  check<unsigned long long>("uint64");
  check<__int128>("int128");
  check<unsigned __int128>("uint128");

  std::mt19937_64 random(25);
  const int size = 2000;
  std::vector<long long> a(size), b(size);
  std::vector<unsigned long long> expected(7 * size);
  for (int i = 0; i < size; ++i) {
    a[i] = (long long)random();
    b[i] = (long long)random();
    const int low = int(a[i]), lowB = int(b[i]);
    const int a24 = int(unsigned(low) << 8) >> 8, b24 = int(unsigned(lowB) << 8) >> 8;
    expected[i] = (unsigned long long)((__int128(a[i]) * b[i]) >> 64);
    expected[size + i] =
        (unsigned long long)(((unsigned __int128)(unsigned long long)a[i] * (unsigned long long)b[i]) >> 64);
    expected[2 * size + i] = unsigned(((long long)low * lowB) >> 32);
    expected[3 * size + i] = ((unsigned long long)unsigned(low) * unsigned(lowB)) >> 32;
    expected[4 * size + i] = unsigned((long long)a24 * b24);
    expected[5 * size + i] = unsigned(std::llabs((long long)unsigned(low) - unsigned(lowB))) + 17u;
    expected[6 * size + i] = unsigned(((long long)low + lowB) >> 1);
  }
  DeviceArray<long long> deviceA(a), deviceB(b);
  DeviceArray<unsigned long long> out(7 * size);
  wide<<<(size + 127) / 128, 128>>>(deviceA, deviceB, out, size);
  CHECK_LAUNCH();
  expectEqual(out.host(), expected, "wide products");
  return passed();
}
