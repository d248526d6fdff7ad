// Every lane leaves the loop at its own round.
#include "check.h"

__host__ __device__ inline int escapeRounds(double cx, double cy, int limit) {
  double x = 0, y = 0;
  int round = 0;
  for (; round < limit; ++round) {
    const double xx = x * x, yy = y * y;
    if (xx + yy > 4) break;
    y = 2 * (x * y) + cy;
    x = (xx - yy) + cx;
  }
  return round;
}

__global__ void mandelbrot(int* out, int width, int height, int limit) {
  const int px = blockIdx.x * blockDim.x + threadIdx.x, py = blockIdx.y * blockDim.y + threadIdx.y;
  if (px >= width || py >= height) return;
  out[py * width + px] = escapeRounds(-2.0 + px * (3.0 / width), -1.25 + py * (2.5 / height), limit);
}

int main() {
  const int width = 200, height = 150, limit = 300;
  DeviceArray<int> out(width * height);
  mandelbrot<<<dim3((width + 15) / 16, (height + 15) / 16), dim3(16, 16)>>>(out, width, height, limit);
  CHECK_LAUNCH();
  const auto actual = out.host();
  // The device fuses multiplies and adds, the host may not: a point near the border may escape at another round.
  int different = 0, inside = 0;
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x) {
      const int expected = escapeRounds(-2.0 + x * (3.0 / width), -1.25 + y * (2.5 / height), limit);
      different += actual[y * width + x] != expected;
      inside += actual[y * width + x] == limit;
    }
  EXPECT(different < width * height / 200);
  EXPECT(inside > width * height / 10 && inside < width * height / 2);
  return passed();
}
