// Code quality of compiled kernels on one core, without the rest of the library, next to the plain loop that a C++
// compiler makes of the same work. The kernels are bench/kernels/cuda_kernels.cu as nvcc compiled them.
// Then what making each of them costs, stage by stage. The library is found where the build puts it, or named in
// VERDIGRIS_PTX_LIBRARY.
#include <benchmark/benchmark.h>
#include <dlfcn.h>
#include <sys/mman.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "ptx/abi/engine.h"
#include "ptx/abi/kernel_blob.h"

namespace {

using namespace vg::ptx;

std::string featuresOfThisMachine() {
  __builtin_cpu_init();
  std::string features = "+sse4.2,+popcnt";
  if (__builtin_cpu_supports("avx2")) features += ",+avx2,+fma,+f16c,+bmi,+bmi2,+lzcnt";
  if (__builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq"))
    features += ",+avx512f,+avx512bw,+avx512dq,+avx512vl,+avx512cd";
  return features;
}

struct Kernel {
  KernelEntry entry = nullptr;
  KernelTraits traits;
  std::string problem;
};

EngineCompile engine(EngineRelease& release) {
  static void* const library = [] {
    if (const char* path = std::getenv("VERDIGRIS_PTX_LIBRARY")) return dlopen(path, RTLD_NOW);
    const auto self = std::filesystem::read_symlink("/proc/self/exe");
    return dlopen((self.parent_path().parent_path() / "lib/libverdigris_ptx.so").c_str(), RTLD_NOW);
  }();
  if (!library) return nullptr;
  release = reinterpret_cast<EngineRelease>(dlsym(library, kEngineReleaseSymbol));
  return reinterpret_cast<EngineCompile>(dlsym(library, kEngineCompileSymbol));
}

// The text of a kernel alone: what comes before the first one, and the kernel.
std::string textOf(const char* name) {
  std::ifstream file(VG_BENCH_DATA "/codegen_kernels.ptx");
  const std::string all((std::istreambuf_iterator<char>(file)), {});
  const size_t first = all.find(".visible .entry"), at = all.find(std::string(".visible .entry ") + name);
  return all.substr(0, first) + all.substr(at, all.find("\n}", at) + 3 - at);
}

struct Source {
  std::string text, features = featuresOfThisMachine();
  EngineText part{};
  CompileRequest request{};

  Source(const char* name, std::string content, BlockShape shape, bool fullWarps) : text(std::move(content)) {
    part = {text.data(), text.size()};
    request.texts = &part;
    request.textCount = 1;
    request.entry = name;
    request.shape = shape;
    request.fullWarps = fullWarps;
    request.cpu = features.find("avx512") != std::string::npos ? "x86-64-v4" : "x86-64-v3";
    request.features = features.c_str();
    request.dumpDirectory = std::getenv("VERDIGRIS_DUMP");
  }
};

Kernel compile(const char* name, BlockShape shape, bool fullWarps) {
  Kernel kernel;
  EngineRelease release;
  const EngineCompile make = engine(release);
  if (!make) return kernel.problem = "no libverdigris_ptx.so", kernel;
  const Source source(name, textOf(name), shape, fullWarps);
  CompileResult result{};
  if (make(&source.request, &result) != CUDA_SUCCESS) return kernel.problem = result.log ? result.log : "?", kernel;
  auto blob = decode(result.blob, result.blobSize);
  release(&result);
  const size_t size = (blob->code.size() + 4095) & ~size_t{4095};
  void* const memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  std::memcpy(memory, blob->code.data(), blob->code.size());
  mprotect(memory, size, PROT_READ | PROT_EXEC);
  kernel.entry = reinterpret_cast<KernelEntry>(static_cast<uint8_t*>(memory) + blob->entryOffset);
  kernel.traits = blob->traits;
  return kernel;
}

struct Dim {
  uint32_t x = 1, y = 1;
};

void runGrid(const Kernel& kernel, Dim grid, Dim block, const void* parameters) {
  static const RuntimeCalls calls{};
  KernelLaunch launch{};
  launch.parameters = static_cast<const std::byte*>(parameters);
  launch.gridSize[0] = grid.x, launch.gridSize[1] = grid.y, launch.gridSize[2] = 1;
  launch.blockSize[0] = block.x, launch.blockSize[1] = block.y, launch.blockSize[2] = 1;
  launch.threadsPerBlock = block.x * block.y;
  launch.warpsPerBlock = (launch.threadsPerBlock + 31) / 32;
  launch.calls = &calls;
  alignas(1024) static std::byte shared[65536];
  BlockState state{};
  state.launch = &launch;
  state.shared = shared;
  state.sharedLimit = sizeof shared;
  state.blocks = 1;
  alignas(64) static std::byte frames[65536];
  if (frameMemory(kernel.traits, launch.warpsPerBlock) > sizeof frames) std::abort();
  state.frames = frames;
  for (uint32_t y = 0; y < grid.y; ++y)
    for (uint32_t x = 0; x < grid.x; ++x) {
      state.blockIndex[0] = x, state.blockIndex[1] = y;
      kernel.entry(&state, 0, launch.warpsPerBlock);
    }
}

std::vector<float> randomFloats(size_t n, float low, float high) {
  std::mt19937 random(7);
  std::uniform_real_distribution<float> distribution(low, high);
  std::vector<float> out(n);
  for (float& v : out) v = distribution(random);
  return out;
}

constexpr int kElements = 1 << 18;

template <class Body>
void measure(benchmark::State& state, double work, const char* unit, Body&& body) {
  for (auto _ : state) {
    body();
    benchmark::ClobberMemory();
  }
  state.counters[unit] =
      benchmark::Counter(work * static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
}

// Whether two sums of the same numbers are alike; of a fractal a pixel in two hundred may lie on the other side.
template <class T>
bool alike(const std::vector<T>& a, const std::vector<T>& b) {
  size_t apart = 0;
  for (size_t n = 0; n < a.size(); ++n)
    apart += std::abs(double(a[n]) - double(b[n])) > 1e-5 * (1 + std::abs(double(b[n])));
  return apart <= a.size() / 200;
}

// A kernel, whose results have to be the loop's, or the loop.
template <class T, class Loop, class Launch>
void compete(benchmark::State& state, bool compiled, double work, const char* unit, std::vector<T>& out, Loop&& loop,
             const char* name, Launch&& launch) {
  if (!compiled) return measure(state, work, unit, loop);
  const Kernel kernel = compile(name, BlockShape::RowsOf32, true);
  if (!kernel.entry) return state.SkipWithError(kernel.problem.c_str());
  const std::vector<T> before = out;
  loop();
  const std::vector<T> expected = std::exchange(out, before);
  launch(kernel);
  if (!alike(out, expected)) return state.SkipWithError("the kernel's results are wrong");
  measure(state, work, unit, [&] { launch(kernel); });
}

#define VG_PAIR(name)                                  \
  BENCHMARK_CAPTURE(name, kernel, true)->MinTime(0.3); \
  BENCHMARK_CAPTURE(name, loop, false)->MinTime(0.3)

void vectorAdd(benchmark::State& state, bool compiled) {
  const auto a = randomFloats(kElements, -1, 1), b = randomFloats(kElements, -1, 1);
  std::vector<float> c(kElements);
  const auto loop = [&] {
    for (int i = 0; i < kElements; ++i) c[i] = a[i] + b[i];
  };
  const auto launch = [&](const Kernel& kernel) {
    struct {
      const float *a, *b;
      float* c;
      int n;
    } p{a.data(), b.data(), c.data(), kElements};
    runGrid(kernel, {kElements / 256, 1}, {256, 1}, &p);
  };
  compete(state, compiled, 12.0 * kElements, "bytes/s", c, loop, "_Z9vectorAddPKfS0_Pfi", launch);
}
VG_PAIR(vectorAdd);

void saxpyPositive(benchmark::State& state, bool compiled) {
  const auto x = randomFloats(kElements, -1, 1);
  std::vector<float> y(kElements, 1.0f);
  const auto loop = [&] {
    for (int i = 0; i < kElements; ++i)
      if (x[i] > 0) y[i] = 1e-3f * x[i] + y[i];
  };
  const auto launch = [&](const Kernel& kernel) {
    struct {
      const float* x;
      float *y, a;
      int n;
    } p{x.data(), y.data(), 1e-3f, kElements};
    runGrid(kernel, {kElements / 256, 1}, {256, 1}, &p);
  };
  compete(state, compiled, kElements, "elements/s", y, loop, "_Z13saxpyPositivePKfPffi", launch);
}
VG_PAIR(saxpyPositive);

void stencil(benchmark::State& state, bool compiled) {
  constexpr int n = 512;
  const auto in = randomFloats(n * n, -1, 1);
  std::vector<float> out(n * n);
  const auto loop = [&] {
    for (int y = 1; y < n - 1; ++y)
      for (int x = 1; x < n - 1; ++x) {
        const float* const p = &in[y * n + x];
        out[y * n + x] = 0.2f * (p[0] + p[-1] + p[1] + p[-n] + p[n]);
      }
  };
  const auto launch = [&](const Kernel& kernel) {
    struct {
      const float* in;
      float* out;
      int n;
    } p{in.data(), out.data(), n};
    runGrid(kernel, {n / 32, n / 8}, {32, 8}, &p);
  };
  compete(state, compiled, double{n} * n, "cells/s", out, loop, "_Z7stencilPKfPfi", launch);
}
VG_PAIR(stencil);

void gather(benchmark::State& state, bool compiled) {
  const auto table = randomFloats(kElements, -1, 1);
  std::vector<unsigned> index(kElements);
  std::iota(index.begin(), index.end(), 0u);
  std::shuffle(index.begin(), index.end(), std::mt19937(3));
  std::vector<float> out(kElements);
  const auto loop = [&] {
    for (int i = 0; i < kElements; ++i) out[i] = table[index[i]];
  };
  const auto launch = [&](const Kernel& kernel) {
    struct {
      const float* table;
      const unsigned* index;
      float* out;
      int n;
    } p{table.data(), index.data(), out.data(), kElements};
    runGrid(kernel, {kElements / 256, 1}, {256, 1}, &p);
  };
  compete(state, compiled, kElements, "elements/s", out, loop, "_Z6gatherPKfPKjPfi", launch);
}
VG_PAIR(gather);

void sgemm(benchmark::State& state, bool compiled) {
  constexpr int n = 256;
  const auto a = randomFloats(n * n, -1, 1), b = randomFloats(n * n, -1, 1);
  std::vector<float> c(n * n);
  const auto loop = [&] {
    std::fill(c.begin(), c.end(), 0.0f);
    for (int row = 0; row < n; ++row)
      for (int k = 0; k < n; ++k)
        for (int column = 0; column < n; ++column) c[row * n + column] += a[row * n + k] * b[k * n + column];
  };
  const auto launch = [&](const Kernel& kernel) {
    struct {
      const float *a, *b;
      float* c;
      int n;
    } p{a.data(), b.data(), c.data(), n};
    runGrid(kernel, {n / 32, n / 32}, {32, 32}, &p);
  };
  compete(state, compiled, 2.0 * n * n * n, "operations/s", c, loop, "_Z5sgemmPKfS0_Pfi", launch);
}
VG_PAIR(sgemm);

void mandelbrot(benchmark::State& state, bool compiled) {
  constexpr int side = 256, limit = 256;
  std::vector<int> out(side * side);
  const auto loop = [&] {
    for (int y = 0; y < side; ++y)
      for (int x = 0; x < side; ++x) {
        const float cx = -2.0f + x * (3.0f / side), cy = -1.5f + y * (3.0f / side);
        float zx = 0, zy = 0;
        int k = 0;
        while (k < limit && zx * zx + zy * zy <= 4.0f) {
          const float t = zx * zx - zy * zy + cx;
          zy = 2 * zx * zy + cy;
          zx = t;
          ++k;
        }
        out[y * side + x] = k;
      }
  };
  const auto launch = [&](const Kernel& kernel) {
    struct {
      int *out, side, limit;
    } p{out.data(), side, limit};
    runGrid(kernel, {side / 32, side / 8}, {32, 8}, &p);
  };
  compete(state, compiled, side * side, "pixels/s", out, loop, "_Z10mandelbrotPiii", launch);
}
VG_PAIR(mandelbrot);

// --- What making them costs -----------------------------------------------------------------------------------------

void make(benchmark::State& state, const char* name) {
  EngineRelease release;
  const EngineCompile compileIt = engine(release);
  if (!compileIt) return state.SkipWithError("no libverdigris_ptx.so");
  const Source source(name, textOf(name), BlockShape::RowsOf32, true);
  constexpr const char* kPhases[] = {"parse", "analyse", "emit", "optimise", "generate", "link"};
  double phases[std::size(kPhases)] = {};
  size_t bytes = 0;
  for (auto _ : state) {
    CompileResult result{};
    if (compileIt(&source.request, &result) != CUDA_SUCCESS) return state.SkipWithError("does not compile");
    for (size_t n = 0; n < std::size(kPhases); ++n) phases[n] += result.microseconds[n];
    bytes = result.blobSize;
    release(&result);
  }
  for (size_t n = 0; n < std::size(kPhases); ++n)
    state.counters[std::string(kPhases[n]) + " us"] = phases[n] / static_cast<double>(state.iterations());
  state.counters["blob bytes"] = static_cast<double>(bytes);
}
BENCHMARK_CAPTURE(make, vectorAdd, "_Z9vectorAddPKfS0_Pfi")->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK_CAPTURE(make, stencil, "_Z7stencilPKfPfi")->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK_CAPTURE(make, sgemm, "_Z5sgemmPKfS0_Pfi")->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK_CAPTURE(make, blockReduction, "_Z11blockReducePKfPf")->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK_CAPTURE(make, histogram, "_Z15histogramSharedPKjPji")->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK_CAPTURE(make, mandelbrot, "_Z10mandelbrotPiii")->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace

BENCHMARK_MAIN();
