// What the kernel benchmarks share: thirteen kernels by name, their sizes and inputs, the right results, and the clock.
// Each program implements all in its own way (CUDA, OpenMP; OpenCL nine of them), proves each result once and then
// times it. Names that end in 16 are of kernels in blocks of 16 x 16 threads.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <random>
#include <string>
#include <vector>

namespace kernels {

constexpr int kAddSize = 1 << 24;     // vectorAdd
constexpr int kSaxpySize = 1 << 20;   // divergent saxpy
constexpr int kStencilSide = 1024;    // 5-point stencil
constexpr int kGemmSide = 768;        // sgemm
constexpr int kReduceSize = 1 << 20;  // block reduction
constexpr int kReduceBlock = 256;     // ... of so many elements each
constexpr int kHistogramSize = 1 << 22;
constexpr int kBins = 256;
constexpr int kGatherSize = 1 << 20;
constexpr int kMandelbrotSide = 512;
constexpr int kMandelbrotRounds = 256;
constexpr int kPictureSide = 1024;  // a picture turned by linear reads of a texture that repeats itself
constexpr float kPictureAngle = 0.5f;
constexpr float kSaxpyFactor = 0.001f;

inline std::vector<float> floats(size_t size, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> distribution(-1, 1);
  std::vector<float> values(size);
  for (float& value : values) value = distribution(random);
  return values;
}

inline std::vector<unsigned> words(size_t size, unsigned below, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<unsigned> values(size);
  for (unsigned& value : values) value = random() % below;
  return values;
}

[[noreturn]] inline void giveUp(const char* what, size_t at = 0) {
  std::fprintf(stderr, "%s (element %zu)\n", what, at);
  std::exit(1);
}

template <class T>
void expectNear(const char* kernel, const std::vector<T>& actual, const std::vector<T>& expected, double tolerance) {
  if (actual.size() != expected.size()) giveUp(kernel);
  for (size_t i = 0; i < actual.size(); ++i)
    if (!(std::fabs(double(actual[i]) - double(expected[i])) <= tolerance)) giveUp(kernel, i);
}

// Right results, by loops that are plain rather than fast.
inline std::vector<float> stencilOf(const std::vector<float>& in) {
  std::vector<float> out(in.size());
  const int n = kStencilSide;
  for (int y = 1; y < n - 1; ++y)
    for (int x = 1; x < n - 1; ++x) {
      const int i = y * n + x;
      out[i] = 0.2f * (in[i] + in[i - 1] + in[i + 1] + in[i - n] + in[i + n]);
    }
  return out;
}

inline std::vector<float> productOf(const std::vector<float>& a, const std::vector<float>& b) {
  const int n = kGemmSide;
  std::vector<float> c(size_t(n) * n, 0);
  for (int i = 0; i < n; ++i)
    for (int k = 0; k < n; ++k)
      for (int j = 0; j < n; ++j) c[i * n + j] += a[i * n + k] * b[k * n + j];
  return c;
}

inline std::vector<float> transposed(const std::vector<float>& in) {
  std::vector<float> out(in.size());
  for (int y = 0; y < kStencilSide; ++y)
    for (int x = 0; x < kStencilSide; ++x) out[x * kStencilSide + y] = in[y * kStencilSide + x];
  return out;
}

inline std::vector<float> blockSums(const std::vector<float>& in) {
  std::vector<float> sums(kReduceSize / kReduceBlock, 0);
  for (int i = 0; i < kReduceSize; ++i) sums[i / kReduceBlock] += in[i];
  return sums;
}

inline std::vector<unsigned> histogramOf(const std::vector<unsigned>& in) {
  std::vector<unsigned> bins(kBins, 0);
  for (unsigned value : in) ++bins[value];
  return bins;
}

// What a texture unit reads at (u, v), 0 to 1: the four elements around, mixed.
inline float mixedAt(const float* picture, float u, float v) {
  const int n = kPictureSide;
  const float x = (u - std::floor(u)) * n - 0.5f, y = (v - std::floor(v)) * n - 0.5f;
  const float left = std::floor(x), top = std::floor(y), a = x - left, b = y - top;
  const int x0 = (int(left) + n) % n, y0 = (int(top) + n) % n, x1 = (x0 + 1) % n, y1 = (y0 + 1) % n;
  const float upper = picture[y0 * n + x0] * (1 - a) + picture[y0 * n + x1] * a;
  const float lower = picture[y1 * n + x0] * (1 - a) + picture[y1 * n + x1] * a;
  return upper * (1 - b) + lower * b;
}

inline std::vector<float> turned(const std::vector<float>& picture) {
  std::vector<float> out(picture.size());
  const float c = std::cos(kPictureAngle), s = std::sin(kPictureAngle);
  for (int y = 0; y < kPictureSide; ++y)
    for (int x = 0; x < kPictureSide; ++x) {
      const float u = (x + 0.5f) / kPictureSide - 0.5f, v = (y + 0.5f) / kPictureSide - 0.5f;
      out[y * kPictureSide + x] = mixedAt(picture.data(), u * c - v * s + 0.5f, v * c + u * s + 0.5f);
    }
  return out;
}

inline double roundsOf(const std::vector<int>& picture) {
  double sum = 0;
  for (int rounds : picture) sum += rounds;
  return sum;
}

// A few rounds may differ: multiplies and adds are fused in one implementation and not in another.
inline void expectMandelbrot(const std::vector<int>& actual) {
  std::vector<int> expected(actual.size());
  int different = 0;
  for (int py = 0; py < kMandelbrotSide; ++py)
    for (int px = 0; px < kMandelbrotSide; ++px) {
      const float cx = -2.0f + px * (3.0f / kMandelbrotSide), cy = -1.5f + py * (3.0f / kMandelbrotSide);
      float x = 0, y = 0;
      int round = 0;
      for (; round < kMandelbrotRounds && x * x + y * y <= 4; ++round) {
        const float next = x * x - y * y + cx;
        y = 2 * x * y + cy;
        x = next;
      }
      different += actual[py * kMandelbrotSide + px] != round;
    }
  if (different > kMandelbrotSide * kMandelbrotSide / 100) giveUp("mandelbrot", different);
}

// Seconds since some moment: that passed, or with BENCH_CLOCK=process that processors spent on this process, which
// compares ways to run one program on a machine that others use, too.
inline double now() {
  static const bool ofProcess = std::getenv("BENCH_CLOCK") != nullptr;
  timespec time{};
  clock_gettime(ofProcess ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &time);
  return double(time.tv_sec) + 1e-9 * double(time.tv_nsec);
}

// Runs `once` until enough has been seen and prints "KERNEL RATE UNIT", the median rate of `work` per run. BENCH_ONLY
// in the environment names the one kernel to time.
template <class Run>
void report(const char* kernel, double work, const char* unit, Run once) {
  const char* const only = std::getenv("BENCH_ONLY");
  if (only && std::string(only) != kernel) return;
  once();
  once();
  std::vector<double> seconds;
  const double start = now();
  const auto enough = [&](size_t runs, double time) { return seconds.size() >= runs && now() - start >= time; };
  while (!enough(15, 0.8) && !enough(3, 5) && seconds.size() < 2000) {
    const double before = now();
    once();
    seconds.push_back(now() - before);
  }
  std::nth_element(seconds.begin(), seconds.begin() + seconds.size() / 2, seconds.end());
  std::printf("%s %.4g %s\n", kernel, work / seconds[seconds.size() / 2] / 1e9, unit);
  std::fflush(stdout);
}

constexpr double kAddBytes = 12.0 * kAddSize;
constexpr double kStencilFlops = 5.0 * kStencilSide * kStencilSide;
constexpr double kGemmFlops = 2.0 * kGemmSide * kGemmSide * kGemmSide;
constexpr double kReduceBytes = 4.0 * kReduceSize;
constexpr double kTransposeBytes = 8.0 * kStencilSide * kStencilSide;

}  // namespace kernels
