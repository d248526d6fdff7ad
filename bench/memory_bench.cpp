// Pointer lookup, allocation and small copies through the exported functions, and the tables below
// them. Their limits stand in targets.tsv.
//
//   build/release/bin/memory_bench
#include <cstring>
#include <random>
#include <vector>

#include "alloc/heap.h"
#include "cases.h"

namespace vg::bench {
namespace {

constexpr int kRepetitions = 9;

void repeated(benchmark::internal::Benchmark* made) {
  made->Repetitions(kRepetitions)->ReportAggregatesOnly(true)->MinTime(0.02)->Unit(benchmark::kNanosecond);
}

// 10,000 live allocations, asked in an order that no predictor can learn.
struct Population {
  std::vector<CUdeviceptr> asked;
  Population() {
    std::mt19937 random(1);
    std::vector<CUdeviceptr> live(10000);
    for (CUdeviceptr& address : live) check(DRIVER(cuMemAlloc_v2)(&address, 1 + random() % 20000), "cuMemAlloc");
    for (int i = 0; i < 1 << 16; ++i) asked.push_back(live[random() % live.size()] + random() % 2);
  }
};

void lookup(benchmark::State& state, CUpointer_attribute attribute) {
  static const Population population;
  const auto get = DRIVER(cuPointerGetAttribute);
  uint64_t value = 0;
  size_t i = 0;
  for (auto _ : state) {
    get(&value, attribute, population.asked[i++ % population.asked.size()]);
    benchmark::DoNotOptimize(value);
  }
}

void lookupUnknown(benchmark::State& state) {
  const auto get = DRIVER(cuPointerGetAttributes);
  unsigned type = 0;
  CUpointer_attribute attribute = CU_POINTER_ATTRIBUTE_MEMORY_TYPE;
  void* data = &type;
  for (auto _ : state) get(1, &attribute, &data, reinterpret_cast<CUdeviceptr>(&type));
}

void addressRange(benchmark::State& state) {
  static const Population population;
  const auto get = DRIVER(cuMemGetAddressRange_v2);
  CUdeviceptr base;
  size_t size, i = 0;
  for (auto _ : state) get(&base, &size, population.asked[i++ % population.asked.size()]);
}

void allocateAndFree(benchmark::State& state, size_t bytes) {
  const auto allocate = DRIVER(cuMemAlloc_v2);
  const auto release = DRIVER(cuMemFree_v2);
  for (auto _ : state) {
    CUdeviceptr address = 0;
    check(allocate(&address, bytes), "cuMemAlloc");
    release(address);
  }
}

void allocateMany(benchmark::State& state) {
  const auto allocate = DRIVER(cuMemAlloc_v2);
  const auto release = DRIVER(cuMemFree_v2);
  std::vector<CUdeviceptr> live(1000);
  for (auto _ : state) {
    for (CUdeviceptr& address : live) allocate(&address, 4096);
    for (CUdeviceptr address : live) release(address);
  }
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations() * live.size()));
}

void allocateOrdered(benchmark::State& state, size_t bytes) {
  const auto allocate = DRIVER(cuMemAllocAsync);
  const auto release = DRIVER(cuMemFreeAsync);
  CUstream stream;
  check(DRIVER(cuStreamCreate)(&stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
  for (auto _ : state) {
    CUdeviceptr address = 0;
    check(allocate(&address, bytes, stream), "cuMemAllocAsync");
    release(address, stream);
  }
  DRIVER(cuStreamDestroy_v2)(stream);
}

// The heap below, and malloc for comparison.
void heapAlone(benchmark::State& state, size_t bytes) {
  alloc::MemoryTable table;
  check(table.reserve(1, size_t{4} << 30), "reserve");
  alloc::ProcessMemory source;
  {
    alloc::Heap heap(table, 0, source, size_t{2} << 30, size_t{2} << 30);
    for (auto _ : state) {
      alloc::Record* record = heap.allocate(bytes, {}).value();
      heap.release(record->base.load(), record->id.load());
    }
  }
  table.unreserve();
}

void mallocAlone(benchmark::State& state, size_t bytes) {
  for (auto _ : state) {
    void* made = std::malloc(bytes);
    benchmark::DoNotOptimize(made);
    std::free(made);
  }
}

enum class Direction { HostToDevice, DeviceToHost, DeviceToDevice, Plain };

void smallCopy(benchmark::State& state, Direction direction, size_t bytes) {
  static char host[8192];
  CUdeviceptr a, b;
  check(DRIVER(cuMemAlloc_v2)(&a, 8192), "cuMemAlloc");
  check(DRIVER(cuMemAlloc_v2)(&b, 8192), "cuMemAlloc");
  const auto toDevice = DRIVER(cuMemcpyHtoD_v2);
  const auto toHost = DRIVER(cuMemcpyDtoH_v2);
  const auto inside = DRIVER(cuMemcpyDtoD_v2);
  volatile size_t size = bytes;  // no constant for the plain memcpy either
  for (auto _ : state) switch (direction) {
      case Direction::HostToDevice:
        toDevice(a, host, size);
        break;
      case Direction::DeviceToHost:
        toHost(host, a, size);
        break;
      case Direction::DeviceToDevice:
        inside(b, a, size);
        break;
      case Direction::Plain:
        std::memcpy(reinterpret_cast<void*>(a), host, size);
        benchmark::ClobberMemory();
    }
  DRIVER(cuMemFree_v2)(a);
  DRIVER(cuMemFree_v2)(b);
}

void smallFill(benchmark::State& state, size_t bytes) {
  CUdeviceptr a;
  check(DRIVER(cuMemAlloc_v2)(&a, 8192), "cuMemAlloc");
  const auto fill = DRIVER(cuMemsetD8_v2);
  for (auto _ : state) fill(a, 7, bytes);
  DRIVER(cuMemFree_v2)(a);
}

// Submitting while the stream has work: what an asynchronous copy costs the caller.
void submitCopy(benchmark::State& state) {
  CUstream stream;
  void* host;
  CUdeviceptr big, small;
  check(DRIVER(cuStreamCreate)(&stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
  check(DRIVER(cuMemHostAlloc)(&host, 4096, 0), "cuMemHostAlloc");
  check(DRIVER(cuMemAlloc_v2)(&big, size_t{256} << 20), "cuMemAlloc");
  check(DRIVER(cuMemAlloc_v2)(&small, 4096), "cuMemAlloc");
  const auto copy = DRIVER(cuMemcpyHtoDAsync_v2);
  const auto fill = DRIVER(cuMemsetD8Async);
  const auto synchronize = DRIVER(cuStreamSynchronize);
  constexpr int kBatch = 200;
  int left = 0;
  for (auto _ : state) {
    if (!left--) {
      state.PauseTiming();
      synchronize(stream);
      fill(big, 1, size_t{256} << 20, stream);
      left = kBatch;
      state.ResumeTiming();
    }
    copy(small, host, 64, stream);
  }
  synchronize(stream);
  DRIVER(cuMemFree_v2)(big);
  DRIVER(cuMemFree_v2)(small);
  DRIVER(cuMemFreeHost)(host);
  DRIVER(cuStreamDestroy_v2)(stream);
}

template <class... Args>
void add(const std::string& name, Args... args) {
  repeated(benchmark::RegisterBenchmark(name.c_str(), args...));
}

void addAll() {
  add("lookup/cuPointerGetAttribute/MEMORY_TYPE", lookup, CU_POINTER_ATTRIBUTE_MEMORY_TYPE);
  add("lookup/cuPointerGetAttribute/BUFFER_ID", lookup, CU_POINTER_ATTRIBUTE_BUFFER_ID);
  add("lookup/cuPointerGetAttributes/unregistered", lookupUnknown);
  add("lookup/cuMemGetAddressRange", addressRange);
  for (size_t bytes : {size_t{256}, size_t{4096}, size_t{65536}, size_t{1} << 20, size_t{2} << 20, size_t{16} << 20,
                       size_t{256} << 20, size_t{1} << 30}) {
    const std::string size = std::to_string(bytes);
    add("allocate/cuMemAlloc+cuMemFree/" + size, allocateAndFree, bytes);
    add("allocate/cuMemAllocAsync+cuMemFreeAsync/" + size, allocateOrdered, bytes);
    add("allocate/heap/" + size, heapAlone, bytes);
    add("allocate/malloc+free/" + size, mallocAlone, bytes);
  }
  add("allocate/1000x4096", allocateMany);
  for (size_t bytes : {size_t{4}, size_t{64}, size_t{4096}}) {
    const std::string size = std::to_string(bytes);
    add("copy/memcpy/" + size, smallCopy, Direction::Plain, bytes);
    add("copy/cuMemcpyHtoD/" + size, smallCopy, Direction::HostToDevice, bytes);
    add("copy/cuMemcpyDtoH/" + size, smallCopy, Direction::DeviceToHost, bytes);
    add("copy/cuMemcpyDtoD/" + size, smallCopy, Direction::DeviceToDevice, bytes);
    add("copy/cuMemsetD8/" + size, smallFill, bytes);
  }
  add("submit/cuMemcpyHtoDAsync/64", submitCopy);
}

}  // namespace
}  // namespace vg::bench

int main(int count, char** arguments) {
  return vg::bench::runBenchmarks(count, arguments, [] {
    vg::bench::start();
    vg::bench::addAll();
  });
}
