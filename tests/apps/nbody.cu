// All-pairs gravitation with bodies staged through shared memory; checked against double precision on the host.
#include "check.h"

constexpr int kBlock = 64;
constexpr float kSoftening = 0.01f;

__global__ void accelerate(const float4* bodies, float3* accelerations, int size) {
  __shared__ float4 tile[kBlock];
  const int i = blockIdx.x * kBlock + threadIdx.x;
  const float4 me = i < size ? bodies[i] : make_float4(0, 0, 0, 0);
  float3 sum = make_float3(0, 0, 0);
  for (int start = 0; start < size; start += kBlock) {
    const int j = start + threadIdx.x;
    tile[threadIdx.x] = j < size ? bodies[j] : make_float4(0, 0, 0, 0);
    __syncthreads();
#pragma unroll 8
    for (int k = 0; k < kBlock; ++k) {
      const float4 other = tile[k];
      const float dx = other.x - me.x, dy = other.y - me.y, dz = other.z - me.z;
      const float inverse = rsqrtf(dx * dx + dy * dy + dz * dz + kSoftening);
      const float pull = other.w * inverse * inverse * inverse;
      sum.x += dx * pull;
      sum.y += dy * pull;
      sum.z += dz * pull;
    }
    __syncthreads();
  }
  if (i < size) accelerations[i] = sum;
}

int main() {
  const int size = 700;
  const auto raw = randomFloats(size * 4, 0.1f, 2, 40);
  std::vector<float4> bodies(size);
  std::memcpy(bodies.data(), raw.data(), size * sizeof(float4));
  DeviceArray<float4> deviceBodies(bodies);
  DeviceArray<float3> accelerations(size);
  accelerate<<<(size + kBlock - 1) / kBlock, kBlock>>>(deviceBodies, accelerations, size);
  CHECK_LAUNCH();
  const auto seen = accelerations.host();
  for (int i = 0; i < size; ++i) {
    double x = 0, y = 0, z = 0, magnitude = 0;
    for (const float4& other : bodies) {
      const double dx = double(other.x) - bodies[i].x, dy = double(other.y) - bodies[i].y,
                   dz = double(other.z) - bodies[i].z;
      const double pull = other.w / std::pow(dx * dx + dy * dy + dz * dz + kSoftening, 1.5);
      x += dx * pull;
      y += dy * pull;
      z += dz * pull;
      magnitude += pull * std::sqrt(dx * dx + dy * dy + dz * dz);
    }
    EXPECT(std::fabs(seen[i].x - x) < 1e-5 * magnitude);
    EXPECT(std::fabs(seen[i].y - y) < 1e-5 * magnitude);
    EXPECT(std::fabs(seen[i].z - z) < 1e-5 * magnitude);
  }
  return passed();
}
