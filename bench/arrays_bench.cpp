// Copies between linear memory and arrays and copies of rows, beside memcpy of the same bytes in the same process.
#include <cstring>

#include "cases.h"

namespace {

#define CALL(name, ...) vg::bench::check(DRIVER(name)(__VA_ARGS__), #name)

constexpr size_t kSide = 4096, kRow = kSide * sizeof(float), kBytes = kRow * kSide;

// Two pieces of device memory, touched. The memory of an emulated device is the process's own, so memcpy may use it.
struct Buffers {
  explicit Buffers(size_t bytes) {
    vg::bench::start();
    CALL(cuMemAlloc_v2, &from, bytes);
    CALL(cuMemAlloc_v2, &to, bytes);
    CALL(cuMemsetD8_v2, from, 1, bytes);
    CALL(cuMemsetD8_v2, to, 2, bytes);
    CALL(cuCtxSynchronize);
  }
  ~Buffers() {
    DRIVER(cuMemFree_v2)(from);
    DRIVER(cuMemFree_v2)(to);
  }
  CUdeviceptr from = 0, to = 0;
};

struct Array {
  Array() {
    const CUDA_ARRAY_DESCRIPTOR descriptor{kSide, kSide, CU_AD_FORMAT_FLOAT, 1};
    CALL(cuArrayCreate_v2, &handle, &descriptor);
  }
  ~Array() { DRIVER(cuArrayDestroy)(handle); }
  CUarray handle = nullptr;
};

void measure(benchmark::State& state, const CUDA_MEMCPY2D& box) {
  const auto copy = DRIVER(cuMemcpy2D_v2);
  const auto wait = DRIVER(cuCtxSynchronize);
  for (auto _ : state) {
    vg::bench::check(copy(&box), "cuMemcpy2D");
    vg::bench::check(wait(), "cuCtxSynchronize");
  }
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * box.WidthInBytes * box.Height));
}

void from(CUDA_MEMCPY2D& box, CUdeviceptr memory, size_t pitch) {
  box.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  box.srcDevice = memory;
  box.srcPitch = pitch;
}
void to(CUDA_MEMCPY2D& box, CUdeviceptr memory, size_t pitch) {
  box.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  box.dstDevice = memory;
  box.dstPitch = pitch;
}
void from(CUDA_MEMCPY2D& box, const Array& array) {
  box.srcMemoryType = CU_MEMORYTYPE_ARRAY;
  box.srcArray = array.handle;
}
void to(CUDA_MEMCPY2D& box, const Array& array) {
  box.dstMemoryType = CU_MEMORYTYPE_ARRAY;
  box.dstArray = array.handle;
}
CUDA_MEMCPY2D boxOf(size_t width, size_t height) {
  CUDA_MEMCPY2D box{};
  box.WidthInBytes = width;
  box.Height = height;
  return box;
}

void linearToArray(benchmark::State& state) {
  const Buffers buffers(kBytes);
  const Array array;
  CUDA_MEMCPY2D box = boxOf(kRow, kSide);
  from(box, buffers.from, kRow);
  to(box, array);
  measure(state, box);
}

void arrayToLinear(benchmark::State& state) {
  const Buffers buffers(kBytes);
  const Array array;
  CUDA_MEMCPY2D box = boxOf(kRow, kSide);
  from(box, array);
  to(box, buffers.to, kRow);
  measure(state, box);
}

void arrayToArray(benchmark::State& state) {
  vg::bench::start();
  const Array first, second;
  CUDA_MEMCPY2D box = boxOf(kRow, kSide);
  from(box, first);
  to(box, second);
  measure(state, box);
}

// width, rows, pitch
void rows(benchmark::State& state) {
  const auto width = static_cast<size_t>(state.range(0)), height = static_cast<size_t>(state.range(1));
  const auto pitch = static_cast<size_t>(state.range(2));
  const Buffers buffers(pitch * height);
  CUDA_MEMCPY2D box = boxOf(width, height);
  from(box, buffers.from, pitch);
  to(box, buffers.to, pitch);
  measure(state, box);
}

void plainMemcpy(benchmark::State& state) {
  const auto bytes = static_cast<size_t>(state.range(0));
  const Buffers buffers(bytes);
  for (auto _ : state) {
    std::memcpy(reinterpret_cast<void*>(buffers.to), reinterpret_cast<const void*>(buffers.from), bytes);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * bytes));
}

void createAndDestroy(benchmark::State& state) {
  vg::bench::start();
  for (auto _ : state) const Array array;
}

constexpr int64_t kManyRows = 65535;

BENCHMARK(plainMemcpy)->Name("memcpy")->Arg(kBytes)->Arg(4000 * 8192)->UseRealTime();
BENCHMARK(linearToArray)->Name("linear to array")->UseRealTime();
BENCHMARK(arrayToLinear)->Name("array to linear")->UseRealTime();
BENCHMARK(arrayToArray)->Name("array to array")->UseRealTime();
BENCHMARK(rows)->Args({4000, 8192, 4096})->UseRealTime();
BENCHMARK(rows)->Args({16, kManyRows, 16})->Args({16, kManyRows, 32})->Args({16, kManyRows, 512})->UseRealTime();
BENCHMARK(createAndDestroy)->Name("create and destroy")->UseRealTime();

}  // namespace

BENCHMARK_MAIN();
