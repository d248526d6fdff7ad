// What lookups, allocations and our own bookkeeping cost with 100 to 1,000,000 live allocations: all must stay flat.
// Limits stand in targets.tsv, the picture in docs/scaling.svg (bench/plot-scaling).
//
//   VERDIGRIS_PROFILE=h200 build/release/bin/scaling_bench     (a million allocations of 64 KiB need addresses only)
#include <malloc.h>
#include <sys/wait.h>

#include <algorithm>
#include <fstream>
#include <random>
#include <vector>

#include "cases.h"

namespace vg::bench {
namespace {

constexpr size_t kMost = 1'000'000;

enum class Way { Plain, Ordered };  // cuMemAlloc, cuMemAllocAsync

CUstream stream() {
  static CUstream const made = [] {
    CUstream created = nullptr;
    check(DRIVER(cuStreamCreate)(&created, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
    return created;
  }();
  return made;
}

CUdeviceptr allocate(Way way, size_t bytes) {
  static auto* const plain = DRIVER(cuMemAlloc_v2);
  static auto* const ordered = DRIVER(cuMemAllocAsync);
  CUdeviceptr address = 0;
  check(way == Way::Plain ? plain(&address, bytes) : ordered(&address, bytes, stream()), "allocating");
  return address;
}

void release(Way way, CUdeviceptr address) {
  static auto* const plain = DRIVER(cuMemFree_v2);
  static auto* const ordered = DRIVER(cuMemFreeAsync);
  check(way == Way::Plain ? plain(address) : ordered(address, stream()), "freeing");
}

// Resident bytes of this process. Nobody touches the allocations, so what they add is bookkeeping.
size_t resident() {
  size_t total = 0, pages = 0;
  std::ifstream("/proc/self/statm") >> total >> pages;
  return pages * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

// So many live allocations of `least` to `most` bytes.
class Population {
 public:
  Population(Way way, size_t count, size_t least, size_t most) : way_(way), live_(count) {
    static const CUcontext context = start();
    check(DRIVER(cuCtxSetCurrent)(context), "cuCtxSetCurrent");
    std::mt19937 random(7);
    const size_t before = resident();
    for (CUdeviceptr& address : live_) address = allocate(way, least + random() % (most - least + 1));
    bookkeeping_ = static_cast<double>(resident() - std::min(before, resident())) / static_cast<double>(count);
    asked_.resize(std::max(count, size_t{1} << 16));
    for (size_t& index : asked_) index = random() % count;
  }
  ~Population() {
    for (CUdeviceptr address : live_) release(way_, address);
    DRIVER(cuStreamSynchronize)(stream());
    CUmemoryPool pool = nullptr;
    DRIVER(cuDeviceGetDefaultMemPool)(&pool, 0);
    DRIVER(cuMemPoolTrimTo)(pool, 0);
    malloc_trim(0);
  }
  // In an order that no predictor can learn.
  CUdeviceptr& next() { return live_[asked_[at_ = at_ + 1 < asked_.size() ? at_ + 1 : 0]]; }
  double bookkeeping() const { return bookkeeping_; }

 private:
  const Way way_;
  std::vector<CUdeviceptr> live_;
  std::vector<size_t> asked_;
  size_t at_ = 0;
  double bookkeeping_ = 0;
};

// What the processor's caches alone make of it: one line of memory an allocation, in a random order, each read waiting
// for the one before.
void oneLine(benchmark::State& state, size_t count) {
  struct alignas(64) Line {
    size_t zero = 0;
  };
  const std::vector<Line> lines(count);
  std::vector<size_t> asked(std::max(count, size_t{1} << 16));
  std::mt19937 random(7);
  for (size_t& index : asked) index = random() % count;
  size_t read = 0, at = 0;
  for (auto _ : state) {
    read = lines[asked[at] + read].zero;
    benchmark::DoNotOptimize(read);
    at = at + 1 < asked.size() ? at + 1 : 0;
  }
}

void lookup(benchmark::State& state, size_t count) {
  Population population(Way::Plain, count, 1, 4096);
  const auto get = DRIVER(cuPointerGetAttribute);
  unsigned type = 0;
  for (auto _ : state) {
    get(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, population.next());
    benchmark::DoNotOptimize(type);
  }
}

// One allocation more, and its end.
void oneMore(benchmark::State& state, Way way, size_t count) {
  const Population population(way, count, 1, 4096);
  for (auto _ : state) release(way, allocate(way, 1000));
}

// A random one goes and another comes.
void replace(benchmark::State& state, Way way, size_t count) {
  Population population(way, count, 1, 4096);
  for (auto _ : state) {
    CUdeviceptr& one = population.next();
    release(way, one);
    one = allocate(way, 1000);
  }
}

// Bytes of bookkeeping for each of a million allocations: the counter; the time is that of making and ending them. In a
// process of its own, because what was used before is used again.
void bookkeeping(benchmark::State& state, Way way, size_t count, size_t least, size_t most) {
  double bytes = 0;
  for (auto _ : state) {
    int ends[2];
    if (pipe(ends)) std::exit(1);
    if (const pid_t child = fork(); child == 0) {
      bytes = Population(way, count, least, most).bookkeeping();
      _exit(write(ends[1], &bytes, sizeof bytes) != sizeof bytes);
    } else {
      int status = 0;
      waitpid(child, &status, 0);
      if (status || read(ends[0], &bytes, sizeof bytes) != sizeof bytes) std::exit(1);
    }
    close(ends[0]);
    close(ends[1]);
  }
  state.counters["bytes"] = bytes;
}

template <class... Args>
benchmark::internal::Benchmark* add(const std::string& name, Args... args) {
  return benchmark::RegisterBenchmark(name.c_str(), args...)->Unit(benchmark::kNanosecond);
}

void addAll() {
  // First: their processes must not inherit a library in use.
  for (const Way way : {Way::Plain, Way::Ordered}) {
    const std::string call = way == Way::Plain ? "cuMemAlloc" : "cuMemAllocAsync";
    for (const auto& [name, least, most] : {std::tuple<const char*, size_t, size_t>{"512", 512, 512},
                                            {"1-4096", 1, 4096},
                                            {"32768", 32768, 32768},
                                            {"65536", 65536, 65536}})
      add("bookkeeping/" + call + "/" + name + "/1000000", bookkeeping, way, kMost, least, most)
          ->Iterations(1)
          ->Unit(benchmark::kMillisecond);
  }
  for (size_t count = 100; count <= kMost; count *= 10) {
    const std::string live = "/" + std::to_string(count);
    add("one-line/read" + live, oneLine, count);
    add("lookup/cuPointerGetAttribute" + live, lookup, count);
    add("one-more/cuMemAlloc+cuMemFree" + live, oneMore, Way::Plain, count);
    add("one-more/cuMemAllocAsync+cuMemFreeAsync" + live, oneMore, Way::Ordered, count);
    add("replace/cuMemFree+cuMemAlloc" + live, replace, Way::Plain, count);
    add("replace/cuMemFreeAsync+cuMemAllocAsync" + live, replace, Way::Ordered, count);
  }
}

}  // namespace
}  // namespace vg::bench

int main(int count, char** arguments) {
  return vg::bench::runBenchmarks(count, arguments, [] {
    setenv("VERDIGRIS_PROFILE", "h200", 0);
    vg::bench::addAll();
  });
}
