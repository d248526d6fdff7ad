// What a timeline costs: a program of 10,000 small launches, whole, without one and with one.
#include <sys/wait.h>
#include <unistd.h>

#include "cases.h"

namespace {

constexpr int kLaunches = 10'000;

// 64 blocks of 128 threads that add a number each: some microseconds.
const char kPtx[] = R"(
.version 7.0
.target sm_50
.address_size 64
.visible .entry add(.param .u64 cells)
{
  .reg .u64 %p;
  .reg .u32 %n, %b;
  .reg .f32 %f;
  ld.param.u64 %p, [cells];
  cvta.to.global.u64 %p, %p;
  mov.u32 %b, %ctaid.x;
  mov.u32 %n, %tid.x;
  mad.lo.u32 %n, %b, 128, %n;
  mad.wide.u32 %p, %n, 4, %p;
  ld.global.f32 %f, [%p];
  add.f32 %f, %f, 0f3F800000;
  st.global.f32 [%p], %f;
  ret;
}
)";

void program() {
  vg::bench::start();
  CUmodule module;
  CUfunction function;
  CUstream stream;
  CUdeviceptr cells;
  vg::bench::check(DRIVER(cuModuleLoadData)(&module, kPtx), "cuModuleLoadData");
  vg::bench::check(DRIVER(cuModuleGetFunction)(&function, module, "add"), "cuModuleGetFunction");
  vg::bench::check(DRIVER(cuStreamCreate)(&stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
  vg::bench::check(DRIVER(cuMemAlloc_v2)(&cells, 64 * 128 * 4), "cuMemAlloc");
  void* parameters[] = {&cells};
  const auto launch = DRIVER(cuLaunchKernel);
  for (int i = 0; i < kLaunches; ++i)
    vg::bench::check(launch(function, 64, 1, 1, 128, 1, 1, 0, stream, parameters, nullptr), "cuLaunchKernel");
  vg::bench::check(DRIVER(cuStreamSynchronize)(stream), "cuStreamSynchronize");
}

// Settings are read once in a process.
void manyLaunches(benchmark::State& state) {
  char file[] = "/tmp/verdigris-timeline-XXXXXX";
  close(mkstemp(file));
  for (auto _ : state) {
    const pid_t child = fork();
    if (!child) {
      if (state.range(0)) setenv("VERDIGRIS_TIMELINE", file, 1);
      program();
      std::exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (status) state.SkipWithError("the program failed");
  }
  unlink(file);
}
BENCHMARK(manyLaunches)->ArgName("timeline")->Arg(0)->Arg(1)->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
