// What checked mode costs: the same two kernels compiled, interpreted and with each tool. Each case is a process of its
// own, because the setting is read once: this program starts itself again with `--child`.
#include <benchmark/benchmark.h>

#include <cstdio>
#include <cstring>
#include <ctime>
#include <string>

#include "cases.h"

namespace {

const char kPtx[] = R"(
.version 7.0
.target sm_75
.address_size 64
.visible .entry add(.param .u64 data)
{
  .reg .u64 %p<4>; .reg .u32 %r<6>; .reg .f32 %f<4>;
  ld.param.u64 %p1, [data];
  mov.u32 %r1, %ctaid.x; mov.u32 %r2, %tid.x; mad.lo.u32 %r3, %r1, 256, %r2;
  mul.wide.u32 %p2, %r3, 4;
  add.u64 %p3, %p1, %p2;
  ld.global.f32 %f1, [%p3];
  ld.global.f32 %f2, [%p3+262144];
  add.f32 %f3, %f1, %f2;
  st.global.f32 [%p3], %f3;
  ret;
}
.visible .entry reduce(.param .u64 data)
{
  .reg .u64 %p<4>; .reg .u32 %r<12>; .reg .pred %q<3>;
  .shared .align 4 .b8 values[1024];
  mov.u32 %r1, %tid.x; shl.b32 %r2, %r1, 2; mov.u32 %r3, values; add.u32 %r4, %r3, %r2;
  st.shared.u32 [%r4], %r1;
  mov.u32 %r5, 128;
LOOP:
  bar.sync 0;
  setp.ge.u32 %q1, %r1, %r5;
  @%q1 bra SKIP;
  shl.b32 %r6, %r5, 2; add.u32 %r7, %r4, %r6;
  ld.shared.u32 %r8, [%r7]; ld.shared.u32 %r9, [%r4]; add.u32 %r10, %r8, %r9;
  st.shared.u32 [%r4], %r10;
SKIP:
  shr.u32 %r5, %r5, 1;
  setp.ne.u32 %q2, %r5, 0;
  @%q2 bra LOOP;
  ret;
}
)";

constexpr unsigned kBlocks = 256, kThreads = 256;

double seconds() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// Prints the shortest time of a launch.
int child(const char* kernel) {
  vg::bench::start();
  CUmodule module;
  CUfunction function;
  CUdeviceptr data;
  vg::bench::check(DRIVER(cuModuleLoadData)(&module, kPtx), "cuModuleLoadData");
  vg::bench::check(DRIVER(cuModuleGetFunction)(&function, module, kernel), "cuModuleGetFunction");
  vg::bench::check(DRIVER(cuMemAlloc_v2)(&data, 1 << 20), "cuMemAlloc");
  vg::bench::check(DRIVER(cuMemsetD32_v2)(data, 0, 1 << 18), "cuMemsetD32");
  void* parameters[] = {&data};
  double best = 1e9;
  for (int round = 0; round < 5; ++round) {
    const double begin = seconds();
    vg::bench::check(DRIVER(cuLaunchKernel)(function, kBlocks, 1, 1, kThreads, 1, 1, 0, nullptr, parameters, nullptr),
                     "cuLaunchKernel");
    vg::bench::check(DRIVER(cuCtxSynchronize)(), "cuCtxSynchronize");
    best = best < seconds() - begin ? best : seconds() - begin;
  }
  std::printf("%.9f\n", best);
  return 0;
}

// `tools`: of checked mode; "" compiled, "interpret" interpreted without.
void launch(benchmark::State& state, const char* kernel, const char* tools) {
  const bool interpret = !std::strcmp(tools, "interpret");
  const std::string command = std::string("VERDIGRIS_CHECK=") + (interpret ? "" : tools) +
                              (interpret ? " VERDIGRIS_KERNELS=interpret" : "") + " VERDIGRIS_WORKERS=1 " + "/proc/" +
                              std::to_string(getpid()) + "/exe --child " + kernel + " 2>/dev/null";
  for (auto _ : state) {
    FILE* const pipe = popen(command.c_str(), "r");
    double time = 0;
    if (std::fscanf(pipe, "%lf", &time) != 1) state.SkipWithError("the child failed");
    pclose(pipe);
    state.SetIterationTime(time);
  }
  state.counters["threads/s"] =
      benchmark::Counter(double{kBlocks} * kThreads, benchmark::Counter::kIsIterationInvariantRate);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3 && !std::strcmp(argv[1], "--child")) return child(argv[2]);
  for (const char* kernel : {"add", "reduce"})
    for (const char* tools : {"", "interpret", "memory", "race", "sync", "init", "all"})
      benchmark::RegisterBenchmark((std::string("check/") + kernel + "/" + (*tools ? tools : "compiled")).c_str(),
                                   launch, kernel, tools)
          ->UseManualTime()
          ->Iterations(3)
          ->Unit(benchmark::kMicrosecond);
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
