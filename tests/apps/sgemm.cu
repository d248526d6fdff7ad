// Matrix product with shared-memory tiles, for sizes that are and are not multiples of the tile.
#include "check.h"

constexpr int kTile = 16;

__global__ void sgemm(const float* a, const float* b, float* c, int rows, int inner, int columns) {
  __shared__ float tileA[kTile][kTile], tileB[kTile][kTile];
  const int row = blockIdx.y * kTile + threadIdx.y, column = blockIdx.x * kTile + threadIdx.x;
  float sum = 0;
  for (int start = 0; start < inner; start += kTile) {
    const int k = start + threadIdx.x, l = start + threadIdx.y;
    tileA[threadIdx.y][threadIdx.x] = row < rows && k < inner ? a[row * inner + k] : 0;
    tileB[threadIdx.y][threadIdx.x] = l < inner && column < columns ? b[l * columns + column] : 0;
    __syncthreads();
    for (int i = 0; i < kTile; ++i) sum = fmaf(tileA[threadIdx.y][i], tileB[i][threadIdx.x], sum);
    __syncthreads();
  }
  if (row < rows && column < columns) c[row * columns + column] = sum;
}

static void check(int rows, int inner, int columns) {
  const auto a = randomFloats(rows * inner, -1, 1, 7), b = randomFloats(inner * columns, -1, 1, 8);
  DeviceArray<float> deviceA(a), deviceB(b), deviceC(rows * columns);
  const dim3 grid((columns + kTile - 1) / kTile, (rows + kTile - 1) / kTile);
  sgemm<<<grid, dim3(kTile, kTile)>>>(deviceA, deviceB, deviceC, rows, inner, columns);
  CHECK_LAUNCH();
  std::vector<float> expected(rows * columns);
  for (int row = 0; row < rows; ++row)
    for (int column = 0; column < columns; ++column) {
      float sum = 0;
      for (int k = 0; k < inner; ++k) sum = std::fma(a[row * inner + k], b[k * columns + column], sum);
      expected[row * columns + column] = sum;
    }
  expectNear(deviceC.host(), expected, 0, "sgemm");
}

int main() {
  check(64, 64, 64);
  check(1, 1, 1);
  check(37, 129, 50);
  check(128, 200, 96);
  return passed();
}
