// cudaMemset in one, two and three dimensions, synchronous and in a stream, at odd offsets, leaving neighbours alone.
#include "check.h"

int main() {
  const size_t size = 100000;
  DeviceArray<unsigned char> bytes(size);
  CHECK(cudaMemset(bytes, 0, size));
  std::vector<unsigned char> expected(size, 0);
  RandomWords random(32);
  for (int round = 0; round < 200; ++round) {
    const size_t start = random() % size, length = random() % (size - start + 1) >> random() % 16;
    const int value = int(random() % 256);
    if (round % 2) {
      CHECK(cudaMemset(bytes + start, value, length));
    } else {
      CHECK(cudaMemsetAsync(bytes + start, value, length));
    }
    std::memset(expected.data() + start, value, length);
  }
  expectEqual(bytes.host(), expected, "memset");

  unsigned char* pitched = nullptr;
  size_t pitch = 0;
  const size_t width = 777, height = 41;
  CHECK(cudaMallocPitch(&pitched, &pitch, width, height));
  CHECK(cudaMemset2D(pitched, pitch, 1, width, height));
  CHECK(cudaMemset2D(pitched + 3 * pitch + 5, pitch, 2, 100, 10));
  cudaStream_t stream;
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  CHECK(cudaStreamSynchronize(cudaStreamLegacy));
  CHECK(cudaMemset2DAsync(pitched + 7 * pitch, pitch, 3, width, 2, stream));
  CHECK(cudaStreamSynchronize(stream));
  std::vector<unsigned char> out(width * height), expected2D(width * height, 1);
  CHECK(cudaMemcpy2D(out.data(), width, pitched, pitch, width, height, cudaMemcpyDeviceToHost));
  for (size_t y = 3; y < 13; ++y) std::memset(&expected2D[y * width + 5], 2, 100);
  std::memset(&expected2D[7 * width], 3, 2 * width);
  expectEqual(out, expected2D, "memset 2D");
  CHECK(cudaStreamDestroy(stream));
  CHECK(cudaFree(pitched));

  EXPECT_CODE(cudaMemset(bytes, 0, size * 1000), cudaErrorInvalidValue);
  return passed();
}
