// Bezier curves cut into lines, as many as their curvature wants, in memory that the parent kernel takes from the heap
// with cudaMalloc and a child kernel fills.
#include "check.h"

namespace {

constexpr int kCurves = 256, kMostLines = 32;

struct Curve {
  float2 control[3];
  float2* vertices;
  int count;
};

__host__ __device__ float2 at(const float2 (&p)[3], float u) {
  const float a = (1 - u) * (1 - u), b = 2 * u * (1 - u), c = u * u;
  return {a * p[0].x + b * p[1].x + c * p[2].x, a * p[0].y + b * p[1].y + c * p[2].y};
}

__host__ __device__ int linesFor(const float2 (&p)[3]) {
  const float x = p[1].x - (p[0].x + p[2].x) / 2, y = p[1].y - (p[0].y + p[2].y) / 2;
  const int lines = static_cast<int>((x * x + y * y) * 64) + 4;
  return lines < kMostLines ? lines : kMostLines;
}

__global__ void fill(Curve* curve, int count) {
  const int i = threadIdx.x + blockIdx.x * blockDim.x;
  if (i < count) curve->vertices[i] = at(curve->control, i / float(count - 1));
}

__global__ void tessellate(Curve* curves, int count, int* failed) {
  const int i = threadIdx.x + blockIdx.x * blockDim.x;
  if (i >= count) return;
  curves[i].count = linesFor(curves[i].control);
  if (cudaMalloc(&curves[i].vertices, curves[i].count * sizeof(float2)) != cudaSuccess) {
    atomicAdd(failed, 1);
    return;
  }
  fill<<<(curves[i].count + 31) / 32, 32>>>(&curves[i], curves[i].count);
}

__global__ void gather(const Curve* curves, float2* out) {
  const Curve& curve = curves[blockIdx.x];
  if (threadIdx.x < curve.count) out[blockIdx.x * kMostLines + threadIdx.x] = curve.vertices[threadIdx.x];
}

__global__ void release(Curve* curves, int count, int* failed) {
  const int i = threadIdx.x + blockIdx.x * blockDim.x;
  if (i < count && cudaFree(curves[i].vertices) != cudaSuccess) atomicAdd(failed, 1);
}

}  // namespace

int main() {
  const std::vector<float> numbers = randomFloats(6 * kCurves, -1, 1);
  std::vector<Curve> curves(kCurves);
  for (int i = 0; i < kCurves; ++i)
    for (int k = 0; k < 3; ++k) curves[i].control[k] = {numbers[6 * i + 2 * k], numbers[6 * i + 2 * k + 1]};
  DeviceArray<Curve> device(curves);
  DeviceArray<float2> vertices(kCurves * kMostLines);
  DeviceArray<int> failed(std::vector<int>{0});
  for (int round = 0; round < 3; ++round) {
    vertices.clear();
    tessellate<<<(kCurves + 63) / 64, 64>>>(device, kCurves, failed);
    gather<<<kCurves, kMostLines>>>(device, vertices);
    release<<<(kCurves + 63) / 64, 64>>>(device, kCurves, failed);
    CHECK_LAUNCH();
    EXPECT(failed.host()[0] == 0);
    const std::vector<float2> got = vertices.host();
    for (int i = 0; i < kCurves; ++i) {
      const int lines = linesFor(curves[i].control);
      for (int k = 0; k < lines; ++k) {
        const float2 wanted = at(curves[i].control, k / float(lines - 1)), is = got[i * kMostLines + k];
        EXPECT(std::fabs(wanted.x - is.x) < 1e-5 && std::fabs(wanted.y - is.y) < 1e-5);
      }
    }
  }
  return passed();
}
