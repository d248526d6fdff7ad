// What the driver API costs on a real GPU: one line a case, "name <tab> value <tab> unit", of the library that
// VERDIGRIS_LIBRARY names. bench/run gpu calls it with ours and with the vendor's in turns and compares.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "driver.h"

namespace {

using vg::bench::check;
#define CALL(name, ...)                     \
  do {                                      \
    static const auto timed = DRIVER(name); \
    check(timed(__VA_ARGS__), #name);       \
  } while (0)

constexpr size_t kKiB = 1024, kMiB = kKiB * kKiB, kGiB = kKiB * kMiB;
constexpr size_t kLarge = 512 * kMiB;

const char kPtx[] = R"(
.version 8.0
.target sm_90
.address_size 64
.visible .entry nothing(.param .u64 a, .param .u64 b) { ret; }
.visible .entry busy(.param .u64 nanoseconds) {
  .reg .pred %p;
  .reg .b64 %r<5>;
  ld.param.u64 %r1, [nanoseconds];
  mov.u64 %r2, %globaltimer;
again:
  mov.u64 %r3, %globaltimer;
  sub.u64 %r4, %r3, %r2;
  setp.lt.u64 %p, %r4, %r1;
  @%p bra again;
  ret;
}
.visible .entry early(.param .u64 nanoseconds) {  // so long before the launch before it has ended, and after
  .reg .pred %p;
  .reg .b64 %r<5>;
  griddepcontrol.launch_dependents;
  ld.param.u64 %r1, [nanoseconds];
  mov.u64 %r2, %globaltimer;
again:
  mov.u64 %r3, %globaltimer;
  sub.u64 %r4, %r3, %r2;
  setp.lt.u64 %p, %r4, %r1;
  @%p bra again;
  griddepcontrol.wait;
  mov.u64 %r2, %globaltimer;
behind:
  mov.u64 %r3, %globaltimer;
  sub.u64 %r4, %r3, %r2;
  setp.lt.u64 %p, %r4, %r1;
  @%p bra behind;
  ret;
}
)";

double now() {
  using namespace std::chrono;
  return duration<double>(steady_clock::now().time_since_epoch()).count();
}

// Median seconds of a call.
double medianOf(int rounds, const std::function<void()>& work) {
  std::vector<double> times;
  for (int i = 0; i < rounds; ++i) {
    const double start = now();
    work();
    times.push_back(now() - start);
  }
  std::nth_element(times.begin(), times.begin() + rounds / 2, times.end());
  return times[static_cast<size_t>(rounds / 2)];
}

void print(const std::string& name, double value, const char* unit) {
  std::printf("%s\t%.6g\t%s\n", name.c_str(), value, unit);
  std::fflush(stdout);
}

void printRate(const std::string& name, size_t bytes, double seconds) {
  print(name, static_cast<double>(bytes) / seconds * 1e-9, "GB/s");
}

CUdeviceptr videoMemory(size_t bytes) {
  CUdeviceptr memory;
  CALL(cuMemAlloc_v2, &memory, bytes);
  return memory;
}

char* pinnedMemory(size_t bytes) {
  void* memory;
  CALL(cuMemHostAlloc, &memory, bytes, 0);
  std::memset(memory, 1, bytes);
  return static_cast<char*>(memory);
}

void synchronize() {
  static const auto call = DRIVER(cuCtxSynchronize);
  check(call(), "cuCtxSynchronize");
}

void startUp() {
  const double begin = now();
  vg::bench::start();
  print("cuInit and primary context", (now() - begin) * 1e3, "ms");
}

void allocations() {
  const auto allocate = DRIVER(cuMemAlloc_v2);
  const auto release = DRIVER(cuMemFree_v2);
  CUdeviceptr memory;
  const auto both = [&](size_t bytes) {
    check(allocate(&memory, bytes), "cuMemAlloc");
    check(release(memory), "cuMemFree");
  };
  // The first of a size, and again and again.
  constexpr size_t kLive = 16;
  for (const size_t bytes : {2 * kMiB, kGiB}) {
    const std::string size = bytes == kGiB ? "1 GiB" : "2 MiB";
    std::vector<CUdeviceptr> live(kLive);
    const double begin = now();
    for (CUdeviceptr& each : live) check(allocate(&each, bytes), "cuMemAlloc");
    for (const CUdeviceptr each : live) check(release(each), "cuMemFree");
    print("cuMemAlloc + cuMemFree, " + size + ", 16 at once, fresh", (now() - begin) / kLive * 1e6, "us");
    print("cuMemAlloc + cuMemFree, " + size, medianOf(50, [&] { both(bytes); }) * 1e6, "us");
  }
  CUstream stream;
  CALL(cuStreamCreate, &stream, CU_STREAM_NON_BLOCKING);
  const auto allocateAsync = DRIVER(cuMemAllocAsync);
  const auto freeAsync = DRIVER(cuMemFreeAsync);
  constexpr int kCalls = 1000;
  const double pool = medianOf(20, [&] {
    for (int i = 0; i < kCalls; ++i) {
      check(allocateAsync(&memory, 2 * kMiB, stream), "cuMemAllocAsync");
      check(freeAsync(memory, stream), "cuMemFreeAsync");
    }
    CALL(cuStreamSynchronize, stream);
  });
  print("cuMemAllocAsync + cuMemFreeAsync, 2 MiB", pool / kCalls * 1e6, "us");
  CALL(cuStreamDestroy_v2, stream);
  const size_t host = 256 * kMiB;
  const double hostTime = medianOf(5, [&] {
    void* pages;
    CALL(cuMemHostAlloc, &pages, host, 0);
    CALL(cuMemFreeHost, pages);
  });
  printRate("cuMemHostAlloc + cuMemFreeHost, 256 MiB", host, hostTime);
}

void virtualMemory() {
  CUdevice device;
  CALL(cuCtxGetDevice, &device);
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, {device}};
  const CUmemAccessDesc access{properties.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  const size_t bytes = 2 * kMiB;
  const double time = medianOf(200, [&] {
    CUdeviceptr address;
    CUmemGenericAllocationHandle handle;
    CALL(cuMemAddressReserve, &address, bytes, 0, 0, 0);
    CALL(cuMemCreate, &handle, bytes, &properties, 0);
    CALL(cuMemMap, address, bytes, 0, handle, 0);
    CALL(cuMemSetAccess, address, bytes, &access, 1);
    CALL(cuMemUnmap, address, bytes);
    CALL(cuMemRelease, handle);
    CALL(cuMemAddressFree, address, bytes);
  });
  print("virtual memory of 2 MiB, reserve to free", time * 1e6, "us");
}

// Host memory to the device and back: small ones, that the host waits for, and large ones.
void copiesOfTheHost() {
  const CUdeviceptr device = videoMemory(kLarge), other = videoMemory(kLarge);
  char* const pinned = pinnedMemory(kLarge);
  char* const second = pinnedMemory(kLarge);
  std::vector<char> pageable(kLarge, 1);
  const auto in = DRIVER(cuMemcpyHtoD_v2);
  const auto out = DRIVER(cuMemcpyDtoH_v2);
  const auto name = [](size_t bytes) { return bytes == 4 ? "4 B" : bytes == 4 * kKiB ? "4 KiB" : "64 KiB"; };
  for (const size_t bytes : {size_t{4}, 4 * kKiB, 64 * kKiB}) {
    for (char* const host : {pinned, pageable.data()}) {
      const std::string kind = host == pinned ? ", pinned" : ", pageable";
      print(std::string("HtoD ") + name(bytes) + kind,
            medianOf(500, [&] { check(in(device, host, bytes), "cuMemcpyHtoD"); }) * 1e6, "us");
      print(std::string("DtoH ") + name(bytes) + kind,
            medianOf(500, [&] { check(out(host, device, bytes), "cuMemcpyDtoH"); }) * 1e6, "us");
    }
  }
  printRate("HtoD 512 MiB, pinned", kLarge, medianOf(7, [&] { check(in(device, pinned, kLarge), "cuMemcpyHtoD"); }));
  printRate("DtoH 512 MiB, pinned", kLarge, medianOf(7, [&] { check(out(pinned, device, kLarge), "cuMemcpyDtoH"); }));
  CUstream streams[2];
  for (CUstream& stream : streams) CALL(cuStreamCreate, &stream, CU_STREAM_NON_BLOCKING);
  const double both = medianOf(7, [&] {
    CALL(cuMemcpyHtoDAsync_v2, device, pinned, kLarge, streams[0]);
    CALL(cuMemcpyDtoHAsync_v2, second, other, kLarge, streams[1]);
    synchronize();
  });
  printRate("512 MiB in and 512 MiB out at once, pinned", 2 * kLarge, both);
  char* const plain = pageable.data();
  printRate("HtoD 512 MiB, pageable", kLarge, medianOf(7, [&] { check(in(device, plain, kLarge), "cuMemcpyHtoD"); }));
  printRate("DtoH 512 MiB, pageable", kLarge, medianOf(7, [&] { check(out(plain, device, kLarge), "cuMemcpyDtoH"); }));
  for (CUstream stream : streams) CALL(cuStreamDestroy_v2, stream);
  for (char* const host : {pinned, second}) CALL(cuMemFreeHost, host);
  for (const CUdeviceptr memory : {device, other}) CALL(cuMemFree_v2, memory);
}

// Inside the device; each is waited for.
void copiesOfTheDevice() {
  const CUdeviceptr to = videoMemory(kLarge), from = videoMemory(kLarge);
  const auto rate = [](const std::string& name, size_t bytes, const std::function<void()>& work) {
    const auto waited = [&] {
      work();
      synchronize();
    };
    medianOf(3, waited);
    printRate(name, bytes, medianOf(30, waited));
  };
  rate("DtoD 512 MiB", kLarge, [&] { CALL(cuMemcpyDtoD_v2, to, from, kLarge); });
  rate("DtoD 16 MiB", 16 * kMiB, [&] { CALL(cuMemcpyDtoD_v2, to, from, 16 * kMiB); });
  rate("DtoD 1 MiB", kMiB, [&] { CALL(cuMemcpyDtoD_v2, to, from, kMiB); });
  constexpr size_t kUneven = 100'000'016;  // bytes
  rate("DtoD 100000016 B", kUneven, [&] { CALL(cuMemcpyDtoD_v2, to, from, kUneven); });
  rate("fill of 512 MiB, bytes", kLarge, [&] { CALL(cuMemsetD8_v2, to, 7, kLarge); });
  rate("fill of 512 MiB, words", kLarge, [&] { CALL(cuMemsetD32_v2, to, 7, kLarge / 4); });
  rate("fill of 16 MiB, bytes", 16 * kMiB, [&] { CALL(cuMemsetD8_v2, to, 7, 16 * kMiB); });
  struct {
    size_t width, height, pitch;
  } const boxes[] = {{4000, 8192, 4096}, {16, 65535, 32}, {1023, 30000, 1024}};
  for (const auto& box : boxes) {
    CUDA_MEMCPY2D copy{};
    copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    copy.srcDevice = from;
    copy.dstDevice = to;
    copy.srcPitch = copy.dstPitch = box.pitch;
    copy.WidthInBytes = box.width;
    copy.Height = box.height;
    const std::string size = std::to_string(box.width) + " x " + std::to_string(box.height);
    rate("2D DtoD " + size, box.width * box.height, [&] { CALL(cuMemcpy2D_v2, &copy); });
    rate("2D fill " + size + ", bytes", box.width * box.height,
         [&] { CALL(cuMemsetD2D8_v2, to, box.pitch, 7, box.width, box.height); });
  }
  CUDA_ARRAY_DESCRIPTOR floats{4096, 4096, CU_AD_FORMAT_FLOAT, 1};
  CUarray array;
  CALL(cuArrayCreate_v2, &array, &floats);
  CUDA_MEMCPY2D copy{};
  copy.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.srcDevice = from;
  copy.srcPitch = copy.WidthInBytes = 16 * kKiB;
  copy.dstMemoryType = CU_MEMORYTYPE_ARRAY;
  copy.dstArray = array;
  copy.Height = 4096;
  rate("linear memory to a 4096 x 4096 float array", 64 * kMiB, [&] { CALL(cuMemcpy2D_v2, &copy); });
  copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.dstDevice = to;
  copy.dstPitch = copy.srcPitch;
  copy.srcMemoryType = CU_MEMORYTYPE_ARRAY;
  copy.srcArray = array;
  rate("a 4096 x 4096 float array to linear memory", 64 * kMiB, [&] { CALL(cuMemcpy2D_v2, &copy); });
  CALL(cuArrayDestroy, array);
  for (const CUdeviceptr memory : {to, from}) CALL(cuMemFree_v2, memory);
}

void launches() {
  CUmodule module;
  CALL(cuModuleLoadData, &module, kPtx);
  CUfunction nothing;
  CALL(cuModuleGetFunction, &nothing, module, "nothing");
  CUstream stream;
  CALL(cuStreamCreate, &stream, CU_STREAM_NON_BLOCKING);
  const auto call = DRIVER(cuLaunchKernel);
  const auto wait = DRIVER(cuStreamSynchronize);
  uint64_t a = 0, b = 0;
  void* parameters[] = {&a, &b};
  const auto launch = [&] { check(call(nothing, 1, 1, 1, 1, 1, 1, 0, stream, parameters, nullptr), "cuLaunchKernel"); };
  const auto synchronized = [&] { check(wait(stream), "cuStreamSynchronize"); };
  launch();
  synchronized();
  constexpr int kRow = 20, kMany = 10000;
  std::vector<double> rows;
  for (int i = 0; i < 300; ++i) {
    const double begin = now();
    for (int j = 0; j < kRow; ++j) launch();
    rows.push_back((now() - begin) / kRow);
    synchronized();
    for (const double until = now() + 2e-4; now() < until;) {
    }
  }
  std::nth_element(rows.begin(), rows.begin() + 150, rows.end());
  print("kernel launch, 20 in a row", rows[150] * 1e6, "us");
  const double many = medianOf(3, [&] {
    for (int i = 0; i < kMany; ++i) launch();
    synchronized();
  });
  print("10000 launches of one stream, each", many / kMany * 1e6, "us");
  const double trip = medianOf(1000, [&] {
    launch();
    synchronized();
  });
  print("kernel launch and wait", trip * 1e6, "us");
  CUevent event;
  CALL(cuEventCreate, &event, 0);
  const auto record = DRIVER(cuEventRecord);
  const double recorded = medianOf(20, [&] {
    for (int i = 0; i < 100; ++i) check(record(event, stream), "cuEventRecord");
    synchronized();
  });
  print("cuEventRecord", recorded / 100 * 1e6, "us");
  const double made = medianOf(200, [] {
    CUstream another;
    CALL(cuStreamCreate, &another, CU_STREAM_NON_BLOCKING);
    CALL(cuStreamDestroy_v2, another);
  });
  print("cuStreamCreate + cuStreamDestroy", made * 1e6, "us");
}

// What follows each other without the host in between: copies and kernels of a stream, streams that wait for each
// other.
void chains(CUfunction nothing) {
  constexpr int kStreams = 8, kChain = 200;
  constexpr size_t kBytes = 64 * kKiB;
  CUstream streams[kStreams];
  CUevent events[2];
  for (CUstream& stream : streams) CALL(cuStreamCreate, &stream, CU_STREAM_NON_BLOCKING);
  for (CUevent& event : events) CALL(cuEventCreate, &event, CU_EVENT_DISABLE_TIMING);
  char* const host = pinnedMemory(kStreams * kBytes);
  const CUdeviceptr device = videoMemory(kStreams * kBytes);
  uint64_t a = 0, b = 0;
  void* parameters[] = {&a, &b};
  const auto launch = [&](CUstream stream) {
    CALL(cuLaunchKernel, nothing, 1, 1, 1, 1, 1, 1, 0, stream, parameters, nullptr);
  };
  const auto link = [&](int i) {
    const size_t at = static_cast<size_t>(i) * kBytes;
    CALL(cuMemcpyHtoDAsync_v2, device + at, host + at, kBytes, streams[i]);
    launch(streams[i]);
    CALL(cuMemcpyDtoHAsync_v2, host + at, device + at, kBytes, streams[i]);
  };
  const auto each = [&](const std::string& name, int count, const std::function<void()>& work) {
    const auto waited = [&] {
      work();
      synchronize();
    };
    medianOf(3, waited);
    print(name, medianOf(9, waited) / count * 1e6, "us");
  };
  const std::string what = "64 KiB in, kernel, 64 KiB out, pinned";
  each(what + ", each waited for", 1, [&] { link(0); });
  each(what + ", in a row, each", kChain, [&] {
    for (int i = 0; i < kChain; ++i) link(0);
  });
  each(what + ", 8 streams, each", kChain, [&] {
    for (int i = 0; i < kChain; ++i) link(i % kStreams);
  });
  each("kernel, and wait of another stream for its event, each", 2 * kChain, [&] {
    for (int i = 0; i < 2 * kChain; ++i) {
      launch(streams[i % 2]);
      CALL(cuEventRecord, events[i % 2], streams[i % 2]);
      CALL(cuStreamWaitEvent, streams[(i + 1) % 2], events[i % 2], 0);
    }
  });
  for (CUstream stream : streams) CALL(cuStreamDestroy_v2, stream);
  for (CUevent event : events) CALL(cuEventDestroy_v2, event);
  CALL(cuMemFreeHost, host);
  CALL(cuMemFree_v2, device);
}

// Graphs in which each node follows the one before: kernels alone, and kernels behind fills.
void graphs(CUfunction nothing) {
  constexpr int kNodes = 1000;
  constexpr size_t kBytes = 4 * kKiB;
  CUstream stream;
  CALL(cuStreamCreate, &stream, CU_STREAM_NON_BLOCKING);
  CUcontext context;
  CALL(cuCtxGetCurrent, &context);
  const CUdeviceptr device = videoMemory(kBytes);
  uint64_t a = 0, b = 0;
  void* parameters[] = {&a, &b};
  CUDA_KERNEL_NODE_PARAMS kernel{};
  kernel.func = nothing;
  kernel.gridDimX = kernel.gridDimY = kernel.gridDimZ = 1;
  kernel.blockDimX = kernel.blockDimY = kernel.blockDimZ = 1;
  kernel.kernelParams = parameters;
  CUDA_MEMSET_NODE_PARAMS fill{};
  fill.dst = device;
  fill.elementSize = 1;
  fill.width = kBytes;
  fill.height = 1;
  const auto measure = [&](const std::string& name, bool fills) {
    CUgraph graph;
    CUgraphExec executable;
    CUgraphNode last{};
    CALL(cuGraphCreate, &graph, 0);
    for (int i = 0; i < kNodes; ++i) {
      CUgraphNode node;
      if (fills && i % 2 == 0)
        CALL(cuGraphAddMemsetNode, &node, graph, &last, i > 0, &fill, context);
      else
        CALL(cuGraphAddKernelNode_v2, &node, graph, &last, i > 0, &kernel);
      last = node;
    }
    CALL(cuGraphInstantiateWithFlags, &executable, graph, 0);
    const auto launch = [&] {
      CALL(cuGraphLaunch, executable, stream);
      CALL(cuStreamSynchronize, stream);
    };
    medianOf(3, launch);
    print(name, medianOf(20, launch) / kNodes * 1e6, "us");
    CALL(cuGraphExecDestroy, executable);
    CALL(cuGraphDestroy, graph);
  };
  measure("graph of 1000 kernels in a chain, each", false);
  measure("graph of 500 fills and 500 kernels in a chain, each", true);
  CALL(cuMemFree_v2, device);
  CALL(cuStreamDestroy_v2, stream);
}

// What cuEventElapsedTime says of one kernel.
void elapsedTimes(CUfunction nothing, CUfunction busy) {
  CUstream stream;
  CUevent from, to;
  CALL(cuStreamCreate, &stream, CU_STREAM_NON_BLOCKING);
  CALL(cuEventCreate, &from, 0);
  CALL(cuEventCreate, &to, 0);
  uint64_t a = 0, b = 0;
  const auto elapsed = [&](CUfunction kernel, uint64_t nanoseconds, bool behindAnother) {
    void* parameters[] = {&a, &b};
    std::vector<float> times(101);
    for (float& time : times) {
      a = 20'000;
      if (behindAnother) CALL(cuLaunchKernel, busy, 1, 1, 1, 1, 1, 1, 0, stream, parameters, nullptr);
      a = nanoseconds;
      CALL(cuEventRecord, from, stream);
      CALL(cuLaunchKernel, kernel, 1, 1, 1, 1, 1, 1, 0, stream, parameters, nullptr);
      CALL(cuEventRecord, to, stream);
      CALL(cuEventSynchronize, to);
      CALL(cuEventElapsedTime, &time, from, to);
    }
    std::nth_element(times.begin(), times.begin() + 50, times.end());
    return times[50] * 1e3;
  };
  print("elapsed time of an empty kernel, idle stream", elapsed(nothing, 0, false), "us");
  print("elapsed time of an empty kernel behind another", elapsed(nothing, 0, true), "us");
  print("elapsed time of a kernel of 1 ms, idle stream", elapsed(busy, 1'000'000, false), "us");
  print("elapsed time of a kernel of 1 ms behind another", elapsed(busy, 1'000'000, true), "us");
  CALL(cuStreamDestroy_v2, stream);
  for (CUevent event : {from, to}) CALL(cuEventDestroy_v2, event);
}

void programmatic(CUfunction early) {
  CUstream stream;
  CALL(cuStreamCreate, &stream, CU_STREAM_NON_BLOCKING);
  uint64_t nanoseconds = 2000;
  void* parameters[] = {&nanoseconds};
  CUlaunchAttribute attribute{};
  attribute.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
  attribute.value.programmaticStreamSerializationAllowed = 1;
  CUlaunchConfig config{};
  config.gridDimX = 64;
  config.blockDimX = 128;
  config.gridDimY = config.gridDimZ = config.blockDimY = config.blockDimZ = 1;
  config.hStream = stream;
  config.attrs = &attribute;
  constexpr unsigned kLaunches = 200;
  for (const unsigned attributes : {0u, 1u}) {
    config.numAttrs = attributes;
    const double each = medianOf(20, [&] {
      for (unsigned i = 0; i < kLaunches; ++i) CALL(cuLaunchKernelEx, &config, early, parameters, nullptr);
      CALL(cuStreamSynchronize, stream);
    });
    print(std::string(attributes ? "programmatic" : "plain") + " launches of a stream, 2 us and 2 us, each",
          each / kLaunches * 1e6, "us");
  }
  CALL(cuStreamDestroy_v2, stream);
}

// A small grid beside a large one of short blocks that was there before.
void priorities(CUfunction busy) {
  int least, greatest;
  CALL(cuCtxGetStreamPriorityRange, &least, &greatest);
  CUstream background, urgent, equal;
  CALL(cuStreamCreateWithPriority, &background, CU_STREAM_NON_BLOCKING, least);
  CALL(cuStreamCreateWithPriority, &urgent, CU_STREAM_NON_BLOCKING, greatest);
  CALL(cuStreamCreateWithPriority, &equal, CU_STREAM_NON_BLOCKING, least);
  uint64_t nanoseconds = 0;
  void* parameters[] = {&nanoseconds};
  const auto launch = [&](CUstream stream, unsigned blocks, uint64_t duration) {
    nanoseconds = duration;
    CALL(cuLaunchKernel, busy, blocks, 1, 1, 128, 1, 1, 0, stream, parameters, nullptr);
  };
  const auto measure = [&](const char* name, CUstream stream) {
    launch(stream, 1, 1);
    synchronize();
    std::vector<double> times;
    for (int i = 0; i < 41; ++i) {
      launch(background, 100'000, 50'000);
      for (const double until = now() + 4e-4 + i * 1.3e-6; now() < until;) {
      }
      const double begin = now();
      launch(stream, 132, 1000);
      CALL(cuStreamSynchronize, stream);
      times.push_back(now() - begin);
      synchronize();
    }
    std::nth_element(times.begin(), times.begin() + 20, times.end());
    print(name, times[20] * 1e6, "us");
  };
  measure("small grid beside a large one, of the same priority", equal);
  measure("small grid beside a large one, of the greatest priority", urgent);
  for (CUstream stream : {background, urgent, equal}) CALL(cuStreamDestroy_v2, stream);
}

void ordered() {
  CUmodule module;
  CALL(cuModuleLoadData, &module, kPtx);
  CUfunction nothing, busy, early;
  CALL(cuModuleGetFunction, &nothing, module, "nothing");
  CALL(cuModuleGetFunction, &busy, module, "busy");
  CALL(cuModuleGetFunction, &early, module, "early");
  chains(nothing);
  graphs(nothing);
  elapsedTimes(nothing, busy);
  programmatic(early);
  priorities(busy);
}

}  // namespace

int main() {
  startUp();
  allocations();
  virtualMemory();
  copiesOfTheHost();
  copiesOfTheDevice();
  launches();
  ordered();
}
