// Half precision: conversions, arithmetic on single and packed values, comparisons. Results of one operation are exact.
#include <cuda_fp16.h>

#include "check.h"

__global__ void roundTrip(const float* in, float* out, unsigned short* bits, int size) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= size) return;
  const __half h = __float2half(in[i]);
  bits[i] = __half_as_ushort(h);
  out[i] = __half2float(h);
}

__global__ void arithmetic(const __half* a, const __half* b, __half* out, int size) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= size) return;
  out[i] = a[i] + b[i];
  out[size + i] = __hsub_rn(a[i], b[i]);
  out[2 * size + i] = __hmul_rn(a[i], b[i]);
  out[3 * size + i] = __hfma(a[i], b[i], __float2half(1.0f));
  out[4 * size + i] = __hlt(a[i], b[i]) ? a[i] : __hneg(b[i]);
  out[5 * size + i] = __int2half_rn(__half2int_rz(a[i]));
}

__global__ void packed(const __half2* a, const __half2* b, __half2* out, int size) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= size) return;
  const __half2 sum = __hadd2(a[i], b[i]);
  out[i] = __hmul2(sum, __float2half2_rn(0.5f));
  out[size + i] = __hfma2(a[i], b[i], __lowhigh2highlow(sum));
}

static float rounded(float value) { return __half2float(__float2half(value)); }

int main() {
  auto values = randomFloats(4096, -8, 8, 26);
  for (float special : {0.0f, -0.0f, 65504.0f, 65520.0f, 1e6f, 6e-8f, 2e-8f, 6.1e-5f, 1.0009765f, INFINITY})
    values.push_back(special);
  while (values.size() % 2) values.push_back(1);
  const int size = int(values.size());
  DeviceArray<float> in(values), out(size);
  DeviceArray<unsigned short> bits(size);
  roundTrip<<<(size + 127) / 128, 128>>>(in, out, bits, size);
  CHECK_LAUNCH();
  std::vector<float> expected;
  std::vector<unsigned short> expectedBits;
  for (float value : values) {
    const __half h = __float2half(value);
    expected.push_back(__half2float(h));
    expectedBits.push_back(__half_as_ushort(h));
  }
  expectEqual(out.host(), expected, "round trip");
  expectEqual(bits.host(), expectedBits, "bits");

  const auto a = randomFloats(2048, -8, 8, 27), b = randomFloats(2048, -8, 8, 28);
  const int count = int(a.size());
  std::vector<__half> halfA, halfB;
  for (float value : a) halfA.push_back(__float2half(value));
  for (float value : b) halfB.push_back(__float2half(value));
  DeviceArray<__half> deviceA(halfA), deviceB(halfB), results(6 * count);
  arithmetic<<<(count + 127) / 128, 128>>>(deviceA, deviceB, results, count);
  CHECK_LAUNCH();
  const auto seen = results.host();
  const auto expectHalf = [&](int index, float value) {
    if (__half2float(seen[index]) == rounded(value)) return;
    std::fprintf(stderr, "half result %d of element %d: %g, not %g\n", index / count, index % count,
                 __half2float(seen[index]), rounded(value));
    std::_Exit(1);
  };
  for (int i = 0; i < count; ++i) {
    const float x = __half2float(halfA[i]), y = __half2float(halfB[i]);
    expectHalf(i, x + y);
    expectHalf(count + i, x - y);
    expectHalf(2 * count + i, x * y);
    // The exact sum x*y+1 fits a double; rounding it to float first could round twice, so it goes straight to half.
    EXPECT(__half2float(seen[3 * count + i]) == __half2float(__double2half(double(x) * y + 1)));
    expectHalf(4 * count + i, x < y ? x : -y);
    expectHalf(5 * count + i, float(int(x)));
  }

  DeviceArray<__half2> pairs(count);
  packed<<<(count / 2 + 63) / 64, 64>>>(reinterpret_cast<__half2*>(static_cast<__half*>(deviceA)),
                                        reinterpret_cast<__half2*>(static_cast<__half*>(deviceB)), pairs, count / 2);
  CHECK_LAUNCH();
  const auto pairValues = pairs.host();
  for (int i = 0; i < count / 2; ++i) {
    const float x = __half2float(halfA[2 * i]), y = __half2float(halfB[2 * i]);
    const float x1 = __half2float(halfA[2 * i + 1]), y1 = __half2float(halfB[2 * i + 1]);
    EXPECT(__low2float(pairValues[i]) == rounded(rounded(x + y) * 0.5f));
    EXPECT(__high2float(pairValues[i]) == rounded(rounded(x1 + y1) * 0.5f));
    const double low = double(x) * y + rounded(x1 + y1), high = double(x1) * y1 + rounded(x + y);
    EXPECT(__low2float(pairValues[count / 2 + i]) == __half2float(__double2half(low)));
    EXPECT(__high2float(pairValues[count / 2 + i]) == __half2float(__double2half(high)));
  }
  return passed();
}
