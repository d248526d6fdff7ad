// Copies of all directions and shapes: linear, 2D with pitch, 3D with positions, symbol-free defaults, overlap of rows.
#include "check.h"

static std::vector<unsigned char> randomBytes(size_t size, unsigned seed) {
  std::vector<unsigned char> bytes;
  for (unsigned word : randomWords(size, 256, seed)) bytes.push_back((unsigned char)word);
  return bytes;
}

static void linear() {
  for (size_t size : {size_t(1), size_t(3), size_t(64), size_t(4097), size_t(3) << 20}) {
    const auto in = randomBytes(size, 29);
    DeviceArray<unsigned char> a(in), b(size);
    CHECK(cudaMemcpy(b, a, size, cudaMemcpyDeviceToDevice));
    expectEqual(b.host(), in, "device to device");
    std::vector<unsigned char> out(size);
    CHECK(cudaMemcpy(out.data(), in.data(), size, cudaMemcpyHostToHost));
    expectEqual(out, in, "host to host");
    CHECK(cudaMemcpy(a, b, size, cudaMemcpyDefault));
    CHECK(cudaMemcpy(out.data(), a, size, cudaMemcpyDefault));
    expectEqual(out, in, "default");
  }
  CHECK(cudaMemcpy(nullptr, nullptr, 0, cudaMemcpyHostToDevice));
}

static void pitched() {
  const size_t width = 301, height = 77;
  const auto in = randomBytes(width * height, 30);
  unsigned char *a = nullptr, *b = nullptr;
  size_t pitchA = 0, pitchB = 0;
  CHECK(cudaMallocPitch(&a, &pitchA, width, height));
  CHECK(cudaMallocPitch(&b, &pitchB, width * 2, height));
  EXPECT(pitchA >= width && pitchA % 32 == 0 && pitchB >= width * 2);
  CHECK(cudaMemcpy2D(a, pitchA, in.data(), width, width, height, cudaMemcpyHostToDevice));
  CHECK(cudaMemset2D(b, pitchB, 0xee, width * 2, height));
  CHECK(cudaMemcpy2D(b + 5, pitchB, a, pitchA, width, height, cudaMemcpyDeviceToDevice));
  std::vector<unsigned char> out(width * 2 * height), expected(width * 2 * height, 0xee);
  CHECK(cudaMemcpy2D(out.data(), width * 2, b, pitchB, width * 2, height, cudaMemcpyDeviceToHost));
  for (size_t y = 0; y < height; ++y) std::memcpy(&expected[y * width * 2 + 5], &in[y * width], width);
  expectEqual(out, expected, "2D");
  EXPECT_CODE(cudaMemcpy2D(b, 10, a, pitchA, 11, 2, cudaMemcpyDeviceToDevice), cudaErrorInvalidPitchValue);
  cudaGetLastError();
  CHECK(cudaFree(a));
  CHECK(cudaFree(b));
}

static void threeDimensional() {
  const size_t width = 50, height = 20, depth = 10;
  const auto in = randomBytes(width * height * depth, 31);
  cudaPitchedPtr volume;
  CHECK(cudaMalloc3D(&volume, make_cudaExtent(width, height, depth)));
  EXPECT(volume.pitch >= width && volume.xsize == width && volume.ysize == height);
  cudaMemcpy3DParms whole = {};
  whole.srcPtr = make_cudaPitchedPtr(const_cast<unsigned char*>(in.data()), width, width, height);
  whole.dstPtr = volume;
  whole.extent = make_cudaExtent(width, height, depth);
  whole.kind = cudaMemcpyHostToDevice;
  CHECK(cudaMemcpy3D(&whole));

  // A box from the middle of the volume to a place inside a packed host volume.
  const size_t boxWidth = 13, boxHeight = 7, boxDepth = 4;
  std::vector<unsigned char> out(30 * 30 * 30, 0x11), expected = out;
  cudaMemcpy3DParms box = {};
  box.srcPtr = volume;
  box.srcPos = make_cudaPos(5, 6, 3);
  box.dstPtr = make_cudaPitchedPtr(out.data(), 30, 30, 30);
  box.dstPos = make_cudaPos(2, 3, 9);
  box.extent = make_cudaExtent(boxWidth, boxHeight, boxDepth);
  box.kind = cudaMemcpyDeviceToHost;
  CHECK(cudaMemcpy3D(&box));
  for (size_t z = 0; z < boxDepth; ++z)
    for (size_t y = 0; y < boxHeight; ++y)
      std::memcpy(&expected[((z + 9) * 30 + y + 3) * 30 + 2], &in[((z + 3) * height + y + 6) * width + 5], boxWidth);
  expectEqual(out, expected, "3D box");

  CHECK(cudaMemset3D(volume, 0x5a, make_cudaExtent(width, height, 2)));
  unsigned char first = 0, later = 0;
  CHECK(cudaMemcpy(&first, volume.ptr, 1, cudaMemcpyDeviceToHost));
  CHECK(cudaMemcpy(&later, static_cast<char*>(volume.ptr) + volume.pitch * height * 2, 1, cudaMemcpyDeviceToHost));
  EXPECT(first == 0x5a && later == in[width * height * 2]);
  CHECK(cudaFree(volume.ptr));
}

static void asynchronous() {
  const size_t width = 4096, height = 64;
  unsigned char *host = nullptr, *back = nullptr, *device = nullptr;
  size_t pitch = 0;
  CHECK(cudaMallocHost(&host, width * height));
  CHECK(cudaMallocHost(&back, width * height));
  CHECK(cudaMallocPitch(&device, &pitch, width, height));
  for (size_t i = 0; i < width * height; ++i) host[i] = (unsigned char)(i * 31 + (i >> 8));
  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));
  CHECK(cudaMemcpy2DAsync(device, pitch, host, width, width, height, cudaMemcpyHostToDevice, stream));
  CHECK(cudaMemcpy2DAsync(back, width, device, pitch, width, height, cudaMemcpyDeviceToHost, stream));
  CHECK(cudaStreamSynchronize(stream));
  EXPECT(std::memcmp(host, back, width * height) == 0);
  CHECK(cudaStreamDestroy(stream));
  CHECK(cudaFree(device));
  CHECK(cudaFreeHost(host));
  CHECK(cudaFreeHost(back));
}

int main() {
  linear();
  pitched();
  threeDimensional();
  asynchronous();
  return passed();
}
