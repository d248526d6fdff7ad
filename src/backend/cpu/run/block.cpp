#include "backend/cpu/run/block.h"

#include <algorithm>
#include <bit>
#include <new>
#include <set>
#include <utility>

#include "backend/cpu/code/kernel_code.h"
#include "backend/cpu/run/shuffle.h"
#include "base/log.h"
#include "base/result.h"
#include "check/check.h"

namespace vg::backend::cpu {
namespace {

constexpr uint32_t kSharedAlignment = 1024;
constexpr uint32_t kSharedPiece = 128;  // bytes; of devices of capability 8.0 and later
// Blocks that native code runs in one call, row by row of their threads. Few enough that three rows of them stay in the
// first cache, where neighbouring rows of a stencil meet again.
constexpr uint32_t kMostBlocksACall = 64;

uint32_t lowBits(uint32_t count) { return count >= 32 ? ~0u : (1u << count) - 1; }

}  // namespace

bool ResidentBlock::reserveFrames(size_t bytes) {
  if (bytes <= framesBytes_) return true;
  framesBytes_ = 0;
  frames_.reset(static_cast<std::byte*>(std::aligned_alloc(64, (bytes + 63) & ~size_t{63})));
  state_.frames = frames_.get();
  if (frames_) framesBytes_ = bytes;
  return frames_ != nullptr;
}

bool ResidentBlock::reserve(const RunningLaunch& launch) {
  if (!reserveFrames(ptx::frameMemory(launch.code->traits, launch.abi.warpsPerBlock))) return false;
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
  std::fill(std::begin(waits_), std::end(waits_), Wait{});
  state_.owner = this;
  state_.beginChecks(abi.gridId);
}

void ResidentBlock::begin(RunningLaunch& launch, uint32_t worker, uint64_t blockNumber) {
  place(launch, worker, blockNumber);
  cluster_ = &own_;
  rank_ = clusterWaiting_ = 0;
  own_.reset(1);
  own_.join(0, *this);
  whole_ = !launch.fibrePerWarp;
  spanEnd_ = blockNumber + 1;
  live_ = ready_ = whole_ ? 1 : lowBits(launch.abi.warpsPerBlock);
  yielded_ = paused_ = 0;
  current_ = 0;
  for (uint32_t left = occupied_; left; left &= left - 1) barriers_[std::countr_zero(left)] = Barrier();
  occupied_ = 0;
}

void ResidentBlock::beginInCluster(RunningLaunch& launch, uint32_t worker, uint64_t blockNumber, ResidentBlock& leader,
                                   uint32_t rank) {
  begin(launch, worker, blockNumber);
  const uint32_t* const size = launch.abi.clusterSize;
  if (rank == 0) own_.reset(size[0] * size[1] * size[2]);
  cluster_ = &leader.own_;
  rank_ = rank;
  cluster_->join(rank, *this);
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

void ResidentBlock::lackMemory(uint32_t warp) {
  KernelFault fault;
  fault.error = CUDA_ERROR_OUT_OF_MEMORY;
  fault.what = "the host has no memory for what a kernel asked for";
  fault.warp = warp;
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

// In turn, or as a seed decides.
inline uint32_t ResidentBlock::nextOf(uint32_t candidates) const {
  if (launch_->shuffle) [[unlikely]]
    return launch_->shuffle->oneOf(candidates);
  const uint32_t after = candidates & (~1u << current_);
  return static_cast<uint32_t>(std::countr_zero(after ? after : candidates));
}

ResidentBlock::Progress ResidentBlock::resume() {
  if (!ready_) return clusterWaiting_ ? Progress::Waiting : Progress::Stuck;
  yielded_ = 0;
  current_ = nextOf(ready_);
  thread_.noteBlock(&state_);
  const bool went = thread_.run(*launch_, stacks_, fibres_[current_].fibre);
  thread_.noteBlock(nullptr);
  if (!went) return Progress::Faulted;
  if (!live_) return Progress::Done;
  if (ready_) return Progress::Spinning;
  return clusterWaiting_ ? Progress::Waiting : Progress::Stuck;
}

void ResidentBlock::abandon() {
  prepareFibres();
  live_ = ready_ = paused_ = clusterWaiting_ = 0;
}

void ResidentBlock::switchToBase() { fibres_[current_].fibre.switchTo(thread_.base()); }

void ResidentBlock::leaveForGood() {
  thread_.throwOut(fibres_[current_].fibre);
  unreachable("a warp that was thrown out of kernel %s came back", launch_->kernelName);
}

void ResidentBlock::switchAway() {
  if (!(ready_ & ~yielded_)) ready_ |= std::exchange(paused_, 0);  // nobody else can go on: their pause is over
  const uint32_t candidates = ready_ & ~yielded_;
  if (!candidates) return switchToBase();
  const uint32_t next = nextOf(candidates);
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
  if (clusterWaiting_ || cluster_->blocks() > 1) cluster_->review();
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

void ResidentBlock::pause() {
  paused_ |= 1u << current_;
  ready_ &= ~(1u << current_);
  switchAway();
}

void ResidentBlock::clusterWait(uint32_t warp) {
  if (!cluster_->open(clusterPhase_[warp])) return;
  clusterWaiting_ |= 1u << warp;
  ready_ &= ~(1u << warp);
  switchAway();
}

void ResidentBlock::clusterPassed() {
  ready_ |= clusterWaiting_;
  clusterWaiting_ = 0;
  yielded_ = 0;
  thread_.noteProgress();
}

uint32_t ResidentBlock::waitLine(uint32_t warp) const {
  const Wait& wait = waits_[warp];
  return CodePages::contains(wait.codeAddress)
             ? launch_->code->lineAt(static_cast<const std::byte*>(wait.codeAddress) - 1)
             : wait.line;
}

// Where warps wait: " (PTX line 12)", " (PTX lines 12,15)", or nothing where that is not known.
std::string ResidentBlock::linesOf(uint32_t warps) const {
  std::set<uint32_t> lines;
  for (; warps; warps &= warps - 1) lines.insert(waitLine(static_cast<uint32_t>(std::countr_zero(warps))));
  lines.erase(0);
  std::string text;
  for (const uint32_t line : lines) text += (text.empty() ? "" : ",") + std::to_string(line);
  return text.empty() ? text : (lines.size() > 1 ? " (PTX lines " : " (PTX line ") + text + ")";
}

std::string ResidentBlock::describeWaiting() const {
  const auto warps = [](uint32_t which) {
    std::string text = " warps ";
    for (; which; which &= which - 1)
      text += std::to_string(std::countr_zero(which)) + (which & (which - 1) ? "," : "");
    return text;
  };
  const uint32_t* const at = state_.blockIndex;
  std::string text =
      "block [" + std::to_string(at[0]) + "," + std::to_string(at[1]) + "," + std::to_string(at[2]) + "]:";
  for (uint32_t left = occupied_; left; left &= left - 1) {
    const int id = std::countr_zero(left);
    if (barriers_[id].waiting)
      text += warps(barriers_[id].waiting) + " at barrier " + std::to_string(id) + linesOf(barriers_[id].waiting);
  }
  if (clusterWaiting_) text += warps(clusterWaiting_) + " at the cluster's barrier" + linesOf(clusterWaiting_);
  if (ready_) text += warps(ready_) + " in loops that ask memory" + linesOf(ready_);
  return text;
}

}  // namespace vg::backend::cpu
