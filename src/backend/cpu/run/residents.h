// Running blocks that may wait for each other: many of them on one worker thread, taking turns.
#pragma once

#include <cstdint>

#include "backend/cpu/code/kernel_launch.h"
#include "backend/cpu/run/thread.h"
#include "backend/cpu/run/workers.h"
#include "ptx/abi/cancelled_cluster.h"

namespace vg::backend::cpu {

// Waits a little for what other threads do. A warp that yields may be getting on, so most rounds cost nothing.
class Patience {
 public:
  void wait();
  void reset() { rounds_ = 0; }

 private:
  uint64_t rounds_ = 0;
};

// Has the log say, once, that a block which runs alone has only waited for VERDIGRIS_STUCK_AFTER.
class LongWait {
 public:
  void sayWhen(const RunningLaunch& launch, const ResidentBlock& block);

 private:
  uint64_t rounds_ = 0, since_ = 0;
  bool said_ = false;
};

// VERDIGRIS_STUCK_AFTER in nanoseconds; 0: never.
uint64_t stuckAfter();

// Says what happened where, and ends the launch.
void report(RunningLaunch& launch, const ResidentBlock& block, const KernelFault& fault);
// Ends the launch because nothing can open the barriers that the block waits at.
void reportStuck(RunningLaunch& launch, const ResidentBlock& block);
// Of a launch that was stopped (RunningLaunch::stop), where warps of a block wait.
void tellStopped(RunningLaunch& launch, const ResidentBlock& block);
// Ends the launch because a thread of it got no memory of the host, and lets go of the blocks that the thread has
// begun.
void reportNoMemory(RunningLaunch& launch) noexcept;
// The calling thread's; null when it gets no memory, which ends the launch for worker 0.
KernelThread* threadFor(RunningLaunch& launch, uint32_t worker) noexcept;
// The thread's block of that number; null when the system refuses memory, which ends the launch when it is the first of
// worker 0. Other workers leave their blocks to those that have memory.
ResidentBlock* blockFor(RunningLaunch& launch, KernelThread& thread, uint32_t worker, size_t number);

// Takes a cluster that has not begun away from the grid, for whoever asks to do its work; an answer of nothing when
// there is none. In cooperative grids, where blocks wait for all others, there never is.
ptx::CancelledCluster cancelCluster(RunningLaunch& launch);

// A body for Workers::runGrid, with an item for each thread: runs blocks of the RunningLaunch `state` from its tickets
// until there are none left. A ticket is a block, or all blocks of a cluster. When all that the thread has begun only
// waits, it begins more.
void runResidents(void* state, uint32_t worker, Workers::Items& items) noexcept;

}  // namespace vg::backend::cpu
