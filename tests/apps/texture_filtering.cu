// Textures of the runtime API: filtering, addressing, layers, boxes, linear and pitched memory, levels, half floats.
#include <cuda_fp16.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "check.h"

namespace {

constexpr int kWidth = 61, kHeight = 37;

__global__ void rotate(cudaTextureObject_t image, float* out, float angle) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= kWidth || y >= kHeight) return;
  const float u = x / float(kWidth) - 0.5f, v = y / float(kHeight) - 0.5f;
  out[y * kWidth + x] =
      tex2D<float>(image, u * cosf(angle) - v * sinf(angle) + 0.5f, v * cosf(angle) + u * sinf(angle) + 0.5f);
}

__global__ void shift(cudaTextureObject_t image, float* out, int right, int down) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < kWidth && y < kHeight) out[y * kWidth + x] = tex2D<float>(image, x + right + 0.5f, y + down + 0.5f);
}

__global__ void readColours(cudaTextureObject_t colours, float4* out) {
  out[threadIdx.x] = tex2D<float4>(colours, threadIdx.x % 4 + 0.5f, threadIdx.x / 4 + 0.5f);
}

__global__ void readWhole(cudaTextureObject_t colours, uchar4* out) {
  out[threadIdx.x] = tex2D<uchar4>(colours, threadIdx.x % 4 + 0.5f, threadIdx.x / 4 + 0.5f);
}

__global__ void readLayers(cudaTextureObject_t layers, int* out) {
  out[threadIdx.x] = tex2DLayered<int>(layers, threadIdx.x % 4 + 0.5f, threadIdx.x / 4 % 4 + 0.5f, threadIdx.x / 16);
}

__global__ void readBox(cudaTextureObject_t box, float* out) {
  out[threadIdx.x] = tex3D<float>(box, threadIdx.x * 0.1f, threadIdx.x * 0.05f + 0.5f, threadIdx.x * 0.07f + 0.5f);
}

__global__ void readLine(cudaTextureObject_t line, int2* out, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) out[i] = tex1Dfetch<int2>(line, i);
}

__global__ void readLevels(cudaTextureObject_t levels, float* out) {
  out[threadIdx.x] = tex2DLod<float>(levels, 0.5f, 0.5f, threadIdx.x * 0.25f);
}

__global__ void readHalves(cudaTextureObject_t halves, float* out) {
  out[threadIdx.x] = tex1D<float>(halves, threadIdx.x + 0.5f);
}

cudaTextureDesc described(cudaTextureAddressMode mode, cudaTextureFilterMode filter, bool normalized,
                          cudaTextureReadMode read = cudaReadModeElementType) {
  cudaTextureDesc d = {};
  for (auto& m : d.addressMode) m = mode;
  d.filterMode = filter;
  d.normalizedCoords = normalized;
  d.readMode = read;
  return d;
}

cudaTextureObject_t make(cudaArray_t array, const cudaTextureDesc& d) {
  cudaResourceDesc resource = {};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array;
  cudaTextureObject_t texture = 0;
  CHECK(cudaCreateTextureObject(&texture, &resource, &d, nullptr));
  return texture;
}

template <class T>
std::vector<T> download(const T* device, size_t count) {
  std::vector<T> values(count);
  CHECK(cudaMemcpy(values.data(), device, count * sizeof(T), cudaMemcpyDeviceToHost));
  return values;
}
template <class T>
T* space(size_t count) {
  T* memory = nullptr;
  CHECK(cudaMalloc(&memory, count * sizeof(T)));
  return memory;
}

double wrapped(const std::vector<float>& image, double u, double v) {
  const double x = std::floor((u * kWidth - 0.5) * 256 + 0.5) / 256,
               y = std::floor((v * kHeight - 0.5) * 256 + 0.5) / 256;
  const int ix = int(std::floor(x)), iy = int(std::floor(y));
  const double a = x - ix, b = y - iy;
  const auto at = [&](int px, int py) {
    return double(image[((py % kHeight + kHeight) % kHeight) * kWidth + (px % kWidth + kWidth) % kWidth]);
  };
  return (1 - b) * ((1 - a) * at(ix, iy) + a * at(ix + 1, iy)) +
         b * ((1 - a) * at(ix, iy + 1) + a * at(ix + 1, iy + 1));
}

void rotation() {
  std::vector<float> image(kWidth * kHeight);
  for (int y = 0; y < kHeight; ++y)
    for (int x = 0; x < kWidth; ++x) image[y * kWidth + x] = sinf(x * 0.3f) + cosf(y * 0.2f);
  const cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
  cudaArray_t array = nullptr;
  CHECK(cudaMallocArray(&array, &format, kWidth, kHeight));
  CHECK(cudaMemcpy2DToArray(array, 0, 0, image.data(), kWidth * 4, kWidth * 4, kHeight, cudaMemcpyHostToDevice));
  const cudaTextureObject_t texture = make(array, described(cudaAddressModeWrap, cudaFilterModeLinear, true));
  float* out = space<float>(image.size());
  const float angle = 0.5f;
  rotate<<<dim3(4, 5), dim3(16, 8)>>>(texture, out, angle);
  const std::vector<float> found = download(out, image.size());
  for (int y = 0; y < kHeight; ++y)
    for (int x = 0; x < kWidth; ++x) {
      const float u = x / float(kWidth) - 0.5f, v = y / float(kHeight) - 0.5f;
      const double wanted =
          wrapped(image, u * cosf(angle) - v * sinf(angle) + 0.5f, v * cosf(angle) + u * sinf(angle) + 0.5f);
      // A coordinate may round to the next 1/256 of an element.
      EXPECT(std::fabs(found[y * kWidth + x] - wanted) < 0.01);
    }
  cudaResourceDesc resource = {};
  cudaTextureDesc settings = {};
  CHECK(cudaGetTextureObjectResourceDesc(&resource, texture));
  CHECK(cudaGetTextureObjectTextureDesc(&settings, texture));
  EXPECT(resource.resType == cudaResourceTypeArray && resource.res.array.array == array);
  EXPECT(settings.filterMode == cudaFilterModeLinear && settings.normalizedCoords == 1);
  CHECK(cudaDestroyTextureObject(texture));
  CHECK(cudaFreeArray(array));
  CHECK(cudaFree(out));
}

void colours() {
  std::vector<uchar4> pixels(16);
  for (int i = 0; i < 16; ++i) pixels[i] = make_uchar4(i, 16 * i, 255 - i, 255);
  const cudaChannelFormatDesc format = cudaCreateChannelDesc<uchar4>();
  cudaArray_t array = nullptr;
  CHECK(cudaMallocArray(&array, &format, 4, 4));
  CHECK(cudaMemcpy2DToArray(array, 0, 0, pixels.data(), 16, 16, 4, cudaMemcpyHostToDevice));
  const cudaTextureObject_t fractions =
      make(array, described(cudaAddressModeClamp, cudaFilterModePoint, false, cudaReadModeNormalizedFloat));
  const cudaTextureObject_t whole = make(array, described(cudaAddressModeClamp, cudaFilterModePoint, false));
  float4* reals = space<float4>(16);
  uchar4* bytes = space<uchar4>(16);
  readColours<<<1, 16>>>(fractions, reals);
  readWhole<<<1, 16>>>(whole, bytes);
  const std::vector<float4> foundReals = download(reals, 16);
  const std::vector<uchar4> foundBytes = download(bytes, 16);
  for (int i = 0; i < 16; ++i) {
    EXPECT(std::fabs(foundReals[i].y - 16 * i / 255.0f) < 1e-5f && foundReals[i].w == 1);
    EXPECT(foundBytes[i].x == i && foundBytes[i].z == 255 - i);
  }
}

void layersAndBoxes() {
  std::vector<int> numbers(4 * 4 * 3);
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = int(i) * 3 - 40;
  const cudaChannelFormatDesc format = cudaCreateChannelDesc<int>();
  cudaArray_t layers = nullptr, box = nullptr;
  CHECK(cudaMalloc3DArray(&layers, &format, make_cudaExtent(4, 4, 3), cudaArrayLayered));
  cudaMemcpy3DParms copy = {};
  copy.srcPtr = make_cudaPitchedPtr(numbers.data(), 16, 4, 4);
  copy.dstArray = layers;
  copy.extent = make_cudaExtent(4, 4, 3);
  copy.kind = cudaMemcpyHostToDevice;
  CHECK(cudaMemcpy3D(&copy));
  int* out = space<int>(48);
  readLayers<<<1, 48>>>(make(layers, described(cudaAddressModeClamp, cudaFilterModePoint, false)), out);
  EXPECT(download(out, 48) == numbers);

  std::vector<float> ramp(4 * 4 * 4);
  for (int i = 0; i < 64; ++i) ramp[i] = float(i % 4) + 10 * float(i / 4 % 4) + 100 * float(i / 16);
  const cudaChannelFormatDesc real = cudaCreateChannelDesc<float>();
  CHECK(cudaMalloc3DArray(&box, &real, make_cudaExtent(4, 4, 4)));
  copy.srcPtr = make_cudaPitchedPtr(ramp.data(), 16, 4, 4);
  copy.dstArray = box;
  copy.extent = make_cudaExtent(4, 4, 4);
  CHECK(cudaMemcpy3D(&copy));
  float* mixed = space<float>(32);
  readBox<<<1, 32>>>(make(box, described(cudaAddressModeClamp, cudaFilterModeLinear, false)), mixed);
  const std::vector<float> found = download(mixed, 32);
  for (int i = 0; i < 32; ++i) {
    const auto along = [](float at) { return std::min(std::max(at - 0.5f, 0.0f), 3.0f); };
    const float wanted = along(i * 0.1f) + 10 * along(i * 0.05f + 0.5f) + 100 * along(i * 0.07f + 0.5f);
    EXPECT(std::fabs(found[i] - wanted) < 0.4f);  // 1/512 of an element in each direction, and rounded weights
  }
}

void linearMemory() {
  std::vector<int2> pairs(1000);
  for (int i = 0; i < 1000; ++i) pairs[i] = make_int2(i, -i);
  int2 *memory = space<int2>(1000), *out = space<int2>(1100);
  CHECK(cudaMemcpy(memory, pairs.data(), 8000, cudaMemcpyHostToDevice));
  cudaResourceDesc resource = {};
  resource.resType = cudaResourceTypeLinear;
  resource.res.linear.devPtr = memory;
  resource.res.linear.desc = cudaCreateChannelDesc<int2>();
  resource.res.linear.sizeInBytes = 8000;
  const cudaTextureDesc settings = described(cudaAddressModeClamp, cudaFilterModePoint, false);
  cudaTextureObject_t texture = 0;
  CHECK(cudaCreateTextureObject(&texture, &resource, &settings, nullptr));
  readLine<<<5, 256>>>(texture, out, 1100);
  const std::vector<int2> found = download(out, 1100);
  for (int i = 0; i < 1100; ++i) EXPECT(found[i].x == (i < 1000 ? i : 0) && found[i].y == (i < 1000 ? -i : 0));
}

void pitchedMemory() {
  std::vector<float> image(kWidth * kHeight);
  for (size_t i = 0; i < image.size(); ++i) image[i] = float(i % 97);
  float* memory = nullptr;
  size_t pitch = 0;
  CHECK(cudaMallocPitch(&memory, &pitch, kWidth * 4, kHeight));
  CHECK(cudaMemcpy2D(memory, pitch, image.data(), kWidth * 4, kWidth * 4, kHeight, cudaMemcpyHostToDevice));
  cudaResourceDesc resource = {};
  resource.resType = cudaResourceTypePitch2D;
  resource.res.pitch2D.devPtr = memory;
  resource.res.pitch2D.desc = cudaCreateChannelDesc<float>();
  resource.res.pitch2D.width = kWidth;
  resource.res.pitch2D.height = kHeight;
  resource.res.pitch2D.pitchInBytes = pitch;
  const cudaTextureDesc settings = described(cudaAddressModeClamp, cudaFilterModePoint, false);
  cudaTextureObject_t texture = 0;
  CHECK(cudaCreateTextureObject(&texture, &resource, &settings, nullptr));
  float* out = space<float>(image.size());
  shift<<<dim3(4, 5), dim3(16, 8)>>>(texture, out, 7, 3);
  const std::vector<float> found = download(out, image.size());
  for (int y = 0; y < kHeight; ++y)
    for (int x = 0; x < kWidth; ++x)
      EXPECT(found[y * kWidth + x] == image[std::min(y + 3, kHeight - 1) * kWidth + std::min(x + 7, kWidth - 1)]);
}

void levels() {
  const cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
  cudaMipmappedArray_t array = nullptr;
  CHECK(cudaMallocMipmappedArray(&array, &format, make_cudaExtent(32, 32, 0), 6));
  for (unsigned l = 0; l < 6; ++l) {
    cudaArray_t level = nullptr;
    CHECK(cudaGetMipmappedArrayLevel(&level, array, l));
    const size_t edge = 32 >> l;
    const std::vector<float> constant(edge * edge, float(l));
    CHECK(cudaMemcpy2DToArray(level, 0, 0, constant.data(), edge * 4, edge * 4, edge, cudaMemcpyHostToDevice));
  }
  cudaResourceDesc resource = {};
  resource.resType = cudaResourceTypeMipmappedArray;
  resource.res.mipmap.mipmap = array;
  cudaTextureDesc settings = described(cudaAddressModeClamp, cudaFilterModeLinear, true);
  settings.mipmapFilterMode = cudaFilterModeLinear;
  settings.maxMipmapLevelClamp = 5;
  cudaTextureObject_t texture = 0;
  CHECK(cudaCreateTextureObject(&texture, &resource, &settings, nullptr));
  float* out = space<float>(24);
  readLevels<<<1, 24>>>(texture, out);
  const std::vector<float> found = download(out, 24);
  for (int i = 0; i < 24; ++i) EXPECT(std::fabs(found[i] - std::min(i * 0.25f, 5.0f)) < 0.01f);
}

void halves() {
  std::vector<__half> numbers;
  for (int i = 0; i < 32; ++i) numbers.push_back(__float2half(i * 0.25f - 3));
  const cudaChannelFormatDesc format = cudaCreateChannelDescHalf();
  cudaArray_t array = nullptr;
  CHECK(cudaMallocArray(&array, &format, 32));
  CHECK(cudaMemcpy2DToArray(array, 0, 0, numbers.data(), 64, 64, 1, cudaMemcpyHostToDevice));
  float* out = space<float>(32);
  readHalves<<<1, 32>>>(make(array, described(cudaAddressModeClamp, cudaFilterModePoint, false)), out);
  const std::vector<float> found = download(out, 32);
  for (int i = 0; i < 32; ++i) EXPECT(found[i] == i * 0.25f - 3);
}

}  // namespace

int main() {
  rotation();
  colours();
  layersAndBoxes();
  linearMemory();
  pitchedMemory();
  levels();
  halves();
  return passed();
}
