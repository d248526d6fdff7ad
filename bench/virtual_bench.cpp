// Virtual memory management through the exported functions: what a growing buffer costs, whole and step by step. Limits
// stand in targets.tsv.
//
//   build/release/bin/virtual_bench
#include "cases.h"

namespace vg::bench {
namespace {

constexpr size_t kMiB = size_t{1} << 20;

CUmemAllocationProp onDevice() {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  return properties;
}

CUmemAccessDesc readWrite() { return {{CU_MEM_LOCATION_TYPE_DEVICE, 0}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE}; }

void wholeLife(benchmark::State& state) {
  const auto bytes = static_cast<size_t>(state.range(0));
  const CUmemAllocationProp properties = onDevice();
  const CUmemAccessDesc access = readWrite();
  for (auto _ : state) {
    CUdeviceptr address;
    CUmemGenericAllocationHandle memory;
    check(DRIVER(cuMemAddressReserve)(&address, bytes, 0, 0, 0), "reserve");
    check(DRIVER(cuMemCreate)(&memory, bytes, &properties, 0), "create");
    check(DRIVER(cuMemMap)(address, bytes, 0, memory, 0), "map");
    check(DRIVER(cuMemSetAccess)(address, bytes, &access, 1), "access");
    check(DRIVER(cuMemUnmap)(address, bytes), "unmap");
    check(DRIVER(cuMemRelease)(memory), "release");
    check(DRIVER(cuMemAddressFree)(address, bytes), "free");
  }
}

void reserve(benchmark::State& state) {
  const auto bytes = static_cast<size_t>(state.range(0));
  for (auto _ : state) {
    CUdeviceptr address;
    check(DRIVER(cuMemAddressReserve)(&address, bytes, 0, 0, 0), "reserve");
    check(DRIVER(cuMemAddressFree)(address, bytes), "free");
  }
}

void create(benchmark::State& state) {
  const auto bytes = static_cast<size_t>(state.range(0));
  const CUmemAllocationProp properties = onDevice();
  for (auto _ : state) {
    CUmemGenericAllocationHandle memory;
    check(DRIVER(cuMemCreate)(&memory, bytes, &properties, 0), "create");
    check(DRIVER(cuMemRelease)(memory), "release");
  }
}

void map(benchmark::State& state) {
  const auto bytes = static_cast<size_t>(state.range(0));
  const CUmemAllocationProp properties = onDevice();
  const CUmemAccessDesc access = readWrite();
  CUdeviceptr address;
  CUmemGenericAllocationHandle memory;
  check(DRIVER(cuMemAddressReserve)(&address, bytes, 0, 0, 0), "reserve");
  check(DRIVER(cuMemCreate)(&memory, bytes, &properties, 0), "create");
  for (auto _ : state) {
    check(DRIVER(cuMemMap)(address, bytes, 0, memory, 0), "map");
    check(DRIVER(cuMemSetAccess)(address, bytes, &access, 1), "access");
    check(DRIVER(cuMemUnmap)(address, bytes), "unmap");
  }
  check(DRIVER(cuMemRelease)(memory), "release");
  check(DRIVER(cuMemAddressFree)(address, bytes), "free");
}

BENCHMARK(wholeLife)->Name("virtual/reserve to free")->Arg(2 * kMiB)->Arg(64 * kMiB);
BENCHMARK(reserve)->Name("virtual/reserve+free")->Arg(2 * kMiB);
BENCHMARK(create)->Name("virtual/create+release")->Arg(2 * kMiB);
BENCHMARK(map)->Name("virtual/map+access+unmap")->Arg(2 * kMiB);

}  // namespace
}  // namespace vg::bench

int main(int count, char** arguments) {
  return vg::bench::runBenchmarks(count, arguments, [] { vg::bench::start(); });
}
