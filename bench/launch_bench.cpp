// What a kernel launch costs around the kernel, through the driver API.
#include <atomic>
#include <thread>

#include "cases.h"

namespace {

const char kPtx[] = R"(
.version 7.0
.target sm_50
.address_size 64
.visible .entry empty() { ret; }
.visible .entry count(.param .u64 cell)
{
  .reg .u64 %p;
  .reg .u32 %n;
  ld.param.u64 %p, [cell];
  cvta.to.global.u64 %p, %p;
  atom.global.add.u32 %n, [%p], 1;
  ret;
}
)";

CUfunction kernel(const char* name) {
  static CUmodule module = [] {
    vg::bench::start();
    CUmodule loaded;
    vg::bench::check(DRIVER(cuModuleLoadData)(&loaded, kPtx), "cuModuleLoadData");
    return loaded;
  }();
  CUfunction function;
  vg::bench::check(DRIVER(cuModuleGetFunction)(&function, module, name), "cuModuleGetFunction");
  return function;
}

CUstream newStream() {
  CUstream stream;
  vg::bench::check(DRIVER(cuStreamCreate)(&stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
  return stream;
}

void launch(CUfunction function, unsigned blocks, CUstream stream, void** parameters = nullptr) {
  static const auto call = DRIVER(cuLaunchKernel);
  vg::bench::check(call(function, blocks, 1, 1, 32, 1, 1, 0, stream, parameters, nullptr), "cuLaunchKernel");
}

void synchronize(CUstream stream) {
  static const auto call = DRIVER(cuStreamSynchronize);
  vg::bench::check(call(stream), "cuStreamSynchronize");
}

void launchAndSynchronize(benchmark::State& state) {
  const CUfunction function = kernel("empty");
  const CUstream stream = newStream();
  for (auto _ : state) {
    launch(function, static_cast<unsigned>(state.range(0)), stream);
    synchronize(stream);
  }
}
BENCHMARK(launchAndSynchronize)->ArgName("blocks")->Arg(1)->Arg(16)->Arg(256)->Arg(4096)->Arg(65536)->UseRealTime();

// Launches that follow each other without a wait, with one parameter.
void launchAfterLaunch(benchmark::State& state) {
  const CUfunction function = kernel("count");
  const CUstream stream = newStream();
  CUdeviceptr cell;
  vg::bench::check(DRIVER(cuMemAlloc_v2)(&cell, 4), "cuMemAlloc");
  void* parameters[] = {&cell};
  for (auto _ : state) launch(function, static_cast<unsigned>(state.range(0)), stream, parameters);
  synchronize(stream);
}
BENCHMARK(launchAfterLaunch)->ArgName("blocks")->Arg(1)->Arg(16)->UseRealTime();

// The launch alone while the stream is busy: what is queued runs between the batches, untimed.
void launchOnBusyStream(benchmark::State& state) {
  constexpr int kBatch = 256;
  const CUfunction function = kernel("empty");
  const CUstream stream = newStream();
  std::atomic<bool> open{false};
  while (state.KeepRunningBatch(kBatch)) {
    state.PauseTiming();
    open = false;
    const auto wait = [](void* raw) {
      while (!static_cast<std::atomic<bool>*>(raw)->load()) std::this_thread::yield();
    };
    vg::bench::check(DRIVER(cuLaunchHostFunc)(stream, wait, &open), "cuLaunchHostFunc");
    state.ResumeTiming();
    for (int i = 0; i < kBatch; ++i) launch(function, 1, stream);
    state.PauseTiming();
    open = true;
    synchronize(stream);
    state.ResumeTiming();
  }
}
BENCHMARK(launchOnBusyStream);

}  // namespace

BENCHMARK_MAIN();
