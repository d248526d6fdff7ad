// Steps of `verdigris gpu-check`: kernels. Native code for compute capability 9.0.
#include <algorithm>
#include <cstring>
#include <vector>

#include "backend/nvidia/channel/store_fence.h"
#include "backend/nvidia/compute/compute_engine.h"
#include "backend/nvidia/compute/fault_report.h"
#include "backend/nvidia/compute/native_code.h"
#include "tools/gpu_check.h"
#include "tools/gpu_check/bench.h"

namespace vg::tools {

using namespace backend::nvidia;

namespace {

#include "tools/gpu_check/kernels.inc"

constexpr size_t kMiB = size_t{1} << 20;
constexpr uint64_t kPatience = 2'000'000'000;  // ns

// Kernels in device memory, at fixed places of one block.
struct Kernels {
  std::unique_ptr<Block> code;
  KernelCode store, add, locals, reverse, stop, meet;
};

struct Test {
  GpuBench& bench;
  ComputeEngine& engine;
  Kernels& kernels;
  Block& host;   // pinned
  Block& video;  // seen by the CPU
};

Kernels load(GpuBench& bench) {
  Kernels k;
  Result<std::unique_ptr<Block>> block =
      Block::create(bench.gpu, bench.addresses, {Where::Video, kHugePage}, SeenBy::GpuAndCpu);
  if (!block.ok()) return k;
  k.code = std::move(*block);
  size_t at = 0;
  const auto place = [&](const NativeCode& native) {
    std::memcpy(k.code->start() + at, native.words, native.bytes);
    const KernelCode code = native.at(k.code->address(at));
    at += (native.bytes + 127) / 128 * 128;
    return code;
  };
  k.store = place(kStore);
  k.add = place(kAdd);
  k.locals = place(kLocals);
  k.reverse = place(kReverse);
  k.stop = place(kStop);
  k.meet = place(kMeet);
  return k;
}

// Sends and waits; false, with the channel's state printed, when the grid did not end.
template <class Parameters>
bool run(Test& t, unsigned lane, const KernelCode& code, const Grid& grid, const Parameters& parameters,
         const char* what, uint32_t bytes = sizeof(Parameters)) {
  const Result<Submission> sent =
      t.engine.launch(lane, {code, grid, reinterpret_cast<const std::byte*>(&parameters), bytes});
  if (sent.ok() && sent.value().wait(kPatience) == CUDA_SUCCESS) return true;
  t.bench.check(false, what, "%s", t.engine.channel(lane).channel().describe().c_str());
  return false;
}

struct StoreArguments {
  uint64_t to;
  uint32_t value;
};

bool checkStore(Test& t) {
  volatile uint32_t& word = *reinterpret_cast<volatile uint32_t*>(t.host.start());
  word = 0;
  const double start = microseconds();
  if (!run(t, 0, t.kernels.store, {}, StoreArguments{t.host.address(), 0x600d}, "one thread", 12)) return false;
  const double once = microseconds() - start;
  return t.bench.check(word == 0x600d, "one thread", "wrote %#x in %.1f us", word, once);
}

void checkAdd(Test& t) {
  constexpr uint32_t kCount = 1'000'003;
  float* const a = reinterpret_cast<float*>(t.host.start());
  float* const b = a + kCount;
  float* const c = b + kCount;
  for (uint32_t i = 0; i < kCount; ++i) {
    const uint32_t thousands = i / 1000;
    a[i] = static_cast<float>(i % 1000);
    b[i] = static_cast<float>(thousands);
  }
  struct {
    uint64_t a, b, c;
    uint32_t n;
  } const arguments{t.host.address(), t.host.address(4 * kCount), t.host.address(8 * kCount), kCount};
  Grid grid;
  grid.blocks[0] = (kCount + 255) / 256;
  grid.threads[0] = 256;
  if (!run(t, 1, t.kernels.add, grid, arguments, "sum of vectors", 28)) return;
  uint32_t wrong = 0;
  for (uint32_t i = 0; i < kCount; ++i) wrong += c[i] != a[i] + b[i];
  t.bench.check(!wrong, "sum of vectors", "%u of %u wrong", wrong, kCount);
}

void checkLocal(Test& t) {
  constexpr uint32_t kThreads = 256, kBlocks = 2000, kRounds = 100;
  const double start = microseconds();
  const CUresult reserved = t.engine.reserveLocal(1024);
  if (!t.bench.check(reserved == CUDA_SUCCESS, "local memory", "set up in %.0f us: %s", microseconds() - start,
                     t.engine.channel(0).channel().describe().c_str()))
    return;
  struct {
    uint64_t out;
    uint32_t n;
  } const arguments{t.host.address(), kRounds};
  Grid grid;
  grid.blocks[0] = kBlocks;
  grid.threads[0] = kThreads;
  if (!run(t, 2, t.kernels.locals, grid, arguments, "local memory", 12)) return;
  const uint32_t* const out = reinterpret_cast<const uint32_t*>(t.host.start());
  uint32_t wrong = 0;
  for (uint32_t thread = 0; thread < kThreads * kBlocks; ++thread) {
    uint32_t sum = 0;
    for (uint32_t i = 0; i < kRounds; ++i) sum += thread + ((i * 7 + thread) & 127);
    wrong += out[thread] != sum;
  }
  t.bench.check(!wrong, "local memory", "%u of %u threads wrong", wrong, kThreads * kBlocks);
}

void checkShared(Test& t) {
  for (const uint32_t dynamic : {4096u, 48u << 10, 100u << 10, 227u << 10}) {
    constexpr uint32_t kThreads = 1024, kBlocks = 300;
    uint32_t* const words = reinterpret_cast<uint32_t*>(t.host.start());
    for (uint32_t i = 0; i < kThreads * kBlocks; ++i) words[i] = i * 2654435761u;
    Grid grid;
    grid.blocks[0] = kBlocks;
    grid.threads[0] = kThreads;
    grid.dynamicShared = dynamic;
    const uint64_t data = t.host.address();
    if (!run(t, 3, t.kernels.reverse, grid, data, "shared memory")) return;
    uint32_t wrong = 0;
    for (uint32_t i = 0; i < kThreads * kBlocks; ++i)
      wrong += words[i] != (i / kThreads * kThreads + kThreads - 1 - i % kThreads) * 2654435761u;
    t.bench.check(!wrong, "shared memory", "%u bytes a block: %u words wrong", dynamic, wrong);
  }
}

// Kernels of two channels see each other at work.
void checkConcurrency(Test& t) {
  volatile uint32_t* const words = reinterpret_cast<volatile uint32_t*>(t.video.start());
  words[0] = 0;
  words[1024] = 0;
  struct {
    uint64_t mine, theirs;
    uint32_t rounds;
  } arguments{t.video.address(), t.video.address(4096), 1'000'000};
  const auto* const bytes = reinterpret_cast<const std::byte*>(&arguments);
  const auto one = t.engine.launch(4, {t.kernels.meet, {}, bytes, 20});
  std::swap(arguments.mine, arguments.theirs);
  const auto two = t.engine.launch(5, {t.kernels.meet, {}, bytes, 20});
  const bool ended = one.ok() && two.ok() && one.value().wait(kPatience) == CUDA_SUCCESS &&
                     two.value().wait(kPatience) == CUDA_SUCCESS;
  t.bench.check(ended && words[0] == 1 && words[1024] == 1, "kernels side by side", "%u and %u (1: met the other)",
                words[0], words[1024]);
}

void measure(Test& t) {
  constexpr int kRounds = 2000;
  std::vector<double> times;
  const StoreArguments arguments{t.video.address(), 1};
  for (int i = 0; i < kRounds; ++i) {
    const double start = microseconds();
    if (!run(t, 0, t.kernels.store, {}, arguments, "launch", 12)) return;
    times.push_back(microseconds() - start);
  }
  std::sort(times.begin(), times.end());
  const double start = microseconds();
  for (int i = 0; i < 48; ++i)
    (void)t.engine.launch(0, {t.kernels.store, {}, reinterpret_cast<const std::byte*>(&arguments), 12});
  const double sent = microseconds();
  (void)t.engine.channel(0).wait(t.engine.channel(0).submitted(), kPatience);
  t.bench.check(true, "launch", "round trip %.2f us (median, best %.2f), submission %.2f us, 48 in a row %.2f us each",
                times[times.size() / 2], times[0], (sent - start) / 48, (microseconds() - start) / 48);
}

// Writes that one grid makes and the next reads, through all channels in turn.
void checkOrder(Test& t) {
  constexpr uint32_t kCount = 65536;
  float* const data = reinterpret_cast<float*>(t.video.start());
  for (uint32_t i = 0; i < kCount; ++i) data[i] = 1;
  storeFence();
  struct {
    uint64_t a, b, c;
    uint32_t n;
  } const arguments{t.video.address(), t.video.address(), t.video.address(), kCount};
  Grid grid;
  grid.blocks[0] = kCount / 256;
  grid.threads[0] = 256;
  bool good = true;
  constexpr int kRounds = 20;
  for (int round = 0; round < kRounds && good; ++round)
    good = t.engine.launch(0, {t.kernels.add, grid, reinterpret_cast<const std::byte*>(&arguments), 28}).ok();
  good = good && t.engine.channel(0).wait(t.engine.channel(0).submitted(), kPatience) == CUDA_SUCCESS;
  uint32_t wrong = 0;
  for (uint32_t i = 0; i < kCount; i += 97) wrong += data[i] != static_cast<float>(1 << kRounds);
  t.bench.check(good && !wrong, "grids one after the other", "%u wrong", wrong);
}

// Each kind of fault ends the channels of its engine, and the next engine works.
void checkFaults(GpuBench& bench, Kernels& kernels, Block& host, Block& video) {
  struct Case {
    const char* name;
    const KernelCode& code;
    uint64_t address;
  };
  const Case cases[] = {{"fault: store to nowhere", kernels.store, 0x1000},
                        {"fault: misaligned store", kernels.store, video.address(2)},
                        {"fault: trap", kernels.stop, 0}};
  for (const Case& c : cases) {
    Result<std::unique_ptr<ComputeEngine>> engine = ComputeEngine::create(bench.gpu, bench.addresses);
    if (!bench.check(engine.ok(), c.name, "new channels")) return;
    Test t{bench, **engine, kernels, host, video};
    if (!checkStore(t)) return;
    const StoreArguments arguments{c.address, 1};
    const double start = microseconds();
    const auto sent = t.engine.launch(
        1, {c.code, {}, reinterpret_cast<const std::byte*>(&arguments), c.code.bank0Bytes - kDriverWords});
    const CUresult result = sent.ok() ? sent.value().wait(kPatience) : sent.error();
    bench.check(result != CUDA_SUCCESS, c.name, "result %d after %.0f us: %s", result, microseconds() - start,
                t.engine.channel(1).channel().describe().c_str());
    std::printf("     %s\n", examineFault(bench.gpu, t.engine.channel(1).channel(), result).what.c_str());
  }
}

}  // namespace

void checkCompute(GpuBench& bench, const GpuCheckOptions& options) {
  if (!isDriven(bench.gpu.facts().computeCapability)) return;
  const double start = microseconds();
  Result<std::unique_ptr<ComputeEngine>> engine = ComputeEngine::create(bench.gpu, bench.addresses);
  Result<std::unique_ptr<Block>> host = Block::createPinned(bench.gpu, bench.addresses, 16 * kMiB);
  Result<std::unique_ptr<Block>> video =
      Block::create(bench.gpu, bench.addresses, {Where::Video, 2 * kMiB, kHugePage}, SeenBy::GpuAndCpu);
  Kernels kernels = load(bench);
  if (!bench.check(engine.ok() && host.ok() && video.ok() && kernels.code, "compute", "channels and code in %.0f us",
                   microseconds() - start))
    return;
  ComputeChannel& first = (*engine)->channel(0);
  if (!bench.check(first.wait(first.submitted(), kPatience) == CUDA_SUCCESS, "compute", "bound: %s",
                   first.channel().describe().c_str()))
    return;
  Test t{bench, **engine, kernels, **host, **video};
  if (!checkStore(t)) return;
  checkAdd(t);
  checkShared(t);
  checkOrder(t);
  checkConcurrency(t);
  measure(t);
  checkLocal(t);
  if (options.fault) checkFaults(bench, kernels, **host, **video);
}

}  // namespace vg::tools
