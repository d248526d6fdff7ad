// Page-locked memory: allocated and registered through the exported functions, beside what the kernel takes for the
// same pages on its own. Limits stand in targets.tsv.
//
//   build/release/bin/host_memory_bench
#include <sys/mman.h>

#include <cstring>

#include "cases.h"

namespace vg::bench {
namespace {

constexpr size_t kMiB = size_t{1} << 20;

void perByte(benchmark::State& state) {
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations()) * state.range(0));
}

void allocate(benchmark::State& state) {
  const auto bytes = static_cast<size_t>(state.range(0));
  for (auto _ : state) {
    void* memory;
    check(DRIVER(cuMemHostAlloc)(&memory, bytes, 0), "cuMemHostAlloc");
    check(DRIVER(cuMemFreeHost)(memory), "cuMemFreeHost");
  }
  perByte(state);
}

// Pages of the application, touched.
class Touched {
 public:
  explicit Touched(size_t bytes) : bytes_(bytes) {
    memory_ = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    std::memset(memory_, 1, bytes);
  }
  ~Touched() { munmap(memory_, bytes_); }
  void* data() { return memory_; }

 private:
  size_t bytes_;
  void* memory_;
};

void registerTouched(benchmark::State& state) {
  const auto bytes = static_cast<size_t>(state.range(0));
  Touched memory(bytes);
  for (auto _ : state) {
    check(DRIVER(cuMemHostRegister_v2)(memory.data(), bytes, 0), "cuMemHostRegister");
    check(DRIVER(cuMemHostUnregister)(memory.data()), "cuMemHostUnregister");
  }
  perByte(state);
}

// The kernel's own limits.
void lockTouched(benchmark::State& state) {
  const auto bytes = static_cast<size_t>(state.range(0));
  Touched memory(bytes);
  for (auto _ : state)
    if (mlock(memory.data(), bytes) || munlock(memory.data(), bytes)) {
      state.SkipWithError("the limit of locked memory is too low");
      break;
    }
  perByte(state);
}

void mapPopulated(benchmark::State& state) {
  const auto bytes = static_cast<size_t>(state.range(0));
  for (auto _ : state) {
    void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    munmap(memory, bytes);
  }
  perByte(state);
}

void sizes(benchmark::internal::Benchmark* made) {
  made->Arg(1 * kMiB)->Arg(16 * kMiB)->Arg(256 * kMiB)->Unit(benchmark::kMicrosecond);
}
BENCHMARK(allocate)->Name("cuMemHostAlloc+cuMemFreeHost")->Apply(sizes);
BENCHMARK(mapPopulated)->Name("mmap+munmap, populated")->Apply(sizes);
BENCHMARK(registerTouched)->Name("cuMemHostRegister+cuMemHostUnregister")->Apply(sizes);
BENCHMARK(lockTouched)->Name("mlock+munlock")->Apply(sizes);

}  // namespace
}  // namespace vg::bench

int main(int count, char** arguments) {
  return vg::bench::runBenchmarks(count, arguments, [] { vg::bench::start(); });
}
