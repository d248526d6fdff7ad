// The kernels as plain loops for OpenMP, as someone would write them who has no GPU and a vectorising compiler.
#include <omp.h>

#include "kernels.h"

using namespace kernels;

static void timeVectorAdd() {
  const auto a = floats(kAddSize, 1), b = floats(kAddSize, 2);
  std::vector<float> c(kAddSize);
  const auto run = [&] {
    const float *pa = a.data(), *pb = b.data();
    float* pc = c.data();
#pragma omp parallel for simd
    for (int i = 0; i < kAddSize; ++i) pc[i] = pa[i] + pb[i];
  };
  report("vectorAdd", kAddBytes, "GB/s", run);
}

static void timeDivergentSaxpy() {
  const auto x = floats(kSaxpySize, 3);
  auto y = floats(kSaxpySize, 4);
  const auto run = [&] {
    const float* px = x.data();
    float* py = y.data();
#pragma omp parallel for simd
    for (int i = 0; i < kSaxpySize; ++i)
      if (px[i] > 0) py[i] = kSaxpyFactor * px[i] + py[i];
  };
  report("divergentSaxpy", kSaxpySize, "Gelem/s", run);
}

static void timeStencil() {
  const auto in = floats(kStencilSide * kStencilSide, 5);
  std::vector<float> out(in.size());
  const auto run = [&] {
    const int n = kStencilSide;
    const float* from = in.data();
    float* to = out.data();
#pragma omp parallel for
    for (int y = 1; y < n - 1; ++y) {
#pragma omp simd
      for (int x = 1; x < n - 1; ++x) {
        const int i = y * n + x;
        to[i] = 0.2f * (from[i] + from[i - 1] + from[i + 1] + from[i - n] + from[i + n]);
      }
    }
  };
  run();
  expectNear("stencil", out, stencilOf(in), 1e-6);
  report("stencil", kStencilFlops, "GFLOP/s", run);
  report("stencil16", kStencilFlops, "GFLOP/s", run);
}

static void timeSgemm() {
  const auto a = floats(kGemmSide * kGemmSide, 6), b = floats(kGemmSide * kGemmSide, 7);
  std::vector<float> c(a.size());
  const auto run = [&] {
    const int n = kGemmSide;
    const float *pa = a.data(), *pb = b.data();
    float* pc = c.data();
#pragma omp parallel for
    for (int i = 0; i < n; ++i) {
      std::fill_n(pc + i * n, n, 0.0f);
      for (int k = 0; k < n; ++k) {
        const float factor = pa[i * n + k];
#pragma omp simd
        for (int j = 0; j < n; ++j) pc[i * n + j] += factor * pb[k * n + j];
      }
    }
  };
  run();
  expectNear("sgemm", c, productOf(a, b), 1e-3);
  report("sgemm", kGemmFlops, "GFLOP/s", run);
  report("sgemm16", kGemmFlops, "GFLOP/s", run);
}

static void timeTransposition() {
  const auto in = floats(kStencilSide * kStencilSide, 13);
  std::vector<float> out(in.size());
  const auto run = [&] {
    const int n = kStencilSide, tile = 16;
    const float* from = in.data();
    float* to = out.data();
#pragma omp parallel for collapse(2)
    for (int y = 0; y < n; y += tile)
      for (int x = 0; x < n; x += tile)
        for (int row = x; row < x + tile; ++row) {
#pragma omp simd
          for (int column = y; column < y + tile; ++column) to[row * n + column] = from[column * n + row];
        }
  };
  run();
  expectNear("transpose16", out, transposed(in), 0);
  report("transpose16", kTransposeBytes, "GB/s", run);
}

static void timeBlockReduction() {
  const auto in = floats(kReduceSize, 8);
  std::vector<float> out(kReduceSize / kReduceBlock);
  const auto run = [&] {
    const float* from = in.data();
    float* to = out.data();
#pragma omp parallel for
    for (int block = 0; block < kReduceSize / kReduceBlock; ++block) {
      float sum = 0;
#pragma omp simd reduction(+ : sum)
      for (int i = 0; i < kReduceBlock; ++i) sum += from[block * kReduceBlock + i];
      to[block] = sum;
    }
  };
  run();
  expectNear("blockReduction", out, blockSums(in), 1e-3);
  report("blockReduction", kReduceBytes, "GB/s", run);
}

static void timeHistogram() {
  const auto in = words(kHistogramSize, kBins, 9);
  std::vector<unsigned> bins(kBins);
  const auto runPrivate = [&] {
    const unsigned* from = in.data();
    unsigned* all = bins.data();
#pragma omp parallel
    {
      unsigned own[kBins] = {};
#pragma omp for
      for (int i = 0; i < kHistogramSize; ++i) ++own[from[i]];
      for (int bin = 0; bin < kBins; ++bin) {
#pragma omp atomic
        all[bin] += own[bin];
      }
    }
  };
  runPrivate();
  expectNear("histogram", bins, histogramOf(in), 0);
  report("histogramShared", kHistogramSize, "Gelem/s", runPrivate);
  const auto runAtomic = [&] {
    const unsigned* from = in.data();
    unsigned* all = bins.data();
#pragma omp parallel for
    for (int i = 0; i < kHistogramSize; ++i) {
#pragma omp atomic
      ++all[from[i]];
    }
  };
  std::fill(bins.begin(), bins.end(), 0);
  runAtomic();
  expectNear("histogram", bins, histogramOf(in), 0);
  report("histogramGlobal", kHistogramSize, "Gelem/s", runAtomic);
}

static void timeGather() {
  const auto table = floats(kGatherSize, 10);
  const auto index = words(kGatherSize, kGatherSize, 11);
  std::vector<float> out(kGatherSize);
  const auto run = [&] {
    const float* from = table.data();
    const unsigned* at = index.data();
    float* to = out.data();
#pragma omp parallel for simd
    for (int i = 0; i < kGatherSize; ++i) to[i] = from[at[i]];
  };
  report("gather", kGatherSize, "Gelem/s", run);
}

static void timeMandelbrot() {
  std::vector<int> out(kMandelbrotSide * kMandelbrotSide);
  const auto run = [&] {
    int* to = out.data();
#pragma omp parallel for schedule(dynamic, 4)
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
        to[py * kMandelbrotSide + px] = round;
      }
  };
  run();
  expectMandelbrot(out);
  report("mandelbrot", roundsOf(out), "Giter/s", run);
}

static void timeTexture() {
  const auto in = floats(kPictureSide * kPictureSide, 12);
  std::vector<float> out(in.size());
  const auto run = [&] {
    const float* from = in.data();
    float* to = out.data();
    const float c = std::cos(kPictureAngle), s = std::sin(kPictureAngle);
#pragma omp parallel for
    for (int y = 0; y < kPictureSide; ++y) {
#pragma omp simd
      for (int x = 0; x < kPictureSide; ++x) {
        const float u = (x + 0.5f) / kPictureSide - 0.5f, v = (y + 0.5f) / kPictureSide - 0.5f;
        to[y * kPictureSide + x] = mixedAt(from, u * c - v * s + 0.5f, v * c + u * s + 0.5f);
      }
    }
  };
  run();
  expectNear("textureLinear", out, turned(in), 1e-4);
  report("textureLinear", kPictureSide * kPictureSide, "Gelem/s", run);
}

int main() {
  timeVectorAdd();
  timeDivergentSaxpy();
  timeStencil();
  timeSgemm();
  timeTransposition();
  timeBlockReduction();
  timeHistogram();
  timeGather();
  timeMandelbrot();
  timeTexture();
  return 0;
}
