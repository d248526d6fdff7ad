#include "backend/cpu/run/runner.h"

#include <algorithm>
#include <bit>
#include <optional>

#include "backend/cpu/blocks/shuffle.h"
#include "backend/cpu/code/cpu_kernel.h"
#include "backend/cpu/code/kernel_launch.h"
#include "backend/cpu/code/runtime_calls.h"
#include "backend/cpu/faults/kernel_faults.h"
#include "backend/cpu/faults/watchdog.h"
#include "backend/cpu/run/residents.h"
#include "backend/cpu/run/running_launches.h"
#include "backend/cpu/run/spans.h"
#include "backend/cpu/run/thread.h"
#include "backend/cpu/run/workers.h"
#include "backend/cpu/textures/texture_table.h"
#include "backend/device_side/child_grids.h"
#include "backend/device_side/graph_run.h"
#include "backend/queues/interleaving.h"
#include "base/log.h"
#include "base/sync/patience.h"
#include "base/sync/spin.h"
#include "base/system/os.h"
#include "check/check.h"
#include "check/races/order.h"
#include "copy/engines.h"
#include "ptx/facts/reach.h"

namespace vg::backend::cpu {
namespace {

constexpr size_t kStackForCalls = 64 * 1024, kStackForInterpreter = 256 * 1024;
// Of functions that a kernel calls and that are not made yet; what is not used takes no memory.
constexpr size_t kStackForApart = 4 << 20;
constexpr size_t kLaneLine = 64, kMostStackPerThread = 4 << 20;  // bytes
// Of compiled functions that call themselves: what a call keeps takes multiples of 64 bytes, on a GPU multiples of 8.
constexpr size_t kRoomForRecursion = 8;
constexpr uint64_t kShort = 30'000;            // ns; a grid that is over before another thread has woken up
constexpr uint64_t kPerhapsShort = 1'000'000;  // ns of work, as several threads saw it
constexpr uint64_t kHandful = 50'000;          // ns of work that a thread takes at a time, less towards the end
constexpr uint64_t kMostBlocksAtATime = 1024;
constexpr uint64_t kHandfulsOfFew = 8;   // at least, where other threads may be asked later
constexpr uint64_t kShuffleWindow = 32;  // blocks that wait for others and change places, as a GPU has so many at once

constinit std::atomic<uint64_t> lastGrid{0};

uint64_t warpsOf(const RunningLaunch& launch) { return launch.blocks * launch.abi.warpsPerBlock; }
uint32_t warpsOf(uint32_t threads) { return (threads + ptx::kWarpSize - 1) / ptx::kWarpSize; }

// What a lane may take by alloca, and for calls.
uint32_t stackPerThread(const LoadedKernel& code, const KernelLimits& limits) {
  const size_t bytes =
      limits.stackBytes.load(std::memory_order_relaxed) * (code.traits.recurses ? kRoomForRecursion : 1);
  const size_t whole = (bytes + code.traits.stackOfCalls + kLaneLine - 1) / kLaneLine * kLaneLine;
  return static_cast<uint32_t>(std::min<size_t>(whole, kMostStackPerThread));
}

size_t stackBytesFor(const LoadedKernel& code, const KernelLimits& limits) {
  size_t own =
      std::max<size_t>(code.traits.stackPerWarp, ptx::kWarpSize * limits.stackBytes.load(std::memory_order_relaxed));
  if (code.traits.callsApart) own += kStackForApart;
  if (code.traits.allocates) own += ptx::kWarpSize * (stackPerThread(code, limits) + kLaneLine);
  return std::bit_ceil(own + (code.interpreted ? kStackForInterpreter : kStackForCalls));
}

void describe(RunningLaunch& launch, const LaunchRecord& record, const CpuKernel::Ready& ready) {
  const Device& device = launch.device;
  const LaunchShape& shape = record.shape;
  ptx::KernelLaunch& abi = launch.abi;
  abi.parameters = record.parameters;
  abi.globals = ready.globals;
  for (int i = 0; i < 3; ++i) {
    abi.gridSize[i] = shape.grid[i];
    abi.blockSize[i] = shape.block[i];
    abi.clusterSize[i] = ready.cluster[i];
  }
  abi.threadsPerBlock = shape.block[0] * shape.block[1] * shape.block[2];
  abi.warpsPerBlock = warpsOf(abi.threadsPerBlock);
  abi.staticShared = ready.code->traits.staticShared;
  abi.dynamicShared = shape.dynamicShared;
  abi.dynamicSharedOffset = ready.code->traits.dynamicSharedOffset;
  abi.gridId = lastGrid.fetch_add(1, std::memory_order_relaxed) + 1;
  if (device.traits().attribute(CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS)) abi.flags |= ptx::kReachesPageable;
  abi.stackPerThread = stackPerThread(*ready.code, ready.context->limits());
  abi.calls = &runtimeCalls();
  abi.code = ready.code->program;
  abi.owner = &launch;
  launch.texturesRemoved = launch.place.texturesRemoved.value_or(textures::removals());
  launch.kernels = ready.kernels;
  launch.graph = record.graph;
  if (record.graph) abi.graphExec = record.graph->exec();
  launch.code = ready.code;
  launch.kernelName = record.kernel->name().c_str();
  launch.module = static_cast<const CpuKernel*>(record.kernel)->module();
  launch.parameterBytes = record.kernel->parameterBytes();
  launch.context = ready.context;
  launch.blocks = uint64_t{shape.grid[0]} * shape.grid[1] * shape.grid[2];
  launch.clockKiloHertz = static_cast<uint32_t>(device.traits().attribute(CU_DEVICE_ATTRIBUTE_CLOCK_RATE));
  launch.stackBytes = stackBytesFor(*ready.code, ready.context->limits());
  launch.fibrePerWarp = ready.code->traits.waits && abi.warpsPerBlock > 1;
  launch.cooperative = shape.cooperative;
  if (ready.explicitCluster) abi.flags |= ptx::kExplicitCluster;
}

void countIn(coverage::Recording& recording, RunningLaunch& launch) {
  launch.recording = &recording;
  launch.counters.resize(launch.abi.workers);
  launch.abi.counters = launch.counters.data();
}

// What the monitoring library is told.
class AtWork {
 public:
  AtWork(const Device& device, const RunningLaunch& launch) : activity_(device.activity()), launch_(launch) {
    if (activity_) activity_->running.fetch_add(1, std::memory_order_relaxed);
  }
  ~AtWork() {
    if (!activity_) return;
    activity_->busyNanoseconds.fetch_add(launch_.busy.load(std::memory_order_relaxed), std::memory_order_relaxed);
    activity_->running.fetch_sub(1, std::memory_order_relaxed);
  }
  AtWork(const AtWork&) = delete;

 private:
  Activity* const activity_;  // null: a device that nobody monitors
  const RunningLaunch& launch_;
};

// Whether blocks are handed out one after another to whoever is free: they need no other block.
bool independent(const RunningLaunch& launch) {
  return !launch.code->traits.polls && !launch.cooperative && launch.blocksPerCluster() == 1;
}

size_t lastCache() {
  static const size_t bytes = os::lastCacheBytes();
  return bytes;
}

// The bytes of results that may go past the caches.
uint64_t streamable(const RunningLaunch& launch) {
  return launch.blocks * launch.abi.threadsPerBlock * launch.code->traits.streamedPerThread;
}

bool streams(const RunningLaunch& launch) {
  return independent(launch) && launch.code->streaming().choose(streamable(launch), lastCache());
}

// How many threads run a grid: those that are asked at first, and all that may be.
struct Threads {
  uint32_t first, most;
};

// As many as there is work for, by what earlier grids of the kernel took; where it takes longer this time, the others
// are asked later, between blocks. With loops also when no block ends: one may wait for a block that only others would
// run.
Threads threadsFor(const RunningLaunch& launch, const Workers& workers, uint32_t allowed) {
  if (launch.blocks == 1 || launch.shuffle || allowed <= 1) return {1, 1};
  const uint64_t warps = warpsOf(launch), certain = launch.code->expected(warps);
  if (certain && certain <= kShort && !launch.cooperative) return {1, 1};
  const auto most =
      static_cast<uint32_t>(std::min<uint64_t>({workers.count(), launch.blocks / launch.blocksPerCluster(), allowed}));
  if (!independent(launch)) return {most, most};
  const uint64_t likely = warps * launch.code->times().ofWarp(warps) / 1000;
  const uint32_t wanted = likely ? workers.threadsFor(likely) : most;
  // Work that many threads share costs more than it would cost one: what seems to be worth all may not be.
  if (likely && likely <= kPerhapsShort && launch.code->times().triesAlone(warps)) return {1, most};
  if (wanted < most) return {wanted, most};
  const uint32_t chosen = launch.code->traits.atomics ? launch.code->crowding().choose(most) : most;
  return {chosen, chosen};
}

// How many blocks a thread takes at a time: enough to make asking for them cheap, and few enough that others can help.
// 0: not known, the workers choose by the size of the grid.
uint64_t grainFor(const RunningLaunch& launch, const Threads& threads) {
  const uint64_t block = launch.abi.warpsPerBlock * launch.code->times().ofWarp(warpsOf(launch)) / 1000;
  if (!block) return 0;
  const uint64_t most = threads.first < threads.most ? launch.blocks / kHandfulsOfFew + 1 : kMostBlocksAtATime;
  return std::clamp<uint64_t>(kHandful / block, 1, std::min(most, kMostBlocksAtATime));
}

void learn(const RunningLaunch& launch, const Threads& threads, const Workers& workers, uint32_t ran) {
  const uint64_t warps = warpsOf(launch), busy = launch.busy.load(std::memory_order_relaxed);
  using Ran = KernelTimes::Ran;
  launch.code->times().learn(warps, busy, ran == 1 ? Ran::Alone : ran > threads.first ? Ran::Surprised : Ran::Together);
  const uint64_t most = std::min<uint64_t>(workers.count(), launch.blocks);
  if (const uint64_t results = streamable(launch))
    launch.code->streaming().learn(results, lastCache(), launch.abi.flags & ptx::kStreams, warps, busy);
  if (launch.code->traits.atomics && threads.first == threads.most)
    launch.code->crowding().learn(threads.most, static_cast<uint32_t>(most), warps, busy);
}

// Where a seed decides the order.
std::optional<Shuffle> shuffleFor(const RunningLaunch& launch) {
  if (!interleaving::on()) return {};
  const uint64_t window = independent(launch) || launch.cooperative ? 0 : kShuffleWindow;
  return Shuffle(launch.abi.gridId, launch.blocks / launch.blocksPerCluster(), window);
}

// The calling thread runs blocks in any case. What they need is made before anything has begun, so that this can be
// done anew; the system may have memory for it in a moment.
void awaitRoom(const RunningLaunch& launch) {
  KernelThread& thread = KernelThread::current();
  (void)inAMoment([&] { return thread.block(0, launch) != nullptr; });
}

}  // namespace

CUresult runLaunch(const Device& device, const LaunchRecord& record, FaultSink& faults, const LaunchPlace& place,
                   Point* descendants) {
  if (const CUresult sticky = faults.state(); sticky != CUDA_SUCCESS) return sticky;
  auto& kernel = static_cast<CpuKernel&>(*record.kernel);
  const Result<CpuKernel::Ready> made = kernel.ready(record.shape, record.parameters);
  if (!made.ok()) {  // of a launch from a kernel, or with other parameters, whose code nobody made before
    if (made.error() == CUDA_ERROR_OUT_OF_MEMORY) throw std::bad_alloc();  // nothing has begun: it may be tried again
    faults.report(made.error(), ("kernel " + kernel.name() + " cannot be compiled").c_str());
    return made.error();
  }
  const CpuKernel::Ready& ready = made.value();
  Workers& workers = Workers::shared();
  RunningLaunch launch(device, place, workers.count());
  launch.faults = &faults;
  describe(launch, record, ready);
  alignas(64) std::byte workspace[ptx::kCooperativeWorkspace] = {};
  if (record.shape.cooperative) launch.abi.cooperativeWorkspace = reinterpret_cast<uint64_t>(workspace);

  std::optional<Shuffle> shuffle = shuffleFor(launch);
  if (shuffle) launch.shuffle = &*shuffle;
  awaitRoom(launch);
  if (check::order::on()) check::order::began(launch.abi.gridId, place.checked, launch.blocks);
  const Threads threads = threadsFor(launch, workers, place.workers);
  launch.abi.workers = workers.count();
  if (ready.recording) countIn(*ready.recording, launch);
  if (streams(launch)) launch.abi.flags |= ptx::kStreams;
  armForKernels();
  const watchdog::Watch watch(launch);
  const running::Entry listed(launch);
  if (threads.most == 1) launch.begun = listed.since();  // asking for the time takes as long as some kernels
  const AtWork atWork(device, launch);
  if (independent(launch)) {
    const uint32_t ran = workers.runGrid(launch.blocks, threads.most, runSpans, &launch, grainFor(launch, threads),
                                         threads.first, launch.code->traits.loops);
    learn(launch, threads, workers, ran);
  } else {
    workers.runGrid(threads.most, threads.most, runResidents, &launch, 1);
  }
  launch.tellStopped(nullptr);
  if (check::any()) {
    const CUresult stopped = check::takeFaulted(launch.abi.gridId);
    check::order::ended(launch.abi.gridId);
    if (stopped != CUDA_SUCCESS) launch.end(stopped, "accesses to memory that checked mode has reported");
  }
  if (ChildGrids* const children = launch.children.load(std::memory_order_acquire)) {
    const Point over = children->finish();
    descendants ? void(*descendants = over) : over.wait();
  }
  return static_cast<CUresult>(launch.ended.load(std::memory_order_acquire));
}

}  // namespace vg::backend::cpu
