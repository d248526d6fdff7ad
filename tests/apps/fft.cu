// A radix-2 Fourier transform of 1024 points a block in shared memory, forwards and back.
#include "check.h"

constexpr int kPoints = 1024;
constexpr double kPi = 3.14159265358979323846;

__global__ void transform(const float2* in, float2* out, float direction) {
  __shared__ float2 values[kPoints];
  for (int i = threadIdx.x; i < kPoints; i += blockDim.x) values[__brev(i) >> 22] = in[blockIdx.x * kPoints + i];
  __syncthreads();
  for (int half = 1; half < kPoints; half *= 2) {
    for (int i = threadIdx.x; i < kPoints / 2; i += blockDim.x) {
      const int k = i % half, at = i / half * half * 2 + k;
      float sine, cosine;
      sincospif(direction * float(k) / float(half), &sine, &cosine);
      const float2 a = values[at], b = values[at + half];
      const float2 turned = make_float2(b.x * cosine - b.y * sine, b.x * sine + b.y * cosine);
      values[at] = make_float2(a.x + turned.x, a.y + turned.y);
      values[at + half] = make_float2(a.x - turned.x, a.y - turned.y);
    }
    __syncthreads();
  }
  for (int i = threadIdx.x; i < kPoints; i += blockDim.x) out[blockIdx.x * kPoints + i] = values[i];
}

int main() {
  const int batches = 3;
  const auto raw = randomFloats(batches * kPoints * 2, -1, 1, 44);
  std::vector<float2> in(batches * kPoints);
  std::memcpy(in.data(), raw.data(), raw.size() * sizeof(float));
  DeviceArray<float2> deviceIn(in), spectrum(in.size()), back(in.size());
  transform<<<batches, 256>>>(deviceIn, spectrum, -1);
  transform<<<batches, 200>>>(spectrum, back, 1);
  CHECK_LAUNCH();
  const auto restored = back.host(), frequencies = spectrum.host();
  for (size_t i = 0; i < in.size(); ++i) {
    EXPECT(std::fabs(restored[i].x / kPoints - in[i].x) < 1e-5f);
    EXPECT(std::fabs(restored[i].y / kPoints - in[i].y) < 1e-5f);
  }
  for (int k : {0, 1, 7, 512, 1000}) {
    double x = 0, y = 0;
    for (int i = 0; i < kPoints; ++i) {
      const double angle = -2 * kPi * k * i / kPoints;
      x += in[i].x * std::cos(angle) - in[i].y * std::sin(angle);
      y += in[i].x * std::sin(angle) + in[i].y * std::cos(angle);
    }
    EXPECT(std::fabs(frequencies[k].x - x) < 1e-3 && std::fabs(frequencies[k].y - y) < 1e-3);
  }
  return passed();
}
