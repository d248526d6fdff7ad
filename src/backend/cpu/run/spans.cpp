#include "backend/cpu/run/spans.h"

#include "backend/cpu/blocks/shuffle.h"
#include "backend/cpu/code/kernel_launch.h"
#include "backend/cpu/faults/kernel_faults.h"
#include "backend/cpu/run/residents.h"
#include "backend/cpu/run/thread.h"
#include "backend/queues/interleaving.h"
#include "base/sync/spin.h"
#include "copy/engines.h"

namespace vg::backend::cpu {
namespace {

// Resumes a block until it is done; false when the launch is over. For blocks that need no other block.
bool finish(RunningLaunch& launch, KernelThread& thread, ResidentBlock& block) {
  Patience patience;
  LongWait wait;
  for (;;) {
    switch (block.resume()) {
      case ResidentBlock::Progress::Done:
        return true;
      case ResidentBlock::Progress::Faulted:
        report(launch, block, thread.fault());
        block.abandon();
        return false;
      case ResidentBlock::Progress::Stuck:
      case ResidentBlock::Progress::Waiting:  // a cluster of one block
        reportStuck(launch, block);
        block.abandon();
        return false;
      case ResidentBlock::Progress::Spinning:
        if (launch.cancelled()) {
          tellStopped(launch, block);
          block.abandon();
          return false;
        }
        patience.wait();
        wait.sayWhen(launch, block);
    }
  }
}

// Consecutive blocks, one after another.
void runEach(RunningLaunch& launch, KernelThread& thread, ResidentBlock& block, uint32_t worker, uint64_t first,
             uint64_t end) {
  if (!launch.fibrePerWarp) {
    block.beginSpan(launch, worker, first, end);
    finish(launch, thread, block);
    return;
  }
  for (uint64_t number = first; number < end && !launch.cancelled(); ++number) {
    block.begin(launch, worker, number);
    if (!finish(launch, thread, block)) return;
  }
}

// The same in the order of a seed; others may go between two blocks.
void runShuffled(RunningLaunch& launch, KernelThread& thread, ResidentBlock& block, uint32_t worker, uint64_t first,
                 uint64_t end) {
  for (uint64_t i = first; i < end && !launch.cancelled(); ++i) {
    const uint64_t number = launch.shuffle->at(i);
    runEach(launch, thread, block, worker, number, number + 1);
    interleaving::mayStandAside();
  }
}

void runSpans(RunningLaunch& launch, KernelThread& thread, uint32_t worker, Workers::Items& items) {
  const KernelThread::Inside inside(thread, launch, worker);
  const uint64_t begin = launch.begun ? launch.begun : monotonicNanoseconds();
  EndedBlocks ended(launch, begin);
  if (ResidentBlock* const block = blockFor(launch, thread, worker, 0))
    for (uint64_t first, end; !launch.cancelled() && items.next(&first, &end);) {
      launch.shuffle ? runShuffled(launch, thread, *block, worker, first, end)
                     : runEach(launch, thread, *block, worker, first, end);
      ended.add(end - first);
    }
  if (launch.abi.flags & ptx::kStreams) copy::streamFence();
  launch.busy.fetch_add(monotonicNanoseconds() - begin, std::memory_order_relaxed);
}

}  // namespace

void runSpans(void* state, uint32_t worker, Workers::Items& items) noexcept {
  RunningLaunch& launch = *static_cast<RunningLaunch*>(state);
  KernelThread* const thread = launch.cancelled() ? nullptr : threadFor(launch, worker);
  if (!thread) return;
  try {
    runSpans(launch, *thread, worker, items);
  } catch (const std::bad_alloc&) {
    reportNoMemory(launch);
  }
}

}  // namespace vg::backend::cpu
