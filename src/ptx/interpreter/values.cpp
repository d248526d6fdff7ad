// What operands are worth: registers, special registers, addresses and whether they may be reached.
#include <algorithm>
#include <cstdlib>

#include "ptx/facts/reach.h"
#include "ptx/interpreter/interpreter_impl.h"
#include "ptx/interpreter/windows.h"
#include "ptx/text/special_registers.h"

namespace vg::ptx::interpreter {

uint64_t Warp::read(uint32_t lane, const Source& s) const {
  switch (s.kind) {
    case Source::Kind::Constant:
      return s.value;
    case Source::Kind::Register: {
      const uint64_t value = frame(lane).registers[s.slot];
      return s.negated ? value ^ 1 : value;
    }
    case Source::Kind::Special:
      return special(lane, s.special);
    case Source::Kind::Global:
      return block->launch->globals[s.slot] + s.value;
    case Source::Kind::FrameAddress:
      return reinterpret_cast<uint64_t>(frame(lane).memory) + s.value;
    case Source::Kind::SharedAddress:
      return block->sharedOffset + s.value;
    case Source::Kind::EntryParameter:
      return reinterpret_cast<uint64_t>(block->launch->parameters) + s.value;
  }
  return 0;
}

std::byte* Warp::range(uint32_t lane, const Step& s, const Source& base, uint64_t bytes, uint64_t alignment,
                       Space space) {
  uint64_t at = read(lane, base);
  if (base.kind == Source::Kind::Register) at = wholeAddress(*this, lane, space, at) + base.value;
  // Parameters and named variables of the frame are where they are.
  const bool named = base.kind == Source::Kind::FrameAddress || base.kind == Source::Kind::EntryParameter;
  if (watched && !named) [[unlikely]]
    return observed(lane, s, base, at, bytes, alignment, space);
  return checked(lane, s, at, bytes, alignment, space);
}

// For the runner, which tells of faults and of waits.
void Warp::noteWhere(uint32_t lane, const Instruction* i) const {
  block->warp = index;
  block->lane = lane;
  block->line = i ? i->line : 0;
}

std::byte* Warp::checked(uint32_t lane, const Step& s, uint64_t at, uint64_t bytes, uint64_t alignment, Space space) {
  noteWhere(lane, s.i);
  if (at & (alignment - 1)) trap(1u << lane, TrapReason::MisalignedAddress, s);
  if (space != Space::Shared && space != Space::SharedCluster) {
    if (!mayReach(*block, at, bytes) && ownership(lane, at, bytes) == BlockObserver::Own::No)
      trap(1u << lane, TrapReason::OutOfReach, s);
    return reinterpret_cast<std::byte*>(at);
  }
  at &= 0xffffffff;
  uint64_t within = at - block->sharedOffset;
  if (space == Space::SharedCluster) {
    const uint32_t* const size = block->launch->clusterSize;
    if (at >> kSharedStrideBits >= size[0] * size[1] * size[2]) trap(1u << lane, TrapReason::SharedOutOfRange, s);
    within = at % kSharedStride;
  }
  if (within > block->sharedLimit || within + bytes > block->sharedLimit)
    trap(1u << lane, TrapReason::SharedOutOfRange, s);
  return block->shared + at;
}

namespace {

uint32_t threadIndex(const KernelLaunch& launch, uint32_t thread, uint32_t axis) {
  const uint32_t x = launch.blockSize[0], y = launch.blockSize[1];
  return axis == 0 ? thread % x : axis == 1 ? thread / x % y : thread / x / y;
}

// Sizes and places of blocks in the grid, and of the grid.
uint64_t gridSpecial(const BlockState& block, Special s) {
  if (s <= Special::NtidZ) return block.launch->blockSize[stepsFrom(Special::NtidX, s)];
  if (s <= Special::CtaidZ) return block.blockIndex[stepsFrom(Special::CtaidX, s)];
  return block.launch->gridSize[stepsFrom(Special::NctaidX, s)];
}

// ... and of clusters. A launch without any has blocks that are clusters of one.
uint64_t clusterSpecial(const BlockState& block, Special s) {
  const KernelLaunch& launch = *block.launch;
  const auto blocks = [&](uint32_t axis) { return std::max(launch.clusterSize[axis], 1u); };
  if (s == Special::IsExplicitCluster) return launch.flags & kExplicitCluster;
  if (s == Special::ClusterCtarank) return block.clusterRank;
  if (s == Special::ClusterNctarank) return blocks(0) * blocks(1) * blocks(2);
  const uint32_t n = stepsFrom(Special::ClusteridX, s), axis = n % 3;
  switch (n / 3) {
    case 0:  // %clusterid
      return block.blockIndex[axis] / blocks(axis);
    case 1:  // %nclusterid
      return launch.gridSize[axis] / blocks(axis);
    case 2:  // %cluster_ctaid
      return block.blockIndex[axis] % blocks(axis);
    default:  // %cluster_nctaid
      return blocks(axis);
  }
}

uint64_t timeSpecial(BlockState* block, Special s) {
  const RuntimeCalls& calls = *block->launch->calls;
  const uint64_t now = s <= Special::Clock64 ? calls.clock(block) : calls.globalTimer(block);
  if (s == Special::Clock64 || s == Special::GlobalTimer) return now;
  return s == Special::ClockHi || s == Special::GlobalTimerHi ? now >> 32 : now & 0xffffffff;
}

// Sizes of shared memory, and where the part that the system keeps lies in it.
uint64_t sharedSpecial(const BlockState& block, const SharedLayout& shared, Special s) {
  const KernelLaunch& launch = *block.launch;
  switch (s) {
    case Special::DynamicSmemSize:
      return launch.dynamicShared;
    case Special::TotalSmemSize:
    case Special::AggrSmemSize:
      return launch.dynamicSharedOffset + launch.dynamicShared - shared.reserved;
    case Special::ReservedSmemOffsetCap:
      return kReservedShared;
    default:
      return block.sharedOffset + *reservedShared(s);
  }
}

// Two of these registers tell where the workspace of cooperative launches is.
uint64_t environmentSpecial(const KernelLaunch& launch, uint32_t n) {
  return n == 1 ? launch.cooperativeWorkspace >> 32 : n == 2 ? launch.cooperativeWorkspace & 0xffffffff : 0;
}

}  // namespace

uint64_t Warp::special(uint32_t lane, Special s) const {
  if (isAmong(s, Special::TidX, Special::TidZ))
    return threadIndex(*block->launch, index * kWarpSize + lane, stepsFrom(Special::TidX, s));
  if (isAmong(s, Special::NtidX, Special::NctaidZ)) return gridSpecial(*block, s);
  if (isAmong(s, Special::LanemaskEq, Special::LanemaskGe)) return laneMask(s, lane);
  if (tellsTime(s)) return timeSpecial(block, s);
  if (isAmong(s, Special::DynamicSmemSize, Special::ReservedSmemOffset1))
    return sharedSpecial(*block, program->shared, s);
  if (isAmong(s, Special::IsExplicitCluster, Special::ClusterNctarank)) return clusterSpecial(*block, s);
  if (isAmong(s, Special::Envreg0, Special::EnvregLast))
    return environmentSpecial(*block->launch, stepsFrom(Special::Envreg0, s));
  switch (s) {
    case Special::LaneId:
      return lane;
    case Special::WarpId:
      return index;
    case Special::NWarpId:
      return block->launch->warpsPerBlock;
    case Special::SmId:
      return block->worker;
    case Special::NSmId:
      return block->launch->workers;
    case Special::GridId:
      return block->launch->gridId;
    case Special::CurrentGraphExec:
      return block->launch->graphExec;
    default:
      return 0;
  }
}

void Warp::trap(uint32_t mask, TrapReason reason, const Step& s) const {
  calls().trap(block, index, mask, reason, s.i ? s.i->line : 0);
  std::abort();
}

}  // namespace vg::ptx::interpreter
