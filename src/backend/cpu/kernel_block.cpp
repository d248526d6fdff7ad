#include "backend/cpu/kernel_block.h"

#include <algorithm>
#include <bit>
#include <new>

#include "backend/cpu/kernel_code.h"
#include "backend/cpu/kernel_thread.h"
#include "base/log.h"
#include "base/result.h"

namespace vg::backend::cpu {
namespace {

constexpr uint32_t kSharedAlignment = 1024;

uint32_t lowBits(uint32_t count) { return count >= 32 ? ~0u : (1u << count) - 1; }

}  // namespace

bool ResidentBlock::reserve(const RunningLaunch& launch) {
  const uint32_t wanted = launch.fibrePerWarp ? launch.abi.warpsPerBlock : 1;
  if (fibreCount_ >= wanted && stacks_.bytes() >= launch.stackBytes) return true;
  const uint32_t count = std::bit_ceil(std::max(wanted, fibreCount_));
  stacks_.~StackGroup();
  new (&stacks_) StackGroup;
  fibreCount_ = 0;
  fibres_.reset();
  if (!stacks_.reserve(count, launch.stackBytes)) return false;
  fibres_.reset(new WarpFibre[count]);
  fibreCount_ = count;
  prepareFibres();
  return true;
}

void ResidentBlock::prepareFibres() {
  for (uint32_t i = 0; i < fibreCount_; ++i) {
    fibres_[i].block = this;
    fibres_[i].warp = i;
    fibres_[i].fibre.prepare(stacks_.low(i), stacks_.bytes(), i % 8, fibreMain, &fibres_[i]);
  }
}

void ResidentBlock::place(RunningLaunch& launch, uint32_t worker, uint64_t blockNumber) {
  const ptx::KernelLaunch& abi = launch.abi;
  launch_ = &launch;
  state_.launch = &abi;
  state_.worker = worker;
  state_.blockNumber = blockNumber;
  state_.blockIndex[0] = static_cast<uint32_t>(blockNumber % abi.gridSize[0]);
  const uint64_t row = blockNumber / abi.gridSize[0];
  state_.blockIndex[1] = static_cast<uint32_t>(row % abi.gridSize[1]);
  state_.blockIndex[2] = static_cast<uint32_t>(row / abi.gridSize[1]);
  state_.sharedLimit = abi.dynamicSharedOffset + abi.dynamicShared;
  if (state_.sharedLimit < abi.staticShared) state_.sharedLimit = abi.staticShared;
  // The accessible memory ends where the gap begins, so that an access beyond the end faults.
  state_.shared = sharedEnd_ - ((state_.sharedLimit + kSharedAlignment - 1) & ~(kSharedAlignment - 1));
  state_.owner = this;
}

void ResidentBlock::begin(RunningLaunch& launch, uint32_t worker, uint64_t blockNumber) {
  place(launch, worker, blockNumber);
  whole_ = !launch.fibrePerWarp;
  spanEnd_ = blockNumber + 1;
  live_ = ready_ = whole_ ? 1 : lowBits(launch.abi.warpsPerBlock);
  yielded_ = 0;
  current_ = 0;
  for (uint32_t left = occupied_; left; left &= left - 1) barriers_[std::countr_zero(left)] = Barrier();
  occupied_ = 0;
}

void ResidentBlock::beginSpan(RunningLaunch& launch, uint32_t worker, uint64_t first, uint64_t end) {
  begin(launch, worker, first);
  spanEnd_ = end;
}

void ResidentBlock::fibreMain(void* warpFibre) {
  auto& self = *static_cast<WarpFibre*>(warpFibre);
  ResidentBlock& block = *self.block;
  for (;;) {
    if (block.whole_) {
      block.runSpan();
    } else {
      block.launch_->code->entry(&block.state_, self.warp, self.warp + 1);
    }
    block.warpEnded();
  }
}

void ResidentBlock::runSpan() {
  const uint32_t warps = launch_->abi.warpsPerBlock;
  for (;;) {
    launch_->code->entry(&state_, 0, warps);
    if (state_.blockNumber + 1 == spanEnd_ || launch_->cancelled()) return;
    ++state_.blockNumber;
    if (++state_.blockIndex[0] < launch_->abi.gridSize[0]) continue;
    state_.blockIndex[0] = 0;
    if (++state_.blockIndex[1] < launch_->abi.gridSize[1]) continue;
    state_.blockIndex[1] = 0;
    ++state_.blockIndex[2];
  }
}

ResidentBlock::Progress ResidentBlock::resume() {
  yielded_ = 0;
  const uint32_t after = ready_ & ~lowBits(current_ + 1);
  current_ = std::countr_zero(after ? after : ready_);
  if (!thread_.run(*this, fibres_[current_].fibre)) return Progress::Faulted;
  if (!live_) return Progress::Done;
  return ready_ ? Progress::Spinning : Progress::Stuck;
}

void ResidentBlock::abandon() {
  prepareFibres();
  live_ = ready_ = 0;
}

void ResidentBlock::switchToBase() { fibres_[current_].fibre.switchTo(thread_.base()); }

void ResidentBlock::leaveForGood() {
  thread_.throwOut(fibres_[current_].fibre);
  unreachable("a warp that was thrown out of kernel %s came back", launch_->kernelName);
}

void ResidentBlock::switchAway() {
  const uint32_t candidates = ready_ & ~yielded_;
  if (!candidates) return switchToBase();
  const uint32_t after = candidates & (~1u << current_);
  const uint32_t next = std::countr_zero(after ? after : candidates);
  if (next == current_) return;
  Fibre& from = fibres_[current_].fibre;
  current_ = next;
  from.switchTo(fibres_[next].fibre);
}

void ResidentBlock::warpEnded() {
  const uint32_t bit = 1u << current_;
  live_ &= ~bit;
  ready_ &= ~bit;
  // A barrier for all threads waits no longer for those that are gone.
  for (uint32_t left = occupied_; left; left &= left - 1) {
    Barrier& barrier = barriers_[std::countr_zero(left)];
    if (barrier.waiting && complete(barrier)) open(barrier);
  }
  switchAway();
}

uint32_t ResidentBlock::lanesOf(uint32_t warp) const {
  const uint32_t first = warp * ptx::kWarpSize;
  return lowBits(std::min(launch_->abi.threadsPerBlock - first, ptx::kWarpSize));
}

// PTX counts whole warps: a partial one counts as 32 threads. Only a count that is no multiple of 32 means threads.
ResidentBlock::Barrier& ResidentBlock::arrive(uint32_t warp, uint32_t id, uint32_t threads, uint32_t mask) {
  const uint32_t number = id % kBarriers;
  occupied_ |= 1u << number;
  Barrier& barrier = barriers_[number];
  barrier.expected = threads;
  if (threads) barrier.arrived += threads % ptx::kWarpSize ? std::popcount(mask & lanesOf(warp)) : ptx::kWarpSize;
  return barrier;
}

bool ResidentBlock::complete(const Barrier& barrier) const {
  if (!barrier.expected) return (live_ & ~barrier.waiting) == 0;
  return barrier.arrived >= barrier.expected;
}

void ResidentBlock::open(Barrier& barrier) {
  ready_ |= barrier.waiting;
  yielded_ = 0;
  if (barrier.reduces)
    for (uint32_t left = barrier.waiting; left; left &= left - 1)
      reduced_[std::countr_zero(left)] = {barrier.count, barrier.all, barrier.any};
  barrier = Barrier();
  occupied_ &= ~(1u << (&barrier - barriers_));
}

void ResidentBlock::waitAt(Barrier& barrier, uint32_t warp) {
  barrier.waiting |= 1u << warp;
  if (complete(barrier)) return open(barrier);
  ready_ &= ~(1u << warp);
  switchAway();
}

void ResidentBlock::barrier(uint32_t warp, uint32_t id, uint32_t threads, uint32_t mask) {
  waitAt(arrive(warp, id, threads, mask), warp);
}

uint32_t ResidentBlock::barrierReduce(uint32_t warp, uint32_t id, uint32_t threads, uint32_t mask,
                                      ptx::BarrierReduction operation, uint32_t predicates) {
  Barrier& barrier = arrive(warp, id, threads, mask);
  const uint32_t lanes = mask & lanesOf(warp);
  barrier.reduces = true;
  barrier.count += std::popcount(predicates & lanes);
  barrier.all = barrier.all && (predicates & lanes) == lanes;
  barrier.any = barrier.any || (predicates & lanes) != 0;
  waitAt(barrier, warp);
  switch (operation) {
    case ptx::BarrierReduction::Popc:
      return reduced_[warp].count;
    case ptx::BarrierReduction::And:
      return reduced_[warp].all;
    case ptx::BarrierReduction::Or:
      return reduced_[warp].any;
  }
  return 0;
}

void ResidentBlock::barrierArrive(uint32_t warp, uint32_t id, uint32_t threads, uint32_t mask) {
  Barrier& barrier = arrive(warp, id, threads, mask);
  if (barrier.expected && complete(barrier)) open(barrier);
}

void ResidentBlock::yield() {
  yielded_ |= 1u << current_;
  switchAway();
}

}  // namespace vg::backend::cpu
