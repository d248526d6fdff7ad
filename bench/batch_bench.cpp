// A thousand copies of 64 bytes between scattered places: as one batch, as a thousand calls, and as a plain loop of
// memcpy over the same places. A time is that of the thousand, stream synchronised.
//
//   build/release/bin/batch_bench
#include <cstring>
#include <random>
#include <vector>

#include "cases.h"

namespace vg::bench {
namespace {

constexpr size_t kCopies = 1000, kBytes = 64, kRoom = size_t{4} << 20;
enum class Memory { Device, Pinned, Pageable };
enum class Way { Memcpy, Calls, Batch };

CUdeviceptr allocate(Memory memory) {
  CUdeviceptr address = 0;
  void* host = nullptr;
  if (memory == Memory::Device) check(DRIVER(cuMemAlloc_v2)(&address, kRoom), "cuMemAlloc");
  if (memory == Memory::Pinned) check(DRIVER(cuMemHostAlloc)(&host, kRoom, 0), "cuMemHostAlloc");
  if (memory == Memory::Pageable) host = std::aligned_alloc(4096, kRoom);
  if (!host) return address;
  std::memset(host, 1, kRoom);
  return reinterpret_cast<CUdeviceptr>(host);
}

// Places in an order that no predictor can learn.
std::vector<CUdeviceptr> places(CUdeviceptr base, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<CUdeviceptr> made(kCopies);
  for (CUdeviceptr& place : made) place = base + random() % (kRoom / kBytes) * kBytes;
  return made;
}

void copyThousand(benchmark::State& state, Way way, Memory from) {
  std::vector<CUdeviceptr> to = places(allocate(Memory::Device), 1), source = places(allocate(from), 2);
  std::vector<size_t> sizes(kCopies, kBytes);
  CUmemcpyAttributes attributes{};
  attributes.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
  size_t start = 0;
  CUstream stream;
  check(DRIVER(cuStreamCreate)(&stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
  const auto batch = DRIVER(cuMemcpyBatchAsync_v2);
  const auto copy = DRIVER(cuMemcpyAsync);
  const auto synchronize = DRIVER(cuStreamSynchronize);
  for (auto _ : state) {
    switch (way) {
      case Way::Memcpy:
        for (size_t i = 0; i < kCopies; ++i)
          std::memcpy(reinterpret_cast<void*>(to[i]), reinterpret_cast<const void*>(source[i]), sizes[i]);
        benchmark::ClobberMemory();
        break;
      case Way::Calls:
        for (size_t i = 0; i < kCopies; ++i) copy(to[i], source[i], sizes[i], stream);
        synchronize(stream);
        break;
      case Way::Batch:
        check(batch(to.data(), source.data(), sizes.data(), kCopies, &attributes, &start, 1, stream), "batch");
        synchronize(stream);
        break;
    }
  }
  DRIVER(cuStreamDestroy_v2)(stream);
}

void addAll() {
  const char* const ways[] = {"memcpy", "cuMemcpyAsync", "cuMemcpyBatchAsync"};
  const char* const memories[] = {"device", "pinned", "pageable"};
  for (int memory = 0; memory < 3; ++memory)
    for (int way = 0; way < 3; ++way) {
      const std::string name = std::string("batch/") + ways[way] + "/from-" + memories[memory] + "/1000x64";
      benchmark::RegisterBenchmark(name.c_str(), copyThousand, static_cast<Way>(way), static_cast<Memory>(memory))
          ->Repetitions(9)
          ->ReportAggregatesOnly(true)
          ->MinTime(0.02)
          ->Unit(benchmark::kNanosecond);
    }
}

}  // namespace
}  // namespace vg::bench

int main(int count, char** arguments) {
  return vg::bench::runBenchmarks(count, arguments, [] {
    vg::bench::start();
    vg::bench::addAll();
  });
}
