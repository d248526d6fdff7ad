// Conway's game of life on bytes with wrapping borders; a glider must come back after its round trip.
#include <utility>

#include "check.h"

__global__ void generation(const unsigned char* in, unsigned char* out, int width, int height) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  int neighbours = 0;
  for (int dy = -1; dy <= 1; ++dy)
    for (int dx = -1; dx <= 1; ++dx)
      if (dx || dy) neighbours += in[(y + dy + height) % height * width + (x + dx + width) % width];
  out[y * width + x] = neighbours == 3 || (neighbours == 2 && in[y * width + x]);
}

int main() {
  const int width = 24, height = 24;
  std::vector<unsigned char> start(width * height);
  for (auto [x, y] : {std::pair(1, 0), {2, 1}, {0, 2}, {1, 2}, {2, 2}}) start[y * width + x] = 1;
  DeviceArray<unsigned char> a(start), b(start.size());
  unsigned char *from = a, *to = b;
  const dim3 block(10, 6), grid(3, 4);
  for (int round = 0; round < 4 * width; ++round) {
    generation<<<grid, block>>>(from, to, width, height);
    std::swap(from, to);
    if (round == 1) {
      CHECK_LAUNCH();
      EXPECT(a.host() != start);
    }
  }
  CHECK_LAUNCH();
  expectEqual(a.host(), start, "glider");
  return passed();
}
