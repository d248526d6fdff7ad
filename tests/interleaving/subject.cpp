#include "interleaving/subject.h"

#include <cuda.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "kernels/fixture.h"

namespace interleaving {
namespace {

using kernels::entry;
using kernels::module;

void check(CUresult result, int line) {
  if (result == CUDA_SUCCESS) return;
  std::printf("line %d: error %d\n", line, result);
  std::exit(1);
}
#define CHECK(call) check(call, __LINE__)

// Appends a number to a list whose first word counts them: without an atomic, as kernels of one thread do that think
// they are alone.
constexpr const char* kAppend = R"(
ld.param.u64 %rd1, [p0];
ld.param.u32 %r5, [p1];
ld.volatile.global.u32 %r6, [%rd1];
add.u32 %r7, %r6, 1;
st.volatile.global.u32 [%rd1], %r7;
mul.wide.u32 %rd2, %r7, 4;
add.u64 %rd3, %rd1, %rd2;
st.volatile.global.u32 [%rd3], %r5;
)";
// The same by a block's or a warp's number, with an atomic; the number is in %r5.
constexpr const char* kAppendOne = R"(
ld.param.u64 %rd1, [p0];
atom.global.add.u32 %r6, [%rd1], 1;
add.u32 %r7, %r6, 1;
mul.wide.u32 %rd2, %r7, 4;
add.u64 %rd3, %rd1, %rd2;
st.global.u32 [%rd3], %r5;
)";
constexpr const char* kOfBlock = "mov.u32 %r5, %ctaid.x;\n";
constexpr const char* kOfWarp = R"(
mov.u32 %r1, %tid.x;
and.b32 %r2, %r1, 31;
shr.u32 %r5, %r1, 5;
setp.ne.u32 %p1, %r2, 0;
@%p1 ret;
)";
// Waits until the word that p0 points to is p1; then stores p3 to p2's.
constexpr const char* kAwait = R"(
ld.param.u64 %rd1, [p0];
ld.param.u32 %r1, [p1];
ld.param.u64 %rd2, [p2];
ld.param.u32 %r2, [p3];
WAIT:
ld.volatile.global.u32 %r3, [%rd1];
setp.ne.u32 %p1, %r3, %r1;
@%p1 bra WAIT;
st.volatile.global.u32 [%rd2], %r2;
)";
// A block waits until its successor has counted itself; the last one waits for nobody.
constexpr const char* kChain = R"(
ld.param.u64 %rd1, [p0];
mov.u32 %r1, %ctaid.x;
mov.u32 %r2, %nctaid.x;
add.u32 %r3, %r1, 1;
mul.wide.u32 %rd2, %r1, 4;
add.u64 %rd3, %rd1, %rd2;
setp.eq.u32 %p1, %r3, %r2;
mov.u32 %r5, 0;
@%p1 bra DONE;
WAIT:
ld.volatile.global.u32 %r5, [%rd3+4];
setp.eq.u32 %p2, %r5, 0;
@%p2 bra WAIT;
DONE:
add.u32 %r5, %r5, 1;
st.volatile.global.u32 [%rd3], %r5;
)";
// Doubles a number of the array that p0 points to.
constexpr const char* kDouble = R"(
ld.param.u64 %rd1, [p0];
mov.u32 %r1, %tid.x;
mov.u32 %r2, %ctaid.x;
mov.u32 %r3, %ntid.x;
mad.lo.u32 %r4, %r2, %r3, %r1;
mul.wide.u32 %rd2, %r4, 4;
add.u64 %rd3, %rd1, %rd2;
ld.global.u32 %r5, [%rd3];
add.u32 %r5, %r5, %r5;
st.global.u32 [%rd3], %r5;
)";

const std::string& text() {
  static const std::string made = module(
      entry("append", {".u64", ".u32"}, kAppend) + entry("blocks", {".u64"}, std::string(kOfBlock) + kAppendOne) +
          entry("warps", {".u64"}, std::string(kOfWarp) + kAppendOne) +
          entry("fibres", {".u64"}, "nanosleep.u32 1;\n" + (kOfWarp + std::string(kAppendOne))) +
          entry("await", {".u64", ".u32", ".u64", ".u32"}, kAwait) + entry("chain", {".u64"}, kChain) +
          entry("twice", {".u64"}, kDouble),
      "sm_75", "7.0");
  return made;
}

struct Device {
  CUcontext context = nullptr;
  CUmodule loaded = nullptr;
  CUstream streams[3] = {};

  explicit Device(int ordinal) {
    CUdevice device;
    CHECK(cuDeviceGet(&device, ordinal));
    CHECK(cuDevicePrimaryCtxRetain(&context, device));
    use();
    CHECK(cuModuleLoadData(&loaded, text().c_str()));
    for (CUstream& stream : streams) CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  }
  void use() { CHECK(cuCtxSetCurrent(context)); }
  CUfunction function(const char* name) {
    CUfunction function;
    CHECK(cuModuleGetFunction(&function, loaded, name));
    return function;
  }
};

template <class... Arguments>
void launch(CUfunction function, unsigned blocks, unsigned threads, CUstream stream, Arguments... arguments) {
  void* values[] = {static_cast<void*>(&arguments)..., nullptr};
  CHECK(cuLaunchKernel(function, blocks, 1, 1, threads, 1, 1, 0, stream, values, nullptr));
}

// Words that host and devices share.
struct Words {
  volatile uint32_t* host = nullptr;
  CUdeviceptr device = 0;

  explicit Words(size_t count) {
    void* memory;
    CHECK(cuMemHostAlloc(&memory, 4 * count, CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP));
    std::memset(memory, 0, 4 * count);
    host = static_cast<volatile uint32_t*>(memory);
    CHECK(cuMemHostGetDevicePointer(&device, memory, 0));
  }
  // Beside a kernel that may use the same word.
  uint32_t read(size_t index) const { return __atomic_load_n(&host[index], __ATOMIC_RELAXED); }
  void write(size_t index, uint32_t value) const { __atomic_store_n(&host[index], value, __ATOMIC_RELAXED); }
  CUdeviceptr at(size_t index) const { return device + 4 * index; }
};

void synchronize() { CHECK(cuCtxSynchronize()); }

void tellList(const char* part, const Words& list) {
  std::printf("%s", part);
  for (uint32_t i = 1; i <= list.host[0] && i < 256; ++i) std::printf(" %u", list.host[i]);
  std::printf("\n");
}
void tell(const char* part, uint32_t value) { std::printf("%s %u\n", part, value); }

// Two streams append to one list and nothing orders them.
void streams(Device& device) {
  const Words list(256);
  for (uint32_t i = 0; i < 6; ++i)
    for (uint32_t s = 0; s < 2; ++s)
      launch(device.function("append"), 1, 1, device.streams[s], list.device, 10 * s + i);
  synchronize();
  tellList("streams", list);
}

void blocks(Device& device) {
  const Words list(256);
  launch(device.function("blocks"), 12, 1, device.streams[0], list.device);
  synchronize();
  tellList("blocks", list);
}

void warps(Device& device, const char* name) {
  const Words list(256);
  launch(device.function(name), 1, 256, device.streams[0], list.device);
  synchronize();
  tellList(name, list);
}

// Blocks of two kernels, mixed.
void kernelsBeside(Device& device) {
  const Words list(256);
  launch(device.function("blocks"), 20, 1, device.streams[0], list.device);
  launch(device.function("blocks"), 20, 1, device.streams[1], list.device);
  synchronize();
  tellList("beside", list);
}

void devices(Device& first, Device& second) {
  const Words list(256);
  for (uint32_t i = 0; i < 5; ++i) {
    first.use();
    launch(first.function("append"), 1, 1, first.streams[0], list.device, i);
    second.use();
    launch(second.function("append"), 1, 1, second.streams[0], list.device, 10 + i);
  }
  synchronize();
  first.use();
  synchronize();
  tellList("devices", list);
}

// The source of a copy is overwritten before anybody waits for it.
void copies(Device& device) {
  const Words source(1), list(256);
  CUdeviceptr word;
  CHECK(cuMemAlloc(&word, 4));
  for (uint32_t i = 1; i <= 6; ++i) {
    source.write(0, i);
    CHECK(cuMemcpyAsync(word, source.device, 4, device.streams[0]));
    CHECK(cuMemcpyDtoHAsync(const_cast<uint32_t*>(list.host + i), word, 4, device.streams[0]));
  }
  synchronize();
  list.host[0] = 6;
  tellList("copies", list);
  CHECK(cuMemFree(word));
}

// Each stream waits for the other in turn.
void ordered(Device& device) {
  const Words list(256);
  CUevent event;
  CHECK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
  for (uint32_t i = 0; i < 8; ++i) {
    launch(device.function("append"), 1, 1, device.streams[i % 2], list.device, i);
    CHECK(cuEventRecord(event, device.streams[i % 2]));
    CHECK(cuStreamWaitEvent(device.streams[(i + 1) % 2], event, 0));
  }
  while (cuEventQuery(event) == CUDA_ERROR_NOT_READY) {
  }
  tellList("right:events", list);
  CHECK(cuEventDestroy(event));
}

void doubled(Device& device) {
  constexpr unsigned kCount = 4096;
  std::vector<uint32_t> numbers(kCount);
  for (uint32_t i = 0; i < kCount; ++i) numbers[i] = i;
  CUdeviceptr array;
  CHECK(cuMemAlloc(&array, 4 * kCount));
  CHECK(cuMemcpyHtoDAsync(array, numbers.data(), 4 * kCount, device.streams[0]));
  for (int i = 0; i < 3; ++i) launch(device.function("twice"), kCount / 64, 64, device.streams[0], array);
  CHECK(cuMemcpyDtoHAsync(numbers.data(), array, 4 * kCount, device.streams[0]));
  CHECK(cuStreamSynchronize(device.streams[0]));
  uint32_t wrong = 0;
  for (uint32_t i = 0; i < kCount; ++i) wrong += numbers[i] != 8 * i;
  tell("right:doubled", wrong);
  CHECK(cuMemFree(array));
}

void chain(Device& device) {
  const Words counts(64);
  launch(device.function("chain"), 48, 1, device.streams[0], counts.device);
  synchronize();
  tell("right:chain", counts.host[0]);
}

// A kernel waits for one that a later stream runs, which waits for a value that a third stream writes.
void kernelsThatWait(Device& device) {
  const Words words(4);
  launch(device.function("await"), 1, 1, device.streams[0], words.at(0), 5u, words.at(1), 6u);
  CHECK(cuStreamWaitValue32(device.streams[1], words.at(2), 7, CU_STREAM_WAIT_VALUE_EQ));
  launch(device.function("append"), 1, 1, device.streams[1], words.at(3), 0u);
  CHECK(cuStreamWriteValue32(device.streams[1], words.at(0), 5, 0));
  CHECK(cuStreamWriteValue32(device.streams[2], words.at(2), 7, 0));
  CHECK(cuStreamSynchronize(device.streams[0]));
  tell("right:wait", words.read(1));
}

// A kernel waits for the host, which asks the stream meanwhile.
void kernelThatWaitsForTheHost(Device& device) {
  const Words words(2);
  launch(device.function("await"), 1, 1, device.streams[0], words.at(0), 5u, words.at(1), 6u);
  for (int i = 0; i < 20; ++i)
    if (cuStreamQuery(device.streams[0]) != CUDA_ERROR_NOT_READY) tell("too early", 0);
  words.write(0, 5);
  while (cuStreamQuery(device.streams[0]) == CUDA_ERROR_NOT_READY) {
  }
  tell("right:host", words.read(1));
}

void hostFunctions(Device& device) {
  static std::atomic<uint32_t> order;
  order = 0;
  for (int s = 0; s < 2; ++s)
    for (int i = 0; i < 3; ++i)
      CHECK(cuLaunchHostFunc(
          device.streams[s],
          [](void* digit) { order = 10 * order + static_cast<uint32_t>(reinterpret_cast<uintptr_t>(digit)); },
          reinterpret_cast<void*>(static_cast<uintptr_t>(4 * s + i))));
  synchronize();
  tell("functions", order);
}

// The host asks memory for what the kernel writes, and makes no call.
void hostThatAsksMemory(Device& device) {
  const Words words(2);
  words.write(0, 5);
  launch(device.function("await"), 1, 1, device.streams[0], words.at(0), 5u, words.at(1), 6u);
  while (words.read(1) != 6) {
  }
  tell("right:memory", words.read(1));
}

// The same after questions to the stream: the kernel has been given time, and stands aside.
void hostThatAsksMemoryInTheEnd(Device& device) {
  const Words words(2);
  launch(device.function("await"), 1, 1, device.streams[0], words.at(0), 5u, words.at(1), 6u);
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(1500);
  while (std::chrono::steady_clock::now() < end)
    if (cuStreamQuery(device.streams[0]) != CUDA_ERROR_NOT_READY) tell("too early", 0);
  words.write(0, 5);
  while (words.read(1) != 6) {
  }
  tell("right:later", words.read(1));
}

void graph(Device& device) {
  const Words list(256);
  CUgraph captured;
  CUgraphExec exec;
  CHECK(cuStreamBeginCapture(device.streams[0], CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  for (uint32_t i = 0; i < 4; ++i) launch(device.function("append"), 1, 1, device.streams[0], list.device, i);
  CHECK(cuStreamEndCapture(device.streams[0], &captured));
  CHECK(cuGraphInstantiate(&exec, captured, 0));
  CHECK(cuGraphLaunch(exec, device.streams[0]));
  for (uint32_t i = 0; i < 4; ++i) launch(device.function("append"), 1, 1, device.streams[1], list.device, 10 + i);
  synchronize();
  tellList("graph", list);
  CHECK(cuGraphExecDestroy(exec));
  CHECK(cuGraphDestroy(captured));
}

}  // namespace

int runSubject(bool untold) {
  CHECK(cuInit(0));
  Device second(1), first(0);
  if (untold) {
    hostThatAsksMemory(first);
    hostThatAsksMemoryInTheEnd(first);
    return 0;
  }
  streams(first);
  blocks(first);
  warps(first, "warps");
  warps(first, "fibres");
  kernelsBeside(first);
  devices(first, second);
  copies(first);
  hostFunctions(first);
  graph(first);
  ordered(first);
  doubled(first);
  chain(first);
  kernelsThatWait(first);
  kernelThatWaitsForTheHost(first);
  return 0;
}

}  // namespace interleaving
