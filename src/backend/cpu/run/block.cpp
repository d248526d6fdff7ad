#include "backend/cpu/run/block.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>
#include <utility>

#include "backend/cpu/blocks/shuffle.h"
#include "backend/cpu/code/kernel_code.h"
#include "backend/cpu/debug/debugger.h"
#include "base/log.h"
#include "base/result.h"
#include "check/check.h"
#include "ptx/facts/kept_registers.h"

namespace vg::backend::cpu {
namespace {

constexpr uint32_t kSharedAlignment = 1024;
constexpr uint32_t kSharedPiece = 128;  // bytes; of devices of capability 8.0 and later
// Blocks that native code runs in one call, row by row of their threads. Few enough that three rows of them stay in the
// first cache, where neighbouring rows of a stencil meet again.
constexpr uint32_t kMostBlocksACall = 64;

uint32_t lowBits(uint32_t count) { return count >= 32 ? ~0u : (1u << count) - 1; }

// The lanes that a warp of the launch's blocks has.
uint32_t lanesOf(const RunningLaunch& launch, uint32_t warp) {
  return lowBits(std::min(launch.abi.threadsPerBlock - warp * ptx::kWarpSize, ptx::kWarpSize));
}

// Registers of the block that ran here before; where nobody looks but after a fault, only where its lanes were.
inline void forgetRegisters(const ptx::BlockState& state, const RunningLaunch& launch) {
  if (!state.kept) [[likely]]
    return;
  const size_t bytes = launch.code->traits.keptBytes;
  for (uint32_t warp = 0; warp < launch.abi.warpsPerBlock; ++warp)
    std::memset(state.kept + bytes * warp, 0, debugger::on() ? bytes : sizeof(ptx::kept::Head));
}

}  // namespace

bool ResidentBlock::reserve(const RunningLaunch& launch) {
  const bool framed = frames_.reserve(ptx::frameMemory(launch.code->traits, launch.abi.warpsPerBlock));
  state_.frames = frames_.memory();
  const size_t keptBytes = size_t{launch.code->traits.keptBytes} * launch.abi.warpsPerBlock;
  if (!framed || !kept_.reserve(keptBytes)) return false;
  state_.kept = keptBytes ? kept_.memory() : nullptr;
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
  // GPUs too hand out shared memory in such pieces: a tensor map's fields are changed in a variable of half its size.
  if (!check::any()) state_.sharedLimit = (state_.sharedLimit + kSharedPiece - 1) & ~(kSharedPiece - 1);
  // The accessible memory ends where the gap begins, so that an access beyond the end faults.
  state_.shared = sharedEnd_ - ((state_.sharedLimit + kSharedAlignment - 1) & ~(kSharedAlignment - 1));
  state_.sharedOffset = state_.clusterRank = 0;
  state_.clusterShared = state_.shared;
  state_.blocks = 1;
  state_.warp = state_.line = 0;
  state_.lane = ptx::kNoLane;
  waits_.reset();
  state_.owner = this;
  state_.beginChecks(abi.gridId);
}

void ResidentBlock::begin(RunningLaunch& launch, uint32_t worker, uint64_t blockNumber) {
  place(launch, worker, blockNumber);
  cluster_.reset(*this);
  whole_ = !launch.fibrePerWarp;
  if (!whole_) forgetRegisters(state_, *launch_);
  spanEnd_ = blockNumber + 1;
  turns_.begin(whole_ ? 1 : lowBits(launch.abi.warpsPerBlock));
  barriers_.reset();
  objects_.begin(launch.abi.warpsPerBlock, !whole_);
}

void ResidentBlock::beginInCluster(RunningLaunch& launch, uint32_t worker, uint64_t blockNumber, ResidentBlock& leader,
                                   uint32_t rank) {
  begin(launch, worker, blockNumber);
  const uint32_t* const size = launch.abi.clusterSize;
  cluster_.join(leader.cluster_, rank, size[0] * size[1] * size[2], *this);
  state_.clusterRank = rank;
  state_.clusterShared = leader.state_.clusterShared;
  if (!launch.code->traits.clusterAddresses) return;
  state_.shared = state_.clusterShared;
  state_.sharedOffset = rank * ptx::kSharedStride;
}

void ResidentBlock::beginSpan(RunningLaunch& launch, uint32_t worker, uint64_t first, uint64_t end) {
  begin(launch, worker, first);
  spanEnd_ = end;
}

// False: the interpreter got no memory. Compiled code cannot be unwound, and what it calls throws nothing.
bool ResidentBlock::runWarp(uint32_t warp) {
  try {
    if (whole_)
      runSpan();
    else
      launch_->code->entry(&state_, warp, warp + 1);
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

void ResidentBlock::lackMemory(uint32_t warp, const void* codeAddress) {
  KernelFault fault;
  fault.error = CUDA_ERROR_OUT_OF_MEMORY;
  fault.what = "the host has no memory for what a kernel asked for";
  fault.warp = warp;
  fault.codeAddress = codeAddress;
  thread_.fault() = fault;
  leaveForGood();
}

void ResidentBlock::fibreMain(void* warpFibre) {
  auto& self = *static_cast<WarpFibre*>(warpFibre);
  ResidentBlock& block = *self.block;
  for (;;) {
    if (!block.runWarp(self.warp)) block.lackMemory(self.warp);
    block.warpEnded();
  }
}

// Native code wants all warps of a block at once; the interpreter takes them in any order.
void ResidentBlock::runWarps(uint32_t warps) {
  if (!launch_->shuffle || !launch_->code->interpreted || launch_->code->traits.waits) [[likely]]
    return static_cast<void>(launch_->code->entry(&state_, 0, warps));
  for (uint32_t left = lowBits(warps); left;) {
    const uint32_t warp = launch_->shuffle->oneOf(left);
    left &= ~(1u << warp);
    launch_->code->entry(&state_, warp, warp + 1);
  }
}

void ResidentBlock::runSpan() {
  const uint32_t warps = launch_->abi.warpsPerBlock, row = launch_->abi.gridSize[0];
  const uint32_t most = launch_->code->traits.spans ? kMostBlocksACall : 1;
  for (uint32_t x = state_.blockIndex[0];;) {
    const uint32_t count = static_cast<uint32_t>(std::min<uint64_t>({most, row - x, spanEnd_ - state_.blockNumber}));
    state_.blocks = count;
    state_.nextBlock();
    forgetRegisters(state_, *launch_);
    runWarps(warps);
    state_.blockNumber += count;
    x += count;
    if (state_.blockNumber == spanEnd_ || launch_->cancelled()) return;
    if (x == row) {
      x = 0;
      if (++state_.blockIndex[1] == launch_->abi.gridSize[1]) {
        state_.blockIndex[1] = 0;
        ++state_.blockIndex[2];
      }
    }
    state_.blockIndex[0] = x;
  }
}

ResidentBlock::Progress ResidentBlock::resume() {
  if (!turns_.ready) return cluster_.waiting() ? Progress::Waiting : Progress::Stuck;
  turns_.yielded = 0;
  turns_.current = turns_.nextOf(turns_.ready, launch_->shuffle);
  thread_.noteBlock(&state_);
  const bool went = thread_.run(*launch_, stacks_, fibres_[turns_.current].fibre);
  thread_.noteBlock(nullptr);
  if (!went) return Progress::Faulted;
  if (!turns_.live) {
    if (check::any()) [[unlikely]]
      check::tellEnded(state_);
    return Progress::Done;
  }
  if (turns_.ready) return Progress::Spinning;
  return cluster_.waiting() ? Progress::Waiting : Progress::Stuck;
}

void ResidentBlock::abandon() {
  prepareFibres();
  turns_.live = turns_.ready = turns_.paused = 0;
  cluster_.release();
}

void ResidentBlock::leaveForGood() {
  thread_.throwOut(fibres_[turns_.current].fibre);
  unreachable("a warp that was thrown out of kernel %s came back", launch_->kernelName);
}

void ResidentBlock::switchAway() {
  const uint32_t candidates = turns_.candidates();
  if (!candidates) return fibres_[turns_.current].fibre.switchTo(thread_.base());
  const uint32_t next = turns_.nextOf(candidates, launch_->shuffle);
  if (next == turns_.current) return;
  Fibre& from = fibres_[turns_.current].fibre;
  turns_.current = next;
  from.switchTo(fibres_[next].fibre);
}

void ResidentBlock::warpEnded() {
  const uint32_t bit = 1u << turns_.current;
  turns_.live &= ~bit;
  turns_.ready &= ~bit;
  // A barrier for all threads waits no longer for those that are gone.
  if (const uint32_t opened = barriers_.openComplete(turns_.live)) turns_.goOn(opened);
  objects_.ended();
  cluster_.warpEnded();
  switchAway();
}

void ResidentBlock::waitAt(BlockBarriers::Barrier& barrier, uint32_t warp) {
  barrier.waiting |= 1u << warp;
  if (barrier.complete(turns_.live)) return turns_.goOn(barriers_.open(barrier));
  turns_.ready &= ~(1u << warp);
  objects_.stopped();
  switchAway();
}

void ResidentBlock::barrier(uint32_t warp, uint32_t id, uint32_t threads) {
  if (threads == ptx::kThreadsOfWarpgroup) {
    id = ptx::kFirstOfWarpgroups + warp / ptx::kWarpsOfGroup;
    threads = ptx::kWarpsOfGroup * ptx::kWarpSize;
  }
  waitAt(barriers_.arrive(id, threads), warp);
}

uint32_t ResidentBlock::barrierReduce(uint32_t warp, uint32_t id, uint32_t threads, uint32_t mask,
                                      ptx::BarrierReduction operation, uint32_t predicates) {
  const uint32_t lanes = mask & lanesOf(*launch_, warp);
  BlockBarriers::Barrier& barrier = barriers_.arrive(id, threads);
  barrier.combine(predicates, lanes);
  waitAt(barrier, warp);
  return barriers_.reduced(warp, operation);
}

void ResidentBlock::barrierArrive(uint32_t id, uint32_t threads) {
  BlockBarriers::Barrier& barrier = barriers_.arrive(id, threads);
  if (barrier.expected && barrier.complete(turns_.live)) turns_.goOn(barriers_.open(barrier));
}

void ResidentBlock::yield() {
  turns_.yielded |= 1u << turns_.current;
  objects_.stopped();
  switchAway();
}

void ResidentBlock::pause() {
  turns_.paused |= 1u << turns_.current;
  turns_.ready &= ~(1u << turns_.current);
  switchAway();
}

void ResidentBlock::clusterWait(uint32_t warp) {
  if (!cluster_.wait(warp)) return;
  turns_.ready &= ~(1u << warp);
  objects_.stopped();
  switchAway();
}

void ResidentBlock::clusterPassed() {
  turns_.goOn(cluster_.release());
  thread_.noteProgress();
}

std::string ResidentBlock::describeWaiting() const {
  const auto warps = [this](uint32_t which, const std::string& where) {
    std::string text = " warps ";
    for (uint32_t left = which; left; left &= left - 1)
      text += std::to_string(std::countr_zero(left)) + (left & (left - 1) ? "," : "");
    return text + where + waits_.describe(which, *launch_->code);
  };
  const uint32_t* const at = state_.blockIndex;
  std::string text =
      "block [" + std::to_string(at[0]) + "," + std::to_string(at[1]) + "," + std::to_string(at[2]) + "]:";
  barriers_.eachWaitedAt([&](uint32_t id, const BlockBarriers::Barrier& barrier) {
    text += warps(barrier.waiting, id == ptx::kNeverOpens  ? ", whose lanes wait at different barriers or elsewhere,"
                                   : id > ptx::kNeverOpens ? " at wgmma.wait_group"
                                                           : " at barrier " + std::to_string(id));
  });
  if (const uint32_t waiting = cluster_.waiting()) text += warps(waiting, " at the cluster's barrier");
  if (turns_.ready) text += warps(turns_.ready, " in loops that ask memory");
  return text;
}

}  // namespace vg::backend::cpu
