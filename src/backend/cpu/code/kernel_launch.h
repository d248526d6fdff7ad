// One launch while it runs: what its workers share. On the stack of whoever runs the launch.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <utility>
#include <vector>

#include "backend/command.h"
#include "backend/cpu/code/cpu_kernel.h"
#include "backend/cpu/run/launch_place.h"
#include "base/sync/spin.h"
#include "ptx/abi/kernel_abi.h"

namespace vg::backend {
class ChildGrids;
}

namespace vg::backend::cpu {

class Shuffle;

struct RunningLaunch {
  // At most so many threads run blocks.
  RunningLaunch(const Device& where, const LaunchPlace& how, uint32_t threads);
  RunningLaunch(const RunningLaunch&) = delete;

  const Device& device;
  const LaunchPlace place;
  ptx::KernelLaunch abi{};
  const LoadedKernel* code = nullptr;
  const char* kernelName = "";
  const ptx::Module* module = nullptr;  // of the kernel, where it was made from PTX
  uint32_t parameterBytes = 0;
  KernelContext* context = nullptr;
  coverage::Recording* recording = nullptr;          // null: nobody counts what it runs
  std::vector<uint64_t*> counters;                   // of that, by worker; each has set its own before it runs blocks
  const std::vector<CpuKernel*>* kernels = nullptr;  // that it may launch, by Module::functions; null for no kernels
  std::atomic<ChildGrids*> children{nullptr};        // made when a thread first wants something of the device runtime
  FaultSink* faults = nullptr;
  GraphRun* graph = nullptr;  // that the launch is a node of; null outside of graphs
  uint64_t blocks = 0;
  uint32_t clockKiloHertz = 0;
  size_t stackBytes = 0;         // of each fibre
  uint64_t texturesRemoved = 0;  // before it was launched (texture_table.h)
  bool fibrePerWarp = false;
  bool cooperative = false;
  Shuffle* shuffle = nullptr;  // the order of blocks and warps; null where nobody asked for one

  // What threads write while blocks run, apart from what all of them read again and again.
  alignas(64) std::atomic<uint64_t> nextBlock{0};  // tickets of launches whose blocks wait for, or cancel, each other
  std::atomic<uint64_t> blocksDone{0};             // that have ended, as far as threads have told
  std::atomic<uint32_t> waitForCode{0};    // threads that wait until a function which the kernel calls is compiled
  std::atomic<uint64_t> waitedForCode{0};  // nanoseconds that threads have done so, all together
  std::atomic<uint64_t> busy{0};           // nanoseconds that threads spent in blocks, all together

  alignas(64) std::atomic<int> ended{CUDA_SUCCESS};  // the CUresult that ended the launch early
  uint64_t begun = 0;  // when the calling thread began to run the grid alone; 0: each thread asks when it begins

  // Of threads that run blocks which may wait for each other.
  struct alignas(64) Progress {
    std::atomic<uint32_t> threads{0};  // that have blocks
    std::atomic<uint32_t> waiting{0};  // of those, whose blocks all waited when they were looked at last
    std::atomic<uint64_t> last{0};     // when a block began or ended, or something happened that others wait for
  } progress;

  uint32_t blocksPerCluster() const { return abi.clusterSize[0] * abi.clusterSize[1] * abi.clusterSize[2]; }
  // A cluster, or a block where there are none, that nobody has begun; too large a number where none is left.
  uint64_t takeTicket() { return nextBlock.fetch_add(1, std::memory_order_relaxed); }
  bool blocksAreLeft() const { return nextBlock.load(std::memory_order_relaxed) * blocksPerCluster() < blocks; }

  bool cancelled() const { return ended.load(std::memory_order_relaxed) != CUDA_SUCCESS; }
  // The first caller's error ends the launch: it is logged, threads that run blocks are interrupted, and it is reported
  // with what is known of where it happened.
  void end(CUresult error, const char* reason, const FaultScene* scene = nullptr);
  // The same from outside of its threads, for a reason that is never freed: it is reported when one of them tells where
  // it stood, or else all have left.
  void stop(CUresult error, const char* reason);
  // Of a launch that was stopped, once; `scene` null: nobody knows where.
  void tellStopped(const FaultScene* scene);

  // The threads that run blocks of this launch, by worker number; null when outside.
  void enter(uint32_t worker);
  void leave(uint32_t worker);
  // Sends each thread inside, but the caller, the signal that makes it look at `ended`.
  void interruptThreads();

 private:
  static constexpr uint32_t kWords = 512;      // workers beyond are not interrupted, only asked at yields
  const uint32_t words_;                       // of these that there are; small grids must not clear them all
  pthread_t inside_[kWords];                   // accessed as atomics
  std::atomic<const char*> stopped_{nullptr};  // why, until that is reported
};

// Blocks that one thread has ended. The launch is told of them from time to time only: threads that all add to one
// number after each handful of short blocks would mostly wait for its cache line.
class EndedBlocks {
 public:
  // `now`: ns of the monotonic clock.
  EndedBlocks(RunningLaunch& launch, uint64_t now) : launch_(launch), told_(now) {}
  ~EndedBlocks() { tell(); }
  EndedBlocks(const EndedBlocks&) = delete;
  void add(uint64_t blocks) {
    untold_ += blocks;
    if (std::exchange(first_, false)) return;  // grids of few blocks do not even ask for the time
    const uint64_t now = monotonicNanoseconds();
    if (now - told_ < kOften) return;
    tell();
    told_ = now;
  }

 private:
  static constexpr uint64_t kOften = 1'000'000;

  void tell() {
    launch_.blocksDone.fetch_add(untold_, std::memory_order_relaxed);
    untold_ = 0;
  }

  RunningLaunch& launch_;
  uint64_t untold_ = 0;
  uint64_t told_;
  bool first_ = true;
};

}  // namespace vg::backend::cpu
