// What a timeline costs, and a profiler: a program of 10,000 small launches, whole, without one and with one.
#include <sys/wait.h>
#include <unistd.h>

#include "cases.h"
#include "cupti/cupti.h"

namespace {

using namespace vg::cupti;  // their names are those of the interface

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

// Settings are read once in a process, so each run has one of its own.
template <class Run>
void inProcesses(benchmark::State& state, Run run) {
  for (auto _ : state) {
    const pid_t child = fork();
    if (!child) {
      run();
      std::exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (status) state.SkipWithError("the program failed");
  }
}

void manyLaunches(benchmark::State& state) {
  char file[] = "/tmp/verdigris-timeline-XXXXXX";
  close(mkstemp(file));
  inProcesses(state, [&] {
    if (state.range(0)) setenv("VERDIGRIS_TIMELINE", file, 1);
    program();
  });
  unlink(file);
}
BENCHMARK(manyLaunches)->ArgName("timeline")->Arg(0)->Arg(1)->UseRealTime()->Unit(benchmark::kMillisecond);

// A profiler that has calls and kernels recorded and looks at nothing in its buffers.
void requestBuffer(uint8_t** buffer, size_t* size, size_t* most) {
  *size = 4 << 20;
  *buffer = static_cast<uint8_t*>(std::aligned_alloc(8, *size));
  *most = 0;
}
void completeBuffer(CUcontext, uint32_t, uint8_t* buffer, size_t, size_t) { std::free(buffer); }

template <class... Args>
void cupti(const char* name, Args... args) {
  static void* const opened = [] {
    Dl_info info;
    dladdr(reinterpret_cast<void*>(DRIVER(cuInit)), &info);
    std::string path(info.dli_fname);
    return dlopen((path.substr(0, path.rfind('/')) + "/cupti/libcupti.so.13").c_str(), RTLD_NOW);
  }();
  const auto function = reinterpret_cast<CUptiResult (*)(Args...)>(opened ? dlsym(opened, name) : nullptr);
  if (function && function(args...) == CUPTI_SUCCESS) return;
  std::fprintf(stderr, "%s failed\n", name);
  std::exit(1);
}

void manyLaunchesProfiled(benchmark::State& state) {
  inProcesses(state, [] {
    cupti("cuptiActivityRegisterCallbacks", requestBuffer, completeBuffer);
    cupti("cuptiActivityEnable", CUPTI_ACTIVITY_KIND_DRIVER);
    cupti("cuptiActivityEnable", CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
    program();
    cupti("cuptiActivityFlushAll", uint32_t{1});
  });
}
BENCHMARK(manyLaunchesProfiled)->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
