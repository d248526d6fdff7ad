// Takes a photograph through five stages on the device and writes what each made of it.
//
//   photo_pipeline PHOTO.png OUTPUT_FOLDER [--check]
//
// Stages: luminance of the colours; a Gaussian blur in two passes; edges by Sobel's operator; a histogram; the picture
// with that histogram equalised. --check compares every sample with a plain C++ version of the same stages.
#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "photo_reference.h"

#define CHECK(call)                                                                                 \
  do {                                                                                              \
    const cudaError_t code = (call);                                                                \
    if (code != cudaSuccess) {                                                                      \
      std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(code)); \
      std::exit(1);                                                                                 \
    }                                                                                               \
  } while (0)

constexpr int kTileX = 32, kTileY = 8;

__constant__ float kWeights[2 * kBlurRadius + 1];

__global__ void luminance(const uchar3* rgb, uint8_t* out, int pixels) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= pixels) return;
  const uchar3 p = rgb[i];
  out[i] = uint8_t((77 * p.x + 150 * p.y + 29 * p.z + 128) >> 8);
}

__device__ int nearest(int at, int size) { return min(max(at, 0), size - 1); }

__global__ void blurRows(const uint8_t* in, float* out, int width, int height) {
  __shared__ float tile[kTileY][kTileX + 2 * kBlurRadius];
  const int left = blockIdx.x * kTileX - kBlurRadius, y = blockIdx.y * kTileY + threadIdx.y;
  for (int x = threadIdx.x; x < kTileX + 2 * kBlurRadius; x += kTileX)
    tile[threadIdx.y][x] = in[nearest(y, height) * width + nearest(left + x, width)];
  __syncthreads();
  const int x = blockIdx.x * kTileX + threadIdx.x;
  if (x >= width || y >= height) return;
  float sum = 0;
  for (int k = 0; k <= 2 * kBlurRadius; ++k) sum = fmaf(kWeights[k], tile[threadIdx.y][threadIdx.x + k], sum);
  out[y * width + x] = sum;
}

__global__ void blurColumns(const float* in, uint8_t* out, int width, int height) {
  __shared__ float tile[kTileY + 2 * kBlurRadius][kTileX];
  const int x = blockIdx.x * kTileX + threadIdx.x, top = blockIdx.y * kTileY - kBlurRadius;
  for (int y = threadIdx.y; y < kTileY + 2 * kBlurRadius; y += kTileY)
    tile[y][threadIdx.x] = in[nearest(top + y, height) * width + nearest(x, width)];
  __syncthreads();
  const int y = blockIdx.y * kTileY + threadIdx.y;
  if (x >= width || y >= height) return;
  float sum = 0;
  for (int k = 0; k <= 2 * kBlurRadius; ++k) sum = fmaf(kWeights[k], tile[threadIdx.y + k][threadIdx.x], sum);
  out[y * width + x] = uint8_t(fminf(255, rintf(sum)));
}

__global__ void sobel(const uint8_t* in, uint8_t* out, int width, int height) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  const int left = nearest(x - 1, width), right = nearest(x + 1, width);
  const uint8_t* above = in + nearest(y - 1, height) * width;
  const uint8_t* here = in + y * width;
  const uint8_t* below = in + nearest(y + 1, height) * width;
  const int gx = above[right] + 2 * here[right] + below[right] - above[left] - 2 * here[left] - below[left];
  const int gy = below[left] + 2 * below[x] + below[right] - above[left] - 2 * above[x] - above[right];
  out[y * width + x] = uint8_t(fminf(255, rintf(sqrtf(float(gx * gx + gy * gy)))));
}

__global__ void histogram(const uint8_t* in, int pixels, unsigned* bins) {
  __shared__ unsigned local[256];
  for (int bin = threadIdx.x; bin < 256; bin += blockDim.x) local[bin] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < pixels; i += gridDim.x * blockDim.x)
    atomicAdd(&local[in[i]], 1u);
  __syncthreads();
  for (int bin = threadIdx.x; bin < 256; bin += blockDim.x) atomicAdd(&bins[bin], local[bin]);
}

// One block of 256 threads: the table that maps a sample to its equalised value.
__global__ void equalisingTable(const unsigned* bins, unsigned pixels, uint8_t* table) {
  __shared__ unsigned below[256];
  __shared__ unsigned darkest;
  const int bin = threadIdx.x;
  below[bin] = bins[bin];
  __syncthreads();
  for (int distance = 1; distance < 256; distance *= 2) {
    const unsigned other = bin >= distance ? below[bin - distance] : 0;
    __syncthreads();
    below[bin] += other;
    __syncthreads();
  }
  if (bins[bin] && below[bin] == bins[bin]) darkest = bins[bin];  // the first bin that is not empty
  __syncthreads();
  const unsigned range = max(1u, pixels - darkest);
  table[bin] = below[bin] < darkest ? 0 : uint8_t(((below[bin] - darkest) * 255 + range / 2) / range);
}

__global__ void mapSamples(const uint8_t* in, const uint8_t* table, uint8_t* out, int pixels) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < pixels) out[i] = table[in[i]];
}

// Everything the device holds for one photograph.
struct DevicePhoto {
  int width, height, pixels;
  uchar3* rgb;
  uint8_t *luminance, *blurred, *edges, *equalised, *table;
  float* blurredRows;
  unsigned* bins;

  explicit DevicePhoto(const Photo& photo) : width(photo.width), height(photo.height), pixels(int(photo.pixels())) {
    CHECK(cudaMalloc(&rgb, photo.samples.size()));
    for (uint8_t** plane : {&luminance, &blurred, &edges, &equalised}) CHECK(cudaMalloc(plane, pixels));
    CHECK(cudaMalloc(&table, 256));
    CHECK(cudaMalloc(&blurredRows, pixels * sizeof(float)));
    CHECK(cudaMalloc(&bins, 256 * sizeof(unsigned)));
  }
  ~DevicePhoto() {
    for (void* memory : {(void*)rgb, (void*)luminance, (void*)blurred, (void*)edges, (void*)equalised, (void*)table,
                         (void*)blurredRows, (void*)bins})
      CHECK(cudaFree(memory));
  }

  dim3 tiles() const { return dim3((width + kTileX - 1) / kTileX, (height + kTileY - 1) / kTileY); }
  int rows() const { return (pixels + 255) / 256; }
  std::vector<uint8_t> download(const uint8_t* plane) const {
    std::vector<uint8_t> samples(pixels);
    CHECK(cudaMemcpy(samples.data(), plane, pixels, cudaMemcpyDeviceToHost));
    return samples;
  }
};

struct Stage {
  const char* name;
  std::function<void()> run;
  std::vector<float> milliseconds;
};

static std::vector<Stage> stagesOf(const Photo& photo, DevicePhoto& d) {
  const dim3 tile(kTileX, kTileY);
  return {
      {"copy to device",
       [&] { CHECK(cudaMemcpyAsync(d.rgb, photo.samples.data(), photo.samples.size(), cudaMemcpyHostToDevice)); },
       {}},
      {"luminance", [&] { luminance<<<d.rows(), 256>>>(d.rgb, d.luminance, d.pixels); }, {}},
      {"Gaussian blur",
       [&d, tile] {
         blurRows<<<d.tiles(), tile>>>(d.luminance, d.blurredRows, d.width, d.height);
         blurColumns<<<d.tiles(), tile>>>(d.blurredRows, d.blurred, d.width, d.height);
       },
       {}},
      {"Sobel edges", [&d, tile] { sobel<<<d.tiles(), tile>>>(d.blurred, d.edges, d.width, d.height); }, {}},
      {"histogram",
       [&] {
         CHECK(cudaMemsetAsync(d.bins, 0, 256 * sizeof(unsigned)));
         histogram<<<16, 256>>>(d.luminance, d.pixels, d.bins);
       },
       {}},
      {"equalisation",
       [&] {
         equalisingTable<<<1, 256>>>(d.bins, unsigned(d.pixels), d.table);
         mapSamples<<<d.rows(), 256>>>(d.luminance, d.table, d.equalised, d.pixels);
       },
       {}},
  };
}

static void runTimed(std::vector<Stage>& stages) {
  std::vector<cudaEvent_t> marks(stages.size() + 1);
  for (cudaEvent_t& mark : marks) CHECK(cudaEventCreate(&mark));
  CHECK(cudaEventRecord(marks[0]));
  for (size_t i = 0; i < stages.size(); ++i) {
    stages[i].run();
    CHECK(cudaGetLastError());
    CHECK(cudaEventRecord(marks[i + 1]));
  }
  CHECK(cudaDeviceSynchronize());
  for (size_t i = 0; i < stages.size(); ++i) {
    float milliseconds = 0;
    CHECK(cudaEventElapsedTime(&milliseconds, marks[i], marks[i + 1]));
    stages[i].milliseconds.push_back(milliseconds);
  }
  for (cudaEvent_t mark : marks) CHECK(cudaEventDestroy(mark));
}

static void printTimes(std::vector<Stage>& stages) {
  std::printf("%-16s %12s %18s\n", "stage", "first, ms", "median of rest, ms");
  for (Stage& stage : stages) {
    const float first = stage.milliseconds.front();
    std::vector<float> rest(stage.milliseconds.begin() + 1, stage.milliseconds.end());
    std::nth_element(rest.begin(), rest.begin() + rest.size() / 2, rest.end());
    std::printf("%-16s %12.3f %18.3f\n", stage.name, first, rest[rest.size() / 2]);
  }
}

template <class Samples>
static bool sameSamples(const char* name, const Samples& actual, const Samples& expected, int width) {
  for (size_t i = 0; i < expected.size(); ++i) {
    if (actual[i] == expected[i]) continue;
    std::printf("%s differs at (%zu, %zu): %u, not %u\n", name, i % width, i / width, unsigned(actual[i]),
                unsigned(expected[i]));
    return false;
  }
  std::printf("%s: all %zu values equal the plain C++ version\n", name, expected.size());
  return true;
}

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: %s PHOTO.png OUTPUT_FOLDER [--check]\n", argv[0]);
    return 2;
  }
  const Photo photo = readPng(argv[1]);
  const std::string folder = argv[2];
  cudaDeviceProp device;
  CHECK(cudaGetDeviceProperties(&device, 0));
  std::printf("%s, %d x %d pixels, on %s\n", argv[1], photo.width, photo.height, device.name);

  const BlurWeights weights = blurWeights();
  CHECK(cudaMemcpyToSymbol(kWeights, weights.data(), sizeof weights));
  DevicePhoto d(photo);
  std::vector<Stage> stages = stagesOf(photo, d);
  for (int round = 0; round < 21; ++round) runTimed(stages);
  printTimes(stages);

  reference::Results results{
      d.download(d.luminance), d.download(d.blurred), d.download(d.edges), d.download(d.equalised), {}};
  CHECK(cudaMemcpy(results.histogram.data(), d.bins, sizeof results.histogram, cudaMemcpyDeviceToHost));
  const auto write = [&](const char* name, const std::vector<uint8_t>& samples) {
    writePng(folder + "/" + name, Photo{photo.width, photo.height, 1, samples});
    std::printf("wrote %s/%s\n", folder.c_str(), name);
  };
  write("luminance.png", results.luminance);
  write("blurred.png", results.blurred);
  write("edges.png", results.edges);
  write("equalised.png", results.equalised);

  if (argc < 4 || std::strcmp(argv[3], "--check") != 0) return 0;
  const auto start = std::chrono::steady_clock::now();
  const reference::Results expected = reference::process(photo);
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
  std::printf("the plain C++ version took %.3f ms for all stages\n", took.count());
  bool same = sameSamples("luminance", results.luminance, expected.luminance, photo.width);
  same &= sameSamples("blurred", results.blurred, expected.blurred, photo.width);
  same &= sameSamples("edges", results.edges, expected.edges, photo.width);
  same &= sameSamples("histogram", results.histogram, expected.histogram, 256);
  same &= sameSamples("equalised", results.equalised, expected.equalised, photo.width);
  std::puts(same ? "OK" : "the pictures differ");
  return same ? 0 : 1;
}
