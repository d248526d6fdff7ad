// Matrix transpose through a padded shared tile, for two element sizes and odd shapes.
#include "check.h"

constexpr int kTile = 32, kRows = 8;

template <class T>
__global__ void transpose(const T* in, T* out, int width, int height) {
  __shared__ T tile[kTile][kTile + 1];
  int x = blockIdx.x * kTile + threadIdx.x, y = blockIdx.y * kTile + threadIdx.y;
  for (int row = 0; row < kTile; row += kRows)
    if (x < width && y + row < height) tile[threadIdx.y + row][threadIdx.x] = in[(y + row) * width + x];
  __syncthreads();
  x = blockIdx.y * kTile + threadIdx.x;
  y = blockIdx.x * kTile + threadIdx.y;
  for (int row = 0; row < kTile; row += kRows)
    if (x < height && y + row < width) out[(y + row) * height + x] = tile[threadIdx.x][threadIdx.y + row];
}

template <class T>
void check(int width, int height) {
  std::vector<T> in, expected(size_t(width) * height);
  for (unsigned word : randomWords(width * height, 1 << 15, 12)) in.push_back(T(word));
  DeviceArray<T> deviceIn(in), out(in.size());
  transpose<T><<<dim3((width + kTile - 1) / kTile, (height + kTile - 1) / kTile), dim3(kTile, kRows)>>>(deviceIn, out,
                                                                                                        width, height);
  CHECK_LAUNCH();
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x) expected[x * height + y] = in[y * width + x];
  expectEqual(out.host(), expected, "transpose");
}

int main() {
  check<float>(256, 256);
  check<float>(100, 75);
  check<double>(65, 33);
  check<unsigned char>(200, 129);
  check<short>(31, 1);
  return passed();
}
