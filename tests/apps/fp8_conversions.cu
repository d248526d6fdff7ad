// Numbers of eight bits, e4m3 and e5m2: every one of them to halves and floats and back, floats and pairs of halves
// rounded and clamped, against the host's own arithmetic.
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include "check.h"

template <class Eighth>
__global__ void widen(unsigned short* halves, float* floats) {
  const int i = threadIdx.x;
  Eighth value;
  value.__x = static_cast<__nv_fp8_storage_t>(i);
  halves[i] = __half_as_ushort(static_cast<__half>(value));
  floats[i] = static_cast<float>(value);
}

template <class Eighth, class Pair>
__global__ void narrow(const float* in, unsigned char* single, unsigned short* pairs, unsigned short* fromHalves,
                       int size) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= size) return;
  single[i] = Eighth(in[i]).__x;
  pairs[i] = Pair(make_float2(in[i], in[size - 1 - i])).__x;
  fromHalves[i] = Pair(__floats2half2_rn(in[i], in[size - 1 - i])).__x;
}

// What a pattern of bits is worth.
static double valueOf(int bits, int exponentBits) {
  const int fractionBits = 7 - exponentBits, bias = (1 << (exponentBits - 1)) - 1;
  const int exponent = bits >> fractionBits & ((1 << exponentBits) - 1), fraction = bits & ((1 << fractionBits) - 1);
  const double sign = bits & 0x80 ? -1 : 1;
  if (exponentBits == 4 && (bits & 0x7f) == 0x7f) return NAN;
  if (exponentBits == 5 && exponent == 31) return fraction ? NAN : sign * INFINITY;
  if (exponent == 0) return sign * std::ldexp(fraction, 1 - bias - fractionBits);
  return sign * std::ldexp(fraction + (1 << fractionBits), exponent - bias - fractionBits);
}

// The nearest finite pattern, ties to the even one.
static int nearest(double value, int exponentBits) {
  if (std::isnan(value)) return 0x7f;
  const int sign = std::signbit(value) ? 0x80 : 0, largest = exponentBits == 4 ? 0x7e : 0x7b;
  const double magnitude = std::fmin(std::fabs(value), 1e6);
  int best = largest;
  for (int bits = largest; bits >= 0; --bits) {
    const double distance = std::fabs(valueOf(bits, exponentBits) - magnitude);
    const double known = std::fabs(valueOf(best, exponentBits) - magnitude);
    if (distance < known || (distance == known && bits % 2 == 0)) best = bits;
  }
  return sign | best;
}

template <class Eighth, class Pair>
static void check(int exponentBits, const char* what) {
  DeviceArray<unsigned short> halves(256);
  DeviceArray<float> floats(256);
  widen<Eighth><<<1, 256>>>(halves, floats);
  CHECK_LAUNCH();
  const auto asHalves = halves.host();
  const auto asFloats = floats.host();
  for (int bits = 0; bits < 256; ++bits) {
    const double expected = valueOf(bits, exponentBits);
    if (std::isnan(expected)) {
      EXPECT(std::isnan(asFloats[bits]) && (asHalves[bits] & 0x7fff) > 0x7c00);
      continue;
    }
    EXPECT(double(asFloats[bits]) == expected);
    EXPECT(double(__half2float(__ushort_as_half(asHalves[bits]))) == expected);
  }

  auto values = randomFloats(2048, -500, 500, 11);
  for (float small : randomFloats(2048, -0.02f, 0.02f, 12)) values.push_back(small);
  for (float special : {0.0f, -0.0f, 448.0f, 464.0f, 465.0f, 1e9f, -57344.0f, -61440.0f, 1e-9f, 0.0009765625f, 17.0f})
    values.push_back(special);
  values.push_back(NAN);
  const int size = int(values.size());
  DeviceArray<float> in(values);
  DeviceArray<unsigned char> single(size);
  DeviceArray<unsigned short> pairs(size), fromHalves(size);
  narrow<Eighth, Pair><<<(size + 127) / 128, 128>>>(in, single, pairs, fromHalves, size);
  CHECK_LAUNCH();
  std::vector<unsigned char> expected;
  std::vector<unsigned short> expectedPairs, expectedFromHalves;
  for (int i = 0; i < size; ++i) {
    const float other = values[size - 1 - i];
    const auto rounded = [](float value) { return double(__half2float(__float2half(value))); };
    expected.push_back(static_cast<unsigned char>(nearest(values[i], exponentBits)));
    expectedPairs.push_back(
        static_cast<unsigned short>(nearest(values[i], exponentBits) | nearest(other, exponentBits) << 8));
    expectedFromHalves.push_back(static_cast<unsigned short>(nearest(rounded(values[i]), exponentBits) |
                                                             nearest(rounded(other), exponentBits) << 8));
  }
  expectEqual(single.host(), expected, what);
  expectEqual(pairs.host(), expectedPairs, what);
  expectEqual(fromHalves.host(), expectedFromHalves, what);
}

int main() {
  check<__nv_fp8_e4m3, __nv_fp8x2_e4m3>(4, "e4m3");
  check<__nv_fp8_e5m2, __nv_fp8x2_e5m2>(5, "e5m2");
  return passed();
}
