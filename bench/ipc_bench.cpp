// What sharing between processes costs: handles, opening and closing in this process what another one exports, and how
// long an event takes to get from one to the other and back.
//
//   build/release/bin/ipc_bench
#include <signal.h>
#include <sys/wait.h>

#include "cases.h"

namespace vg::bench {
namespace {

constexpr size_t kBytes = size_t{16} << 20;
constexpr unsigned kShared = CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING;

// What the exporter sends.
struct Exports {
  CUipcMemHandle memory;
  CUipcEventHandle theirs;
};
Exports exports;
int toExporter[2], fromExporter[2];

CUevent makeEvent(CUipcEventHandle* handle) {
  CUevent event;
  check(DRIVER(cuEventCreate)(&event, kShared), "cuEventCreate");
  check(DRIVER(cuIpcGetEventHandle)(handle, event), "cuIpcGetEventHandle");
  return event;
}

// Answers every byte with a record of its event after what the importer recorded.
[[noreturn]] void runExporter() {
  start();
  CUdeviceptr memory;
  check(DRIVER(cuMemAlloc_v2)(&memory, kBytes), "cuMemAlloc");
  check(DRIVER(cuIpcGetMemHandle)(&exports.memory, memory), "cuIpcGetMemHandle");
  CUevent ours = makeEvent(&exports.theirs), theirs;
  CUipcEventHandle handle;
  if (write(fromExporter[1], &exports, sizeof exports) != sizeof exports) _exit(1);
  if (read(toExporter[0], &handle, sizeof handle) != sizeof handle) _exit(1);
  check(DRIVER(cuIpcOpenEventHandle)(&theirs, handle), "cuIpcOpenEventHandle");
  CUstream stream;
  check(DRIVER(cuStreamCreate)(&stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
  for (char byte; read(toExporter[0], &byte, 1) == 1;) {
    check(DRIVER(cuStreamWaitEvent)(stream, theirs, 0), "cuStreamWaitEvent");
    check(DRIVER(cuEventRecord)(ours, stream), "cuEventRecord");
    if (write(fromExporter[1], "x", 1) != 1) break;
  }
  _exit(0);
}

CUdeviceptr open() {
  CUdeviceptr address;
  check(DRIVER(cuIpcOpenMemHandle_v2)(&address, exports.memory, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS), "open");
  return address;
}

void openMapped(benchmark::State& state) {
  const auto doOpen = DRIVER(cuIpcOpenMemHandle_v2);
  const auto doClose = DRIVER(cuIpcCloseMemHandle);
  const CUdeviceptr held = open();
  for (auto _ : state) {
    CUdeviceptr address;
    check(doOpen(&address, exports.memory, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS), "open");
    check(doClose(address), "close");
  }
  check(doClose(held), "close");
}

void openAnew(benchmark::State& state) {
  const auto doClose = DRIVER(cuIpcCloseMemHandle);
  for (auto _ : state) check(doClose(open()), "close");
}

void handleAgain(benchmark::State& state) {
  const auto getHandle = DRIVER(cuIpcGetMemHandle);
  CUdeviceptr memory;
  check(DRIVER(cuMemAlloc_v2)(&memory, kBytes), "cuMemAlloc");
  for (auto _ : state) {
    CUipcMemHandle handle;
    check(getHandle(&handle, memory), "cuIpcGetMemHandle");
    benchmark::DoNotOptimize(handle);
  }
  check(DRIVER(cuMemFree_v2)(memory), "cuMemFree");
}

// Memory that was written is moved once, at the first export.
void handleFirst(benchmark::State& state) {
  const auto bytes = static_cast<size_t>(state.range(0));
  for (auto _ : state) {
    state.PauseTiming();
    CUdeviceptr memory;
    CUipcMemHandle handle;
    check(DRIVER(cuMemAlloc_v2)(&memory, bytes), "cuMemAlloc");
    check(DRIVER(cuMemsetD32_v2)(memory, 1, bytes / 4), "cuMemsetD32");
    check(DRIVER(cuCtxSynchronize)(), "cuCtxSynchronize");
    state.ResumeTiming();
    check(DRIVER(cuIpcGetMemHandle)(&handle, memory), "cuIpcGetMemHandle");
    state.PauseTiming();
    check(DRIVER(cuMemFree_v2)(memory), "cuMemFree");
    state.ResumeTiming();
  }
}

// There and back through two pipes and two events.
void eventRoundTrip(benchmark::State& state) {
  CUevent ours, theirs;
  CUipcEventHandle handle;
  CUstream stream;
  ours = makeEvent(&handle);
  if (write(toExporter[1], &handle, sizeof handle) != sizeof handle) return state.SkipWithError("no exporter");
  check(DRIVER(cuIpcOpenEventHandle)(&theirs, exports.theirs), "cuIpcOpenEventHandle");
  check(DRIVER(cuStreamCreate)(&stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
  for (auto _ : state) {
    char byte = 'x';
    check(DRIVER(cuEventRecord)(ours, stream), "cuEventRecord");
    if (write(toExporter[1], &byte, 1) != 1 || read(fromExporter[0], &byte, 1) != 1) std::exit(1);
    check(DRIVER(cuEventSynchronize)(theirs), "cuEventSynchronize");
  }
}

BENCHMARK(openMapped)->Name("ipc/open+close/mapped")->Unit(benchmark::kNanosecond);
BENCHMARK(openAnew)->Name("ipc/open+close/anew")->Unit(benchmark::kMicrosecond);
BENCHMARK(handleAgain)->Name("ipc/handle/again")->Unit(benchmark::kNanosecond);
BENCHMARK(handleFirst)->Name("ipc/handle/first")->Arg(4096)->Arg(2 << 20)->Arg(64 << 20)->Unit(benchmark::kMicrosecond);
BENCHMARK(eventRoundTrip)->Name("ipc/event/round-trip")->Unit(benchmark::kMicrosecond)->Iterations(2000);

}  // namespace
}  // namespace vg::bench

int main(int argc, char** argv) {
  using namespace vg::bench;
  if (pipe(toExporter) || pipe(fromExporter)) return 1;
  const pid_t exporter = fork();  // before anything of the library is used
  if (!exporter) {
    close(toExporter[1]);
    close(fromExporter[0]);
    runExporter();
  }
  close(toExporter[0]);
  close(fromExporter[1]);
  if (read(fromExporter[0], &exports, sizeof exports) != sizeof exports) return 1;
  start();
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  kill(exporter, SIGTERM);
  waitpid(exporter, nullptr, 0);
  return 0;
}
