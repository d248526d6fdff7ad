// A resident block: the fibres of its warps, its barriers, and who of them runs next. Belongs to one worker thread.
//
// A block whose kernel never waits, whose warps suspend in frames, or that has one warp, runs on its first fibre as a
// whole; otherwise each warp has a fibre. Warps take turns: one runs until it waits at a barrier, yields or ends.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "backend/cpu/blocks/block_barriers.h"
#include "backend/cpu/blocks/block_objects.h"
#include "backend/cpu/blocks/frames.h"
#include "backend/cpu/blocks/warp_turns.h"
#include "backend/cpu/blocks/warp_waits.h"
#include "backend/cpu/code/kernel_launch.h"
#include "backend/cpu/run/cluster.h"
#include "backend/cpu/run/fibre.h"
#include "backend/cpu/run/host_stack.h"
#include "check/blocks/checked_state.h"
#include "ptx/abi/kernel_abi.h"

namespace vg::backend::cpu {

class ResidentBlock final : public ClusterMember {
 public:
  enum class Progress {
    Done,      // the block has ended
    Spinning,  // every warp that could run has yielded
    Waiting,   // every warp waits, some of them for other blocks of the cluster
    Stuck,     // every warp waits at a barrier that nobody can complete
    Faulted,   // the thread was thrown out of the kernel: HostStack::fault() says why
  };

  ResidentBlock(HostStack& thread, std::byte* sharedEnd) : thread_(thread), sharedEnd_(sharedEnd) {}
  ResidentBlock(const ResidentBlock&) = delete;

  // Gets stacks for `launch`. False when the system refuses memory.
  bool reserve(const RunningLaunch& launch);
  // Begins one block.
  void begin(RunningLaunch& launch, uint32_t worker, uint64_t blockNumber);
  // Begins a block of a cluster; `leader` is the block of rank 0, which begins first.
  void beginInCluster(RunningLaunch& launch, uint32_t worker, uint64_t blockNumber, ResidentBlock& leader,
                      uint32_t rank);
  // Begins the blocks first .. end-1, which run one after another. Requires: !launch.fibrePerWarp.
  void beginSpan(RunningLaunch& launch, uint32_t worker, uint64_t first, uint64_t end);
  // Runs until nothing more can be done for now.
  Progress resume();
  // Forgets a block that has not ended; its stacks begin anew.
  void abandon();

  // From the kernel, through RuntimeCalls. Each returns to the warp that called, later.
  void barrier(uint32_t warp, uint32_t id, uint32_t threads);
  uint32_t barrierReduce(uint32_t warp, uint32_t id, uint32_t threads, uint32_t mask, ptx::BarrierReduction operation,
                         uint32_t predicates);
  void barrierArrive(uint32_t id, uint32_t threads);
  void yield() override;
  // To a point where warps that run ahead wait for those behind them.
  void pause() override;
  void clusterArrive(uint32_t warp) { cluster_.arrive(warp); }
  void clusterWait(uint32_t warp);
  // Remembers where a warp waits; `codeAddress`: that its call returns to.
  void noteWait(uint32_t warp, const void* codeAddress) { waits_.note(warp, codeAddress, state_.line); }
  // Bytes of the running warp's stack below an address in it.
  size_t stackLeft(const void* at) const {
    return static_cast<const std::byte*>(at) - stacks_.low(whole_ ? 0 : turns_.current);
  }
  // Leaves the running warp for the worker's own stack for good.
  [[noreturn]] void leaveForGood();
  // The same because what the warp asked for takes memory that the host does not have. `codeAddress`: of the call.
  [[noreturn]] void lackMemory(uint32_t warp, const void* codeAddress = nullptr);

  static ResidentBlock& of(ptx::BlockState* state) { return *static_cast<ResidentBlock*>(state->owner); }
  const ptx::BlockState& state() const { return state_; }
  RunningLaunch& launch() const { return *launch_; }
  HostStack& thread() const { return thread_; }
  // The warp that runs, or that ran when the thread was thrown out.
  uint32_t runningWarp() const { return whole_ ? state_.warp : turns_.current; }
  // Bit 0 stands for all warps where one fibre runs them.
  uint32_t liveWarps() const override { return turns_.live; }
  bool canRun() const override { return turns_.ready != 0; }
  ClusterBarrier& cluster() { return cluster_.barrier(); }
  void clusterPassed() override;
  BlockObjects& objects() override { return objects_; }
  // Who waits where, for the log: "block [1,0,0]: warps 0,3 at barrier 0 (PTX line 12)".
  std::string describeWaiting() const;
  // visit(warp, line) for each warp with a fibre of its own that has not ended, or for the only one: where it waited
  // last, 0 where that is not known.
  template <class Visit>
  void eachWaiting(Visit visit) const {
    if (whole_ && launch_->abi.warpsPerBlock > 1) return;
    for (uint32_t left = turns_.live; left; left &= left - 1) {
      const auto warp = static_cast<uint32_t>(__builtin_ctz(left));
      visit(warp, waits_.lineOf(warp, *launch_->code));
    }
  }

 private:
  struct WarpFibre {
    ResidentBlock* block;
    uint32_t warp;
    Fibre fibre;
  };

  static void fibreMain(void* warpFibre);
  void prepareFibres();
  void place(RunningLaunch& launch, uint32_t worker, uint64_t blockNumber);
  bool runWarp(uint32_t warp);
  void runWarps(uint32_t warps);
  void runSpan();
  void warpEnded();
  void waitAt(BlockBarriers::Barrier& barrier, uint32_t warp);
  // Hands the thread to the next warp that can run, or to the worker when there is none.
  void switchAway();

  HostStack& thread_;  // the first member: src/gdb finds it there
  std::byte* const sharedEnd_;
  check::CheckedState state_{};
  RunningLaunch* launch_ = nullptr;
  StackGroup stacks_;
  std::unique_ptr<WarpFibre[]> fibres_;
  uint32_t fibreCount_ = 0;
  Frames frames_, kept_;
  uint64_t spanEnd_ = 0;  // of the blocks that the first fibre runs
  bool whole_ = true;     // the first fibre runs all warps
  WarpTurns turns_;
  BlockBarriers barriers_;
  ClusterPlace cluster_;
  WarpWaits waits_;
  BlockObjects objects_{*this, turns_, cluster_, state_};
};

}  // namespace vg::backend::cpu
