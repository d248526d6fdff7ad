// What the tests of timelines look at: a program that does a known number of things.
//
//     timeline_subject all          streams, copies, fills, kernels, a graph, host functions, memory, ranges, threads
//     timeline_subject many COUNT   so many small launches
//     timeline_subject kill         works, says "ready", and goes on until it is killed
//     timeline_subject fork         a child that uses CUDA after its parent has, by exec, and one that only inherits it
//     timeline_subject graphs       a graph that is launched in place and one that is queued
//
// It uses NVTX as NVTX's own headers do: through the library that NVTX_INJECTION64_PATH names.
#include <cuda.h>
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

namespace {

void check(CUresult result, const char* what) {
  if (result == CUDA_SUCCESS) return;
  std::fprintf(stderr, "%s: %d\n", what, static_cast<int>(result));
  std::exit(1);
}
#define CHECK(call) check(call, #call)

const char kPtx[] = R"(
.version 7.0
.target sm_50
.address_size 64
.visible .entry _Z3addPj(.param .u64 cell)
{
  .reg .u64 %p;
  .reg .u32 %n;
  ld.param.u64 %p, [cell];
  cvta.to.global.u64 %p, %p;
  atom.global.add.u32 %n, [%p], 1;
  ret;
}
)";

// The part of NVTX that is in a program: tables of places that a tool may fill.
namespace nvtx {
using Function = void (*)();
Function core[16], core2[16], cuda[9], cudart[7];
Function* corePlaces[16];
Function* core2Places[16];
Function* cudaPlaces[9];
Function* cudartPlaces[7];

struct Callbacks {
  size_t bytes;
  int (*functions)(int module, Function*** places, unsigned* count);
};

template <size_t kCount>
int give(Function* (&places)[kCount], Function (&functions)[kCount], Function*** out, unsigned* count) {
  for (size_t i = 0; i < kCount; ++i) places[i] = &functions[i];
  *out = places;
  *count = kCount;
  return 1;
}

int functions(int module, Function*** places, unsigned* count) {
  if (module == 1) return give(corePlaces, core, places, count);
  if (module == 2) return give(cudaPlaces, cuda, places, count);
  if (module == 4) return give(cudartPlaces, cudart, places, count);
  if (module == 5) return give(core2Places, core2, places, count);
  return 0;
}

const void* exportTable(uint32_t table) {
  static const Callbacks callbacks{sizeof callbacks, functions};
  return table == 1 ? &callbacks : nullptr;
}

void start() {
  const char* const path = getenv("NVTX_INJECTION64_PATH");
  if (!path) return;
  void* const library = dlopen(path, RTLD_LAZY);
  if (!library) std::exit(3);
  const auto initialise =
      reinterpret_cast<int (*)(const void* (*)(uint32_t))>(dlsym(library, "InitializeInjectionNvtx2"));
  if (!initialise || !initialise(exportTable)) std::exit(4);
}

template <class Result, class... Args>
Result call(Function function, Args... args) {
  if (!function) return Result();
  return reinterpret_cast<Result (*)(Args...)>(function)(args...);
}
void mark(const char* text) { call<void>(core[2], text); }
void push(const char* text) { call<int>(core[9], text); }
void pop() { call<int>(core[11]); }
uint64_t start(const wchar_t* text) { return call<uint64_t>(core[6], text); }
void end(uint64_t id) { call<void>(core[7], id); }
void nameThread(const char* text) { call<void>(core[14], static_cast<uint32_t>(gettid()), text); }
void nameStream(CUstream stream, const char* text) { call<void>(cuda[5], stream, text); }

struct Attributes {
  uint16_t version = 3, size = 48;
  uint32_t category = 7;
  int32_t colorType = 1;
  uint32_t color = 0xff8800;
  int32_t payloadType = 3, reserved = 0;
  double payload = 2.5;
  int32_t messageType = 3;
  const void* message = nullptr;
};
const void* domain(const char* name) { return call<const void*>(core2[12], name); }
const void* registered(const void* domain, const char* text) { return call<const void*>(core2[10], domain, text); }
void push(const void* domain, const Attributes& attributes) { call<int>(core2[4], domain, &attributes); }
void pop(const void* domain) { call<int>(core2[5], domain); }
}  // namespace nvtx

CUfunction function;

void begin() {
  nvtx::start();
  CHECK(cuInit(0));
  CUcontext context;
  CHECK(cuDevicePrimaryCtxRetain(&context, 0));
  CHECK(cuCtxSetCurrent(context));
  CUmodule module;
  CHECK(cuModuleLoadData(&module, kPtx));
  CHECK(cuModuleGetFunction(&function, module, "_Z3addPj"));
}

CUstream newStream() {
  CUstream stream;
  CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  return stream;
}

void launch(CUstream stream, CUdeviceptr cell, unsigned blocks) {
  void* parameters[] = {&cell};
  CHECK(cuLaunchKernel(function, blocks, 2, 1, 32, 1, 1, 0, stream, parameters, nullptr));
}

void host(void*) { usleep(1000); }

void streams() {
  constexpr size_t kBytes = 8 << 20;
  std::vector<unsigned char> pageable(kBytes, 1);
  void* pinned;
  CHECK(cuMemAllocHost(&pinned, kBytes));
  CUdeviceptr a, b, later;
  CHECK(cuMemAlloc(&a, kBytes));
  CHECK(cuMemAlloc(&b, kBytes));
  const CUstream first = newStream(), second = newStream();
  nvtx::nameStream(second, "named \"stream\"");
  CHECK(cuMemcpyHtoDAsync(a, pinned, kBytes, first));
  CHECK(cuMemsetD8Async(b, 0, kBytes, second));
  launch(first, a, 3);
  launch(second, b, 4);
  CHECK(cuLaunchHostFunc(first, host, nullptr));
  CHECK(cuMemcpyDtoDAsync(b, a, kBytes, first));
  CHECK(cuMemcpyDtoHAsync(pinned, b, kBytes, first));
  CHECK(cuMemAllocAsync(&later, 1 << 20, second));
  launch(second, later, 5);
  CHECK(cuMemFreeAsync(later, second));
  CHECK(cuStreamSynchronize(first));
  CHECK(cuStreamSynchronize(second));
  CHECK(cuMemcpyHtoD(a, pageable.data(), kBytes));
  CHECK(cuMemcpyHtoD(a, pageable.data(), 64));  // in place
  if (cuMemFree(1) == CUDA_SUCCESS) std::exit(5);
  CHECK(cuMemFree(a));
  CHECK(cuMemFree(b));
  CHECK(cuMemFreeHost(pinned));
}

void graphs() {
  CUdeviceptr cell, other;
  CHECK(cuMemAlloc(&cell, 4096));
  CHECK(cuMemAlloc(&other, 4096));
  const CUstream stream = newStream();
  CUgraph graph;
  CUgraphExec exec;
  CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
  CHECK(cuMemsetD8Async(cell, 0, 4096, stream));
  launch(stream, cell, 6);
  CHECK(cuLaunchHostFunc(stream, host, nullptr));
  CHECK(cuMemcpyDtoDAsync(other, cell, 4096, stream));
  CHECK(cuStreamEndCapture(stream, &graph));
  CHECK(cuGraphInstantiate(&exec, graph, 0));
  CHECK(cuGraphLaunch(exec, stream));
  CHECK(cuGraphLaunch(exec, stream));
  CHECK(cuStreamSynchronize(stream));
  // Small copies alone run on the thread that launches them.
  CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
  CHECK(cuMemcpyDtoDAsync(other, cell, 1024, stream));
  CHECK(cuStreamEndCapture(stream, &graph));
  CHECK(cuGraphInstantiate(&exec, graph, 0));
  CHECK(cuGraphLaunch(exec, stream));
  CHECK(cuStreamSynchronize(stream));
  CHECK(cuMemFree(cell));
  CHECK(cuMemFree(other));
}

void ranges() {
  nvtx::push("outer");
  nvtx::Attributes attributes;
  const void* const domain = nvtx::domain("a domain");
  attributes.message = nvtx::registered(domain, "inner");
  nvtx::push(domain, attributes);
  const uint64_t id = nvtx::start(L"spanning \u00fc");
  nvtx::mark("here");
  CHECK(cuCtxSynchronize());
  nvtx::pop(domain);
  nvtx::pop();
  nvtx::end(id);
}

// A mapping is no memory of its own.
void mappings() {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, {0}};
  CUmemGenericAllocationHandle handle;
  CUdeviceptr address;
  CHECK(cuMemCreate(&handle, 4 << 20, &properties, 0));
  CHECK(cuMemAddressReserve(&address, 4 << 20, 0, 0, 0));
  CHECK(cuMemMap(address, 4 << 20, 0, handle, 0));
  CHECK(cuMemRelease(handle));
  CHECK(cuMemUnmap(address, 4 << 20));
  CHECK(cuMemAddressFree(address, 4 << 20));
}

// Each on a stream of its own.
void threads() {
  CUcontext context;
  CHECK(cuCtxGetCurrent(&context));
  std::vector<std::thread> all;
  for (int i = 0; i < 4; ++i)
    all.emplace_back([context, i] {
      CHECK(cuCtxSetCurrent(context));
      nvtx::nameThread(("worker " + std::to_string(i)).c_str());
      CUdeviceptr cell;
      CHECK(cuMemAlloc(&cell, 64));
      const CUstream stream = newStream();
      for (int n = 0; n < 100; ++n) launch(stream, cell, 1);
      CHECK(cuStreamSynchronize(stream));
      CHECK(cuMemFree(cell));
    });
  for (std::thread& thread : all) thread.join();
}

void many(int count) {
  CUdeviceptr cell;
  CHECK(cuMemAlloc(&cell, 4));
  CHECK(cuMemsetD32(cell, 0, 1));
  const CUstream stream = newStream();
  for (int i = 0; i < count; ++i) launch(stream, cell, 1);
  CHECK(cuStreamSynchronize(stream));
  unsigned sum = 0;
  CHECK(cuMemcpyDtoH(&sum, cell, 4));
  std::printf("%u\n", sum);
}

[[noreturn]] void untilKilled() {
  CUdeviceptr cell;
  CHECK(cuMemAlloc(&cell, 4));
  const CUstream stream = newStream();
  for (int i = 0;; ++i) {
    launch(stream, cell, 1);
    CHECK(cuStreamSynchronize(stream));
    if (i == 100) {
      usleep(200'000);
      std::puts("ready");
      std::fflush(stdout);
    }
    usleep(1000);
  }
}

// The child that only inherits the library is answered that it may not use it, and ends as it likes.
void forked(char** arguments) {
  many(10);
  pid_t child = fork();
  if (!child) std::exit(cuCtxSynchronize() == CUDA_ERROR_NOT_INITIALIZED ? 0 : 6);
  int status = 0;
  if (waitpid(child, &status, 0) != child || status) std::exit(7);
  child = fork();
  if (!child) {
    execl(arguments[0], arguments[0], "many", "20", nullptr);
    _exit(8);
  }
  if (waitpid(child, &status, 0) != child || status) std::exit(9);
}

}  // namespace

int main(int count, char** arguments) {
  const std::string what = count > 1 ? arguments[1] : "all";
  begin();
  if (what == "many") many(count > 2 ? std::atoi(arguments[2]) : 10'000);
  if (what == "kill") untilKilled();
  if (what == "fork") forked(arguments);
  if (what == "graphs") graphs();
  if (what != "all") return 0;
  streams();
  graphs();
  mappings();
  ranges();
  threads();
  return 0;
}
