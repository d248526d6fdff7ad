// Filters of video frames through textures, in the style of ffmpeg's and others' CUDA filters, beside the same in C:
// each result is compared, then both run in turns. Prints a line for each: name, milliseconds of processor time of the
// kernel and of the C code (medians), and how many times as fast the kernel is.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <random>
#include <vector>

#include "../in_turns.h"
#include "filters.h"

#define PIXEL(width, height)                                                                      \
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y; \
  if (x >= (width) || y >= (height)) return

__device__ static unsigned char byteOf(float share) {
  return static_cast<unsigned char>(fminf(fmaxf(share, 0.0f), 1.0f) * 255 + 0.5f);
}

__global__ void bilinearUp(cudaTextureObject_t in, unsigned char* out, int width, int height, float across,
                           float down) {
  PIXEL(width, height);
  out[y * width + x] = byteOf(tex2D<float>(in, (x + 0.5f) * across, (y + 0.5f) * down));
}

__global__ void bilinearColours(cudaTextureObject_t in, uchar4* out, int width, int height, float across, float down) {
  PIXEL(width, height);
  const float4 c = tex2D<float4>(in, (x + 0.5f) * across, (y + 0.5f) * down);
  out[y * width + x] = make_uchar4(byteOf(c.x), byteOf(c.y), byteOf(c.z), byteOf(c.w));
}

__global__ void bilinearDown(cudaTextureObject_t in, unsigned char* out, int width, int height, float across,
                             float down) {
  PIXEL(width, height);
  const float u = (x + 0.5f) * across, v = (y + 0.5f) * down, du = 0.25f * across, dv = 0.25f * down;
  const float sum = tex2D<float>(in, u - du, v - dv) + tex2D<float>(in, u + du, v - dv) +
                    tex2D<float>(in, u - du, v + dv) + tex2D<float>(in, u + du, v + dv);
  out[y * width + x] = byteOf(sum * 0.25f);
}

__device__ static float4 cubicWeights(float t) {
  return make_float4(((-0.5f * t + 1.0f) * t - 0.5f) * t, (1.5f * t - 2.5f) * t * t + 1.0f,
                     ((-1.5f * t + 2.0f) * t + 0.5f) * t, (0.5f * t - 0.5f) * t * t);
}
__device__ static float cubicRow(cudaTextureObject_t in, float x, float y, float4 w) {
  return w.x * tex2D<float>(in, x - 1, y) + w.y * tex2D<float>(in, x, y) + w.z * tex2D<float>(in, x + 1, y) +
         w.w * tex2D<float>(in, x + 2, y);
}

__global__ void bicubicUp(cudaTextureObject_t in, unsigned char* out, int width, int height, float across, float down) {
  PIXEL(width, height);
  const float u = (x + 0.5f) * across - 0.5f, v = (y + 0.5f) * down - 0.5f, px = floorf(u), py = floorf(v);
  const float4 wx = cubicWeights(u - px), wy = cubicWeights(v - py);
  const float sum = wy.x * cubicRow(in, px, py - 1, wx) + wy.y * cubicRow(in, px, py, wx) +
                    wy.z * cubicRow(in, px, py + 1, wx) + wy.w * cubicRow(in, px, py + 2, wx);
  out[y * width + x] = byteOf(sum);
}

__device__ static int at(cudaTextureObject_t in, int x, int y) { return tex2D<unsigned char>(in, x, y); }
__device__ static int distance(int a, int b) { return abs(a - b); }

__global__ void deinterlace(cudaTextureObject_t before, cudaTextureObject_t now, cudaTextureObject_t after,
                            unsigned char* out, int width, int height) {
  PIXEL(width, height);
  if (y % 2 == 0) {
    out[y * width + x] = at(now, x, y);
    return;
  }
  int above[5], below[5];
  for (int k = 0; k < 5; ++k) above[k] = at(now, x + k - 2, y - 1), below[k] = at(now, x + k - 2, y + 1);
  int best = distance(above[2], below[2]) + distance(above[1], below[1]) + distance(above[3], below[3]) - 1;
  int value = (above[2] + below[2]) >> 1;
  const int left = distance(above[1], below[3]) + distance(above[0], below[2]) + distance(above[2], below[4]);
  if (left < best) value = (above[1] + below[3]) >> 1, best = left;
  const int right = distance(above[3], below[1]) + distance(above[2], below[0]) + distance(above[4], below[2]);
  if (right < best) value = (above[3] + below[1]) >> 1;
  const int old = at(before, x, y), next = at(after, x, y), middle = (old + next) >> 1;
  const int earlier = (distance(at(before, x, y - 1), above[2]) + distance(at(before, x, y + 1), below[2])) >> 1;
  const int later = (distance(at(after, x, y - 1), above[2]) + distance(at(after, x, y + 1), below[2])) >> 1;
  const int change = max(max(distance(old, next) >> 1, earlier >> 1), later >> 1);
  out[y * width + x] = max(min(value, middle + change), middle - change);
}

__global__ void overlay(cudaTextureObject_t frame, cudaTextureObject_t logo, cudaTextureObject_t alpha,
                        unsigned char* out, int width, int height, int left, int top, int logoWidth, int logoHeight) {
  PIXEL(width, height);
  int value = at(frame, x, y);
  const int u = x - left, v = y - top;
  if (u >= 0 && v >= 0 && u < logoWidth && v < logoHeight) {
    const int part = at(alpha, u, v), product = at(logo, u, v) * part + value * (255 - part) + 128;
    value = (product + (product >> 8)) >> 8;
  }
  out[y * width + x] = value;
}

__global__ void chromaKey(cudaTextureObject_t colours, unsigned char* out, int width, int height) {
  PIXEL(width, height);
  float sum = 0;
  for (int v = -1; v <= 1; ++v)
    for (int u = -1; u <= 1; ++u) {
      const float2 c = tex2D<float2>(colours, x + u, y + v);
      const float du = c.x - KEY_U, dv = c.y - KEY_V;
      sum += sqrtf(du * du + dv * dv);
    }
  out[y * width + x] = byteOf((sum * (1.0f / 9) - KEY_SIMILAR) * (1.0f / KEY_BLEND));
}

__global__ void blurWords(cudaTextureObject_t in, unsigned short* out, int width, int height) {
  PIXEL(width, height);
  int sum = 0;
  for (int v = -1; v <= 1; ++v)
    for (int u = -1; u <= 1; ++u) sum += tex2D<unsigned short>(in, x + u, y + v);
  out[y * width + x] = static_cast<unsigned short>(sum * (1.0f / 9) + 0.5f);
}

// A plane in pitched memory, as frames of decoders are, and a texture of it.
class Plane {
 public:
  Plane(const void* pixels, int width, int height, cudaChannelFormatDesc format, bool linear, bool asFractions) {
    const size_t row = size_t(width) * (format.x + format.y + format.z + format.w) / 8;
    size_t pitch = 0;
    CHECK(cudaMallocPitch(&memory_, &pitch, row, height));
    CHECK(cudaMemcpy2D(memory_, pitch, pixels, row, row, height, cudaMemcpyHostToDevice));
    cudaResourceDesc resource{};
    resource.resType = cudaResourceTypePitch2D;
    resource.res.pitch2D.devPtr = memory_;
    resource.res.pitch2D.desc = format;
    resource.res.pitch2D.width = width;
    resource.res.pitch2D.height = height;
    resource.res.pitch2D.pitchInBytes = pitch;
    cudaTextureDesc reads{};
    reads.addressMode[0] = reads.addressMode[1] = cudaAddressModeClamp;
    reads.filterMode = linear ? cudaFilterModeLinear : cudaFilterModePoint;
    reads.readMode = asFractions ? cudaReadModeNormalizedFloat : cudaReadModeElementType;
    CHECK(cudaCreateTextureObject(&texture_, &resource, &reads, nullptr));
  }
  ~Plane() {
    cudaDestroyTextureObject(texture_);
    cudaFree(memory_);
  }
  operator cudaTextureObject_t() const { return texture_; }

 private:
  void* memory_ = nullptr;
  cudaTextureObject_t texture_ = 0;
};

template <class Pixel>
static std::vector<Pixel> noise(size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<Pixel> out(count);
  int value = 0;
  for (Pixel& pixel : out) {  // neighbours are alike, as in pictures
    value += int(random() % 41) - 20;
    pixel = static_cast<Pixel>(value);
  }
  return out;
}

// Compares and times. `tolerance`: by how much a pixel may differ, since weights have other bits.
template <class Pixel>
static void measure(const char* name, size_t pixels, int tolerance, const std::function<void(Pixel*)>& kernel,
                    const std::function<void(Pixel*)>& plain) {
  if (!in_turns::isWanted(name)) return;
  Pixel* device;
  CHECK(cudaMalloc(&device, pixels * sizeof(Pixel)));
  const auto launch = [&] { kernel(device); };
  std::vector<Pixel> wanted(pixels), got(pixels);
  plain(wanted.data());
  for (int round = 0; round < 8; ++round) {  // code for the kernel's textures is made meanwhile
    in_turns::runAndWait(launch);
    const timespec pause{0, 50'000'000};
    nanosleep(&pause, nullptr);
    CHECK(cudaMemcpy(got.data(), device, pixels * sizeof(Pixel), cudaMemcpyDeviceToHost));
    for (size_t n = 0; n < pixels; ++n)
      if (std::abs(int(got[n]) - int(wanted[n])) > tolerance) {
        std::fprintf(stderr, "%s: element %zu is %d and not %d\n", name, n, int(got[n]), int(wanted[n]));
        std::exit(1);
      }
  }
  in_turns::time(
      name, 15, [] {}, launch, [&] { plain(wanted.data()); });
  cudaFree(device);
}

static dim3 blocksOf(int width, int height) { return dim3((width + 31) / 32, (height + 7) / 8); }
static const dim3 kBlock(32, 8);

static void scale() {
  const cudaChannelFormatDesc bytes = cudaCreateChannelDesc<unsigned char>();
  const float across = float(kSmallWidth) / kWidth, down = float(kSmallHeight) / kHeight;
  const auto small = noise<byte>(size_t(kSmallWidth) * kSmallHeight, 1),
             frame = noise<byte>(size_t(kWidth) * kHeight, 2);
  const Plane smooth(small.data(), kSmallWidth, kSmallHeight, bytes, true, true);
  const Plane plain(small.data(), kSmallWidth, kSmallHeight, bytes, false, true);
  const Plane large(frame.data(), kWidth, kHeight, bytes, true, true);
  measure<byte>(
      "bilinearUp", frame.size(), 1,
      [&](byte* out) { bilinearUp<<<blocksOf(kWidth, kHeight), kBlock>>>(smooth, out, kWidth, kHeight, across, down); },
      [&](byte* out) { plainBilinearUp(small.data(), out); });
  measure<byte>(
      "bilinearDown", small.size(), 1,
      [&](byte* out) {
        bilinearDown<<<blocksOf(kSmallWidth, kSmallHeight), kBlock>>>(large, out, kSmallWidth, kSmallHeight, 1 / across,
                                                                      1 / down);
      },
      [&](byte* out) { plainBilinearDown(frame.data(), out); });
  measure<byte>(
      "bicubicUp", frame.size(), 1,
      [&](byte* out) { bicubicUp<<<blocksOf(kWidth, kHeight), kBlock>>>(plain, out, kWidth, kHeight, across, down); },
      [&](byte* out) { plainBicubicUp(small.data(), out); });
  const auto colours = noise<byte>(4 * small.size(), 9);
  const Plane four(colours.data(), kSmallWidth, kSmallHeight, cudaCreateChannelDesc<uchar4>(), true, true);
  measure<byte>(
      "bilinearColours", 4 * frame.size(), 1,
      [&](byte* out) {
        bilinearColours<<<blocksOf(kWidth, kHeight), kBlock>>>(four, reinterpret_cast<uchar4*>(out), kWidth, kHeight,
                                                               across, down);
      },
      [&](byte* out) { plainBilinearColours(colours.data(), out); });
}

static void combine() {
  const cudaChannelFormatDesc bytes = cudaCreateChannelDesc<unsigned char>();
  const auto before = noise<byte>(size_t(kWidth) * kHeight, 3), now = noise<byte>(before.size(), 4),
             after = noise<byte>(before.size(), 5);
  const Plane one(before.data(), kWidth, kHeight, bytes, false, false),
      two(now.data(), kWidth, kHeight, bytes, false, false), three(after.data(), kWidth, kHeight, bytes, false, false);
  measure<byte>(
      "deinterlace", now.size(), 0,
      [&](byte* out) { deinterlace<<<blocksOf(kWidth, kHeight), kBlock>>>(one, two, three, out, kWidth, kHeight); },
      [&](byte* out) { plainDeinterlace(before.data(), now.data(), after.data(), out); });
  const auto logo = noise<byte>(size_t(kLogoWidth) * kLogoHeight, 6), alpha = noise<byte>(logo.size(), 7);
  const Plane over(logo.data(), kLogoWidth, kLogoHeight, bytes, false, false),
      part(alpha.data(), kLogoWidth, kLogoHeight, bytes, false, false);
  measure<byte>(
      "overlay", now.size(), 0,
      [&](byte* out) {
        overlay<<<blocksOf(kWidth, kHeight), kBlock>>>(two, over, part, out, kWidth, kHeight, kLogoX, kLogoY,
                                                       kLogoWidth, kLogoHeight);
      },
      [&](byte* out) { plainOverlay(now.data(), logo.data(), alpha.data(), out); });
  const auto colours = noise<byte>(size_t(2) * kChromaWidth * kChromaHeight, 8);
  const Plane pairs(colours.data(), kChromaWidth, kChromaHeight, cudaCreateChannelDesc<uchar2>(), false, true);
  measure<byte>(
      "chromaKey", size_t(kChromaWidth) * kChromaHeight, 1,
      [&](byte* out) {
        chromaKey<<<blocksOf(kChromaWidth, kChromaHeight), kBlock>>>(pairs, out, kChromaWidth, kChromaHeight);
      },
      [&](byte* out) { plainChromaKey(colours.data(), out); });
  const auto words = noise<unsigned short>(size_t(kWidth) * kHeight, 10);
  const Plane wide(words.data(), kWidth, kHeight, cudaCreateChannelDesc<unsigned short>(), false, false);
  measure<unsigned short>(
      "blurWords", words.size(), 1,
      [&](unsigned short* out) { blurWords<<<blocksOf(kWidth, kHeight), kBlock>>>(wide, out, kWidth, kHeight); },
      [&](unsigned short* out) { plainBlurWords(words.data(), out); });
}

int main(int count, char** arguments) {
  if (count > 1) in_turns::only = arguments[1];
  scale();
  combine();
}
