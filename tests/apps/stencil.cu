// Ten steps of a 5-point stencil on a grid whose sides are no multiple of the block, plain and with shared tiles.
#include <utility>

#include "check.h"

constexpr int kTileX = 32, kTileY = 8;

__global__ void stepPlain(const float* in, float* out, int width, int height) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  const int i = y * width + x;
  if (x == 0 || y == 0 || x == width - 1 || y == height - 1) {
    out[i] = in[i];
  } else {
    out[i] = __fmul_rn(
        0.2f, __fadd_rn(__fadd_rn(__fadd_rn(in[i - 1], in[i + 1]), __fadd_rn(in[i - width], in[i + width])), in[i]));
  }
}

__global__ void stepTiled(const float* in, float* out, int width, int height) {
  __shared__ float tile[kTileY + 2][kTileX + 2];
  const int left = blockIdx.x * kTileX - 1, top = blockIdx.y * kTileY - 1;
  for (int y = threadIdx.y; y < kTileY + 2; y += kTileY) {
    for (int x = threadIdx.x; x < kTileX + 2; x += kTileX) {
      const int column = min(max(left + x, 0), width - 1), row = min(max(top + y, 0), height - 1);
      tile[y][x] = in[row * width + column];
    }
  }
  __syncthreads();
  const int x = blockIdx.x * kTileX + threadIdx.x, y = blockIdx.y * kTileY + threadIdx.y;
  if (x >= width || y >= height) return;
  const int tx = threadIdx.x + 1, ty = threadIdx.y + 1;
  const float centre = tile[ty][tx];
  const bool border = x == 0 || y == 0 || x == width - 1 || y == height - 1;
  const float across = __fadd_rn(tile[ty][tx - 1], tile[ty][tx + 1]),
              down = __fadd_rn(tile[ty - 1][tx], tile[ty + 1][tx]);
  out[y * width + x] = border ? centre : __fmul_rn(0.2f, __fadd_rn(__fadd_rn(across, down), centre));
}

static std::vector<float> hostSteps(std::vector<float> grid, int width, int height, int steps) {
  std::vector<float> next = grid;
  for (int step = 0; step < steps; ++step) {
    for (int y = 1; y < height - 1; ++y) {
      for (int x = 1; x < width - 1; ++x) {
        const int i = y * width + x;
        next[i] = 0.2f * (((grid[i - 1] + grid[i + 1]) + (grid[i - width] + grid[i + width])) + grid[i]);
      }
    }
    std::swap(grid, next);
  }
  return grid;
}

int main() {
  const int width = 301, height = 187, steps = 10;
  const auto start = randomFloats(width * height, 0, 100, 6);
  const auto expected = hostSteps(start, width, height, steps);
  for (auto* kernel : {stepPlain, stepTiled}) {
    DeviceArray<float> a(start), b(start.size());
    float *from = a, *to = b;
    const dim3 block(kTileX, kTileY), grid((width + kTileX - 1) / kTileX, (height + kTileY - 1) / kTileY);
    for (int step = 0; step < steps; ++step) {
      kernel<<<grid, block>>>(from, to, width, height);
      std::swap(from, to);
    }
    CHECK_LAUNCH();
    expectEqual(a.host(), expected, kernel == stepPlain ? "plain" : "tiled");
  }
  return passed();
}
