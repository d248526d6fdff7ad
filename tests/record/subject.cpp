// What the tests of recordings record.
//
//     record_subject all           streams, events, copies of every kind, fills, memory of every kind, graphs, host
//                                  functions, threads
//     record_subject again COUNT   uploads the same MiB so many times
//     record_subject random COUNT  uploads so many MiB, all different
//     record_subject clock         a result that no other run has
//     record_subject ipc           what cannot be replayed
//     record_subject kill          works, then is killed within a call
//     record_subject child         works, and so does a program that it starts
//     record_subject file PATH     loads the module from a file
//     record_subject many COUNT    so many small launches
#include <cuda.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
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
.visible .global .align 4 .u32 variable = 5;
.visible .entry add(.param .u64 cells, .param .u32 much)
{
  .reg .u64 %p, %o;
  .reg .u32 %n, %i, %v;
  ld.param.u64 %p, [cells];
  ld.param.u32 %n, [much];
  mov.u32 %i, %tid.x;
  mul.wide.u32 %o, %i, 4;
  add.u64 %p, %p, %o;
  ld.global.u32 %v, [%p];
  add.u32 %v, %v, %n;
  st.global.u32 [%p], %v;
  ret;
}
.visible .entry through(.param .u64 pointer)
{
  .reg .u64 %p;
  .reg .u32 %v;
  ld.param.u64 %p, [pointer];
  ld.global.u64 %p, [%p];
  ld.global.u32 %v, [%p];
  add.u32 %v, %v, 1;
  st.global.u32 [%p], %v;
  ret;
}
.visible .entry clock(.param .u64 cell)
{
  .reg .u64 %p, %v;
  ld.param.u64 %p, [cell];
  mov.u64 %v, %globaltimer;
  st.global.u64 [%p], %v;
  ret;
}
)";

constexpr size_t kCells = 256, kBytes = kCells * sizeof(int);
CUmodule loaded;
CUfunction add, through, now;

void start(const char* file = nullptr) {
  CUdevice device;
  CUcontext context;
  CHECK(cuInit(0));
  CHECK(cuDeviceGet(&device, 0));
  CHECK(cuDevicePrimaryCtxRetain(&context, device));
  CHECK(cuCtxSetCurrent(context));
  if (file)
    CHECK(cuModuleLoad(&loaded, file));
  else
    CHECK(cuModuleLoadData(&loaded, kPtx));
  CHECK(cuModuleGetFunction(&add, loaded, "add"));
  CHECK(cuModuleGetFunction(&through, loaded, "through"));
  CHECK(cuModuleGetFunction(&now, loaded, "clock"));
}

void launch(CUfunction function, CUdeviceptr cells, int much, CUstream stream) {
  void* parameters[] = {&cells, &much};
  CHECK(cuLaunchKernel(function, 1, 1, 1, function == add ? kCells : 1, 1, 1, 0, stream, parameters, nullptr));
}

// The same by the other way to hand over parameters.
void launchPacked(CUdeviceptr cells, int much, CUstream stream) {
  struct {
    CUdeviceptr cells;
    int much;
  } parameters{cells, much};
  size_t size = 12;
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &parameters, CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
                   CU_LAUNCH_PARAM_END};
  CHECK(cuLaunchKernel(add, 1, 1, 1, kCells, 1, 1, 0, stream, nullptr, extra));
}

int first(CUdeviceptr cells) {
  int value = 0;
  CHECK(cuMemcpyDtoH(&value, cells, sizeof value));
  return value;
}
void expect(int is, int should, const char* what) {
  if (is == should) return;
  std::fprintf(stderr, "%s: %d, not %d\n", what, is, should);
  std::exit(1);
}

void copies() {
  CUdeviceptr cells, pitched;
  size_t pitch;
  std::vector<int> numbers(kCells, 3), back(kCells);
  CHECK(cuMemAlloc(&cells, kBytes));
  CHECK(cuMemcpyHtoD(cells, numbers.data(), kBytes));
  launch(add, cells, 4, nullptr);
  expect(first(cells), 7, "a copy and a kernel");
  launchPacked(cells, 2, nullptr);
  expect(first(cells), 9, "packed parameters");
  CHECK(cuMemAllocPitch(&pitched, &pitch, 40, 5, 4));
  CUDA_MEMCPY2D rows{};
  rows.srcMemoryType = CU_MEMORYTYPE_HOST, rows.srcHost = numbers.data(), rows.srcPitch = 48, rows.srcXInBytes = 4;
  rows.dstMemoryType = CU_MEMORYTYPE_DEVICE, rows.dstDevice = pitched, rows.dstPitch = pitch;
  rows.WidthInBytes = 40, rows.Height = 5;
  CHECK(cuMemcpy2D(&rows));
  CUDA_MEMCPY2D out{};
  out.srcMemoryType = CU_MEMORYTYPE_DEVICE, out.srcDevice = pitched, out.srcPitch = pitch;
  out.dstMemoryType = CU_MEMORYTYPE_HOST, out.dstHost = back.data(), out.dstPitch = 48, out.dstXInBytes = 4;
  out.WidthInBytes = 40, out.Height = 5;
  CHECK(cuMemcpy2D(&out));
  expect(back[1], 3, "rows");
  CUarray array;
  const CUDA_ARRAY_DESCRIPTOR shape{16, 16, CU_AD_FORMAT_SIGNED_INT32, 1};
  CHECK(cuArrayCreate(&array, &shape));
  CHECK(cuMemcpyHtoA(array, 0, numbers.data(), 64));
  CHECK(cuMemcpyAtoH(back.data(), array, 0, 64));
  CHECK(cuArrayDestroy(array));
  CHECK(
      cuMemcpy(reinterpret_cast<CUdeviceptr>(back.data()), cells, kBytes));  // the driver finds out which side is which
  expect(back[5], 9, "a copy between addresses");
  CHECK(cuMemsetD32(cells, 11, kCells));
  expect(first(cells), 11, "a fill");
  CHECK(cuMemFree(cells));
  CHECK(cuMemFree(pitched));
}

void CUDA_CB twice(void* cells) {
  for (size_t i = 0; i < kCells; ++i) static_cast<int*>(cells)[i] *= 2;
}

void hostMemory() {
  CUstream stream;
  CUevent event;
  CUdeviceptr cells, managed;
  int* pinned;
  CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  CHECK(cuEventCreate(&event, 0));
  CHECK(cuMemAllocAsync(&cells, kBytes, stream));
  CHECK(cuMemHostAlloc(reinterpret_cast<void**>(&pinned), kBytes, 0));
  for (size_t i = 0; i < kCells; ++i) pinned[i] = 21;
  CHECK(cuLaunchHostFunc(stream, twice, pinned));
  CHECK(cuMemcpyHtoDAsync(cells, pinned, kBytes, stream));
  launch(add, cells, 1, stream);
  CHECK(cuMemcpyDtoHAsync(pinned, cells, kBytes, stream));
  CHECK(cuEventRecord(event, stream));
  while (cuEventQuery(event) == CUDA_ERROR_NOT_READY) std::this_thread::yield();
  expect(pinned[7], 43, "what a host function did");
  launch(add, reinterpret_cast<CUdeviceptr>(pinned), 2, stream);
  CHECK(cuStreamSynchronize(stream));
  expect(pinned[7], 45, "pinned memory");
  CHECK(cuMemAllocManaged(&managed, kBytes, CU_MEM_ATTACH_GLOBAL));
  for (int round = 0; round < 3; ++round) {
    reinterpret_cast<int*>(managed)[3] = 100 * round;
    launch(add, managed, 5, stream);
    CHECK(cuCtxSynchronize());
    expect(reinterpret_cast<int*>(managed)[3], 100 * round + 5, "managed memory");
  }
  std::vector<int> own(2 * 4096 / sizeof(int), 8);
  CHECK(cuMemHostRegister(own.data(), own.size() * sizeof(int), 0));
  launch(add, reinterpret_cast<CUdeviceptr>(own.data()), 9, stream);
  CHECK(cuCtxSynchronize());
  expect(own[0], 17, "registered memory");
  CHECK(cuMemHostUnregister(own.data()));
  CHECK(cuMemFree(managed));
  CHECK(cuMemFreeAsync(cells, stream));
  CHECK(cuMemFreeHost(pinned));
  CHECK(cuEventDestroy(event));
  CHECK(cuStreamDestroy(stream));
}

void graphs() {
  CUstream stream;
  CUgraph graph;
  CUgraphExec exec;
  CUdeviceptr cells;
  std::vector<int> in(kCells), out(kCells);
  CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  CHECK(cuMemAlloc(&cells, kBytes));
  CHECK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  CHECK(cuMemcpyHtoDAsync(cells, in.data(), kBytes, stream));
  launch(add, cells, 1, stream);
  CHECK(cuMemcpyDtoHAsync(out.data(), cells, kBytes, stream));
  CHECK(cuStreamEndCapture(stream, &graph));
  CUgraphNode nodes[8], last;
  size_t count = 8;
  CHECK(cuGraphGetNodes(graph, nodes, &count));
  CUDA_KERNEL_NODE_PARAMS kernel{};
  int much = 10;
  void* parameters[] = {&cells, &much};
  kernel.func = add, kernel.gridDimX = kernel.gridDimY = kernel.gridDimZ = 1;
  kernel.blockDimX = kCells, kernel.blockDimY = kernel.blockDimZ = 1, kernel.kernelParams = parameters;
  CHECK(cuGraphAddKernelNode(&last, graph, nodes, count, &kernel));
  CHECK(cuGraphInstantiate(&exec, graph, 0));
  for (int round = 0; round < 3; ++round) {
    for (int& number : in) number = round;  // the graph reads it when it runs
    CHECK(cuGraphLaunch(exec, stream));
    CHECK(cuStreamSynchronize(stream));
    expect(out[9], round + 1, "a graph");
    expect(first(cells), round + 11, "a node that was added");
  }
  CHECK(cuGraphExecDestroy(exec));
  CHECK(cuGraphDestroy(graph));
  CHECK(cuMemFree(cells));
  CHECK(cuStreamDestroy(stream));
}

void virtualMemory() {
  CUmemAllocationProp kind{};
  kind.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  kind.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  size_t unit;
  CHECK(cuMemGetAllocationGranularity(&unit, &kind, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
  CUdeviceptr range;
  CUmemGenericAllocationHandle memory;
  CHECK(cuMemAddressReserve(&range, unit, 0, 0, 0));
  CHECK(cuMemCreate(&memory, unit, &kind, 0));
  CHECK(cuMemMap(range, unit, 0, memory, 0));
  const CUmemAccessDesc access{kind.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  CHECK(cuMemSetAccess(range, unit, &access, 1));
  CHECK(cuMemsetD32(range, 77, kCells));
  expect(first(range), 77, "mapped memory");
  CHECK(cuMemUnmap(range, unit));
  CHECK(cuMemRelease(memory));
  CHECK(cuMemAddressFree(range, unit));
}

// One thread's kernel behind another's, by an event.
void threads() {
  CUcontext context;
  CHECK(cuCtxGetCurrent(&context));
  CUdeviceptr cells;
  CUevent done;
  CHECK(cuMemAlloc(&cells, kBytes));
  CHECK(cuMemsetD32(cells, 0, kCells));
  CHECK(cuEventCreate(&done, CU_EVENT_DISABLE_TIMING));
  for (int i = 0; i < 4; ++i)
    std::thread([&] {
      CHECK(cuCtxSetCurrent(context));
      launch(add, cells, i + 1, CU_STREAM_PER_THREAD);
      CHECK(cuEventRecord(done, CU_STREAM_PER_THREAD));
      CHECK(cuEventSynchronize(done));
    }).join();
  expect(first(cells), 10, "threads");
  CHECK(cuEventDestroy(done));
  CHECK(cuMemFree(cells));
}

// A variable's address is the driver's choice, and a pointer in memory is seen by nobody.
void pointerInMemory() {
  CUdeviceptr cells, pointer, variable;
  size_t size;
  CHECK(cuMemAlloc(&cells, kBytes));
  CHECK(cuMemAlloc(&pointer, sizeof cells));
  CHECK(cuMemsetD32(cells, 30, kCells));
  CHECK(cuMemcpyHtoD(pointer, &cells, sizeof cells));
  launch(through, pointer, 0, nullptr);
  expect(first(cells), 31, "a pointer in memory");
  CHECK(cuModuleGetGlobal(&variable, &size, loaded, "variable"));
  CHECK(cuMemcpyDtoD(cells, variable, size));
  expect(first(cells), 5, "a variable");
  CHECK(cuMemFree(pointer));
  CHECK(cuMemFree(cells));
}

void uploads(int count, bool same) {
  constexpr size_t kMany = 1 << 20;
  CUdeviceptr memory;
  CHECK(cuMemAlloc(&memory, kMany));
  std::vector<uint32_t> numbers(kMany / sizeof(uint32_t));
  uint32_t seed = 1;
  for (int i = 0; i < count; ++i) {
    if (!i || !same)
      for (uint32_t& number : numbers) number = seed = seed * 1664525 + 1013904223;
    CHECK(cuMemcpyHtoD(memory, numbers.data(), kMany));
  }
  CHECK(cuMemFree(memory));
}

void clockOnce() {
  CUdeviceptr cell;
  uint64_t value;
  CHECK(cuMemAlloc(&cell, sizeof value));
  launch(now, cell, 0, nullptr);
  CHECK(cuMemcpyDtoH(&value, cell, sizeof value));
  CHECK(cuMemFree(cell));
}

void ipc() {
  CUdeviceptr memory;
  CUipcMemHandle handle;
  CHECK(cuMemAlloc(&memory, kBytes));
  CHECK(cuIpcGetMemHandle(&handle, memory));
  CHECK(cuMemFree(memory));
}

void many(int count) {
  CUdeviceptr cells;
  CHECK(cuMemAlloc(&cells, kBytes));
  CHECK(cuMemsetD32(cells, 0, kCells));
  for (int i = 0; i < count; ++i) launch(add, cells, 1, nullptr);
  expect(first(cells), count, "many launches");
  CHECK(cuMemFree(cells));
}

void CUDA_CB killed(void*) { ::kill(getpid(), SIGKILL); }

void child(const char* self) {
  if (const pid_t pid = fork()) {
    int status;
    waitpid(pid, &status, 0);
    copies();
  } else {
    execl(self, self, "clock", nullptr);
    _exit(1);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "all";
  const int count = argc > 2 ? std::atoi(argv[2]) : 0;
  start(what == "file" ? argv[2] : nullptr);
  if (what == "all") {
    copies(), pointerInMemory(), hostMemory(), graphs(), virtualMemory(), threads();
  } else if (what == "again" || what == "random") {
    uploads(count, what == "again");
  } else if (what == "clock") {
    clockOnce();
  } else if (what == "ipc") {
    ipc();
  } else if (what == "many") {
    many(count);
  } else if (what == "file") {
    copies();
  } else if (what == "child") {
    child(argv[0]);
  } else if (what == "kill") {
    copies();
    CHECK(cuLaunchHostFunc(nullptr, killed, nullptr));
    CHECK(cuCtxSynchronize());
  }
  std::puts("passed");
}
