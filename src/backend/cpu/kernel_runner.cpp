#include <algorithm>
#include <bit>
#include <cstdio>
#include <new>

#include "backend/cpu/cpu_kernel.h"
#include "backend/cpu/kernel_calls.h"
#include "backend/cpu/kernel_faults.h"
#include "backend/cpu/kernel_image.h"
#include "backend/cpu/kernel_launch.h"
#include "backend/cpu/kernel_thread.h"
#include "backend/cpu/kernel_watchdog.h"
#include "backend/cpu/workers.h"
#include "base/log.h"

#include <sched.h>
#include <time.h>

namespace vg::backend::cpu {
namespace {

constexpr size_t kStackForCalls = 64 * 1024, kStackForInterpreter = 256 * 1024;
constexpr size_t kCooperativeWorkspace = 256;  // bytes; device code uses the first few
constexpr uint64_t kShort = 30'000;            // ns; a grid that is over before another thread has woken up
constexpr uint64_t kBusyRounds = 64;           // of running what can run before giving the processor away
constexpr uint64_t kPatientRounds = 1 << 17;   // before sleeping instead
constexpr long kNap = 20'000;                  // ns

constinit std::atomic<uint64_t> lastGrid{0};

uint64_t nanoseconds() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

uint32_t warpsOf(uint32_t threads) { return (threads + ptx::kWarpSize - 1) / ptx::kWarpSize; }

// Waits a little for what other threads do. A warp that yields may be getting on, so most rounds cost nothing.
class Patience {
 public:
  void wait() {
    if (++rounds_ % kBusyRounds) return;
    if (rounds_ < kPatientRounds) {
      sched_yield();
      return;
    }
    const timespec nap{0, kNap};
    nanosleep(&nap, nullptr);
  }
  void reset() { rounds_ = 0; }

 private:
  uint64_t rounds_ = 0;
};

const char* wordFor(const KernelFault& fault) {
  if (*fault.what) return fault.what;
  if (fault.stackOverflow) return "stack overflow";
  switch (fault.error) {
    case CUDA_ERROR_ILLEGAL_ADDRESS:
      return "illegal address";
    case CUDA_ERROR_MISALIGNED_ADDRESS:
      return "misaligned address";
    case CUDA_ERROR_ILLEGAL_INSTRUCTION:
      return "illegal instruction";
    case CUDA_ERROR_LAUNCH_TIMEOUT:
      return "ran too long";
    default:
      return "failed";
  }
}

// Says what happened where, and ends the launch.
void report(RunningLaunch& launch, const ResidentBlock& block, const KernelFault& fault) {
  if (launch.cancelled()) return;  // thrown out because another block failed
  const uint32_t line = fault.line ? fault.line : fault.codeAddress ? launch.code->lineAt(fault.codeAddress) : 0;
  const uint32_t* const index = block.state().blockIndex;
  char text[512];
  int used = std::snprintf(text, sizeof text, "%s in block [%u,%u,%u], warp %u", wordFor(fault), index[0], index[1],
                           index[2], block.runningWarp());
  const auto add = [&](const char* format, auto... values) {
    if (used > 0 && used < static_cast<int>(sizeof text))
      used += std::snprintf(text + used, sizeof text - static_cast<size_t>(used), format, values...);
  };
  if (line) add(", PTX line %u", line);
  if (fault.address && !fault.stackOverflow) add(", address %p", fault.address);
  if (fault.stackOverflow)
    add("; the stack is limited to %zu bytes a thread (CU_LIMIT_STACK_SIZE)",
        launch.context->limits().stackBytes.load(std::memory_order_relaxed));
  launch.end(fault.error, text);
}

// Resumes a block until it is done; false when the launch is over. For blocks that need no other block.
bool finish(RunningLaunch& launch, KernelThread& thread, ResidentBlock& block) {
  Patience patience;
  for (;;) {
    switch (block.resume()) {
      case ResidentBlock::Progress::Done:
        return true;
      case ResidentBlock::Progress::Faulted:
        report(launch, block, thread.fault());
        block.abandon();
        return false;
      case ResidentBlock::Progress::Stuck:
        launch.end(CUDA_ERROR_LAUNCH_TIMEOUT, "every warp of a block waits at a barrier that nobody can complete");
        block.abandon();
        return false;
      case ResidentBlock::Progress::Spinning:
        if (launch.cancelled()) {
          block.abandon();
          return false;
        }
        patience.wait();
    }
  }
}

ResidentBlock* blockFor(RunningLaunch& launch, KernelThread& thread, size_t number) {
  ResidentBlock* const block = thread.block(number, launch);
  if (!block && !number)
    launch.end(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, "the system has no memory for the stacks of a block");
  return block;
}

void runEach(RunningLaunch& launch, KernelThread& thread, uint32_t worker, uint64_t first, uint64_t end) {
  ResidentBlock* const block = blockFor(launch, thread, 0);
  if (!block) return;
  if (!launch.fibrePerWarp) {
    block->beginSpan(launch, worker, first, end);
    finish(launch, thread, *block);
    return;
  }
  for (uint64_t number = first; number < end && !launch.cancelled(); ++number) {
    block->begin(launch, worker, number);
    if (!finish(launch, thread, *block)) return;
  }
}

// Runs consecutive blocks, one after another.
void runBlocks(void* state, uint32_t worker, uint64_t first, uint64_t end) {
  RunningLaunch& launch = *static_cast<RunningLaunch*>(state);
  if (launch.cancelled()) return;
  KernelThread& thread = KernelThread::current();
  const KernelThread::Inside inside(thread, launch, worker);
  const uint64_t begin = nanoseconds();
  runEach(launch, thread, worker, first, end);
  launch.busy.fetch_add(nanoseconds() - begin, std::memory_order_relaxed);
}

// Runs blocks that may wait for each other: when all that this thread has begun only spin, it begins another one.
class Residents {
 public:
  Residents(RunningLaunch& launch, KernelThread& thread, uint32_t worker)
      : launch_(launch), thread_(thread), worker_(worker) {}

  void run() {
    Patience patience;
    begin();
    while (!running_.empty() && !launch_.cancelled()) {
      if (round() || begin()) {
        patience.reset();
      } else {
        patience.wait();
      }
    }
    for (const size_t number : running_) thread_.block(number, launch_)->abandon();
  }

 private:
  // Begins the next block of the grid. False when there is none left or no room.
  bool begin() {
    size_t slot = running_.size();
    if (!free_.empty()) slot = free_.back();
    if (launch_.nextBlock.load(std::memory_order_relaxed) >= launch_.blocks) return false;
    ResidentBlock* const block = blockFor(launch_, thread_, slot);
    if (!block) return false;
    const uint64_t number = launch_.nextBlock.fetch_add(1, std::memory_order_relaxed);
    if (number >= launch_.blocks) return false;
    if (!free_.empty()) free_.pop_back();
    block->begin(launch_, worker_, number);
    running_.push_back(slot);
    return true;
  }

  // Lets every block run once. True when one of them ended.
  bool round() {
    bool ended = false;
    for (size_t i = 0; i < running_.size() && !launch_.cancelled();) {
      ResidentBlock& block = *thread_.block(running_[i], launch_);
      const ResidentBlock::Progress progress = block.resume();
      if (progress == ResidentBlock::Progress::Spinning) {
        ++i;
        continue;
      }
      if (progress == ResidentBlock::Progress::Faulted) report(launch_, block, thread_.fault());
      if (progress == ResidentBlock::Progress::Stuck)
        launch_.end(CUDA_ERROR_LAUNCH_TIMEOUT, "every warp of a block waits at a barrier that nobody can complete");
      if (progress != ResidentBlock::Progress::Done) block.abandon();
      free_.push_back(running_[i]);
      running_[i] = running_.back();
      running_.pop_back();
      ended = true;
    }
    if (ended) begin();
    return ended;
  }

  RunningLaunch& launch_;
  KernelThread& thread_;
  const uint32_t worker_;
  std::vector<size_t> running_, free_;  // numbers of the thread's blocks
};

void runResidents(void* state, uint32_t worker, uint64_t, uint64_t) {
  RunningLaunch& launch = *static_cast<RunningLaunch*>(state);
  if (launch.cancelled()) return;
  KernelThread& thread = KernelThread::current();
  const KernelThread::Inside inside(thread, launch, worker);
  Residents(launch, thread, worker).run();
}

size_t stackBytesFor(const LoadedKernel& code, const KernelLimits& limits) {
  const size_t own =
      std::max<size_t>(code.traits.stackPerWarp, ptx::kWarpSize * limits.stackBytes.load(std::memory_order_relaxed));
  return std::bit_ceil(own + (code.interpreted ? kStackForInterpreter : kStackForCalls));
}

void describe(RunningLaunch& launch, const Device& device, const LaunchRecord& record, const CpuKernel::Ready& ready) {
  const LaunchShape& shape = record.shape;
  ptx::KernelLaunch& abi = launch.abi;
  abi.parameters = record.parameters;
  abi.globals = ready.globals;
  for (int i = 0; i < 3; ++i) {
    abi.gridSize[i] = shape.grid[i];
    abi.blockSize[i] = shape.block[i];
    abi.clusterSize[i] = 1;
  }
  abi.threadsPerBlock = shape.block[0] * shape.block[1] * shape.block[2];
  abi.warpsPerBlock = warpsOf(abi.threadsPerBlock);
  abi.staticShared = ready.code->traits.staticShared;
  abi.dynamicShared = shape.dynamicShared;
  abi.dynamicSharedOffset = ready.code->traits.dynamicSharedOffset;
  abi.gridId = lastGrid.fetch_add(1, std::memory_order_relaxed) + 1;
  abi.calls = &kRuntimeCalls;
  abi.code = ready.code->program;
  abi.owner = &launch;
  launch.code = ready.code;
  launch.kernelName = record.kernel->name().c_str();
  launch.context = ready.context;
  launch.blocks = uint64_t{shape.grid[0]} * shape.grid[1] * shape.grid[2];
  launch.clockKiloHertz = static_cast<uint32_t>(device.traits().attribute(CU_DEVICE_ATTRIBUTE_CLOCK_RATE));
  launch.stackBytes = stackBytesFor(*ready.code, ready.context->limits());
  launch.fibrePerWarp = ready.code->traits.waits && abi.warpsPerBlock > 1;
  launch.cooperative = shape.cooperative;
}

uint32_t workersFor(const RunningLaunch& launch, const Workers& workers) {
  if (launch.blocks == 1) return 1;
  const uint64_t expected = launch.code->expected(launch.blocks * launch.abi.warpsPerBlock);
  if (expected && expected <= kShort && !launch.cooperative) return 1;
  return static_cast<uint32_t>(std::min<uint64_t>(workers.count(), launch.blocks));
}

}  // namespace

CUresult runLaunch(const Device& device, const LaunchRecord& record, FaultSink& faults) {
  if (const CUresult sticky = faults.state(); sticky != CUDA_SUCCESS) return sticky;
  auto& kernel = static_cast<CpuKernel&>(*record.kernel);
  VG_TRY(const CpuKernel::Ready ready, kernel.ready(record.shape));
  RunningLaunch launch;
  launch.faults = &faults;
  describe(launch, device, record, ready);
  alignas(64) std::byte workspace[kCooperativeWorkspace] = {};
  if (record.shape.cooperative) launch.abi.cooperativeWorkspace = reinterpret_cast<uint64_t>(workspace);

  Workers& workers = Workers::shared();
  const uint32_t count = workersFor(launch, workers);
  launch.abi.workers = workers.count();
  faults::arm();
  const watchdog::Watch watch(launch);
  if (ready.code->traits.polls || record.shape.cooperative) {
    workers.runGrid(count, count, runResidents, &launch, 1);
  } else {
    workers.runGrid(launch.blocks, count, runBlocks, &launch);
    ready.code->learn(launch.blocks * launch.abi.warpsPerBlock, launch.busy.load(std::memory_order_relaxed));
  }
  return static_cast<CUresult>(launch.ended.load(std::memory_order_acquire));
}

}  // namespace vg::backend::cpu
