// What operands are worth: registers, special registers, addresses and whether they may be reached.
#include <algorithm>
#include <cstdlib>

#include "ptx/facts/reach.h"
#include "ptx/interpreter/interpreter_impl.h"
#include "ptx/interpreter/windows.h"

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

uint64_t Warp::special(uint32_t lane, Special s) const {
  const KernelLaunch& launch = *block->launch;
  const uint32_t thread = index * kWarpSize + lane, x = launch.blockSize[0], y = launch.blockSize[1];
  if (s >= Special::Envreg0 && s <= Special::EnvregLast) {
    const uint32_t n = static_cast<uint32_t>(s) - static_cast<uint32_t>(Special::Envreg0);
    return n == 1 ? launch.cooperativeWorkspace >> 32 : n == 2 ? launch.cooperativeWorkspace & 0xffffffff : 0;
  }
  switch (s) {
    case Special::TidX:
      return thread % x;
    case Special::TidY:
      return thread / x % y;
    case Special::TidZ:
      return thread / x / y;
    case Special::NtidX:
      return launch.blockSize[0];
    case Special::NtidY:
      return launch.blockSize[1];
    case Special::NtidZ:
      return launch.blockSize[2];
    case Special::CtaidX:
      return block->blockIndex[0];
    case Special::CtaidY:
      return block->blockIndex[1];
    case Special::CtaidZ:
      return block->blockIndex[2];
    case Special::NctaidX:
      return launch.gridSize[0];
    case Special::NctaidY:
      return launch.gridSize[1];
    case Special::NctaidZ:
      return launch.gridSize[2];
    case Special::ClusteridX:
      return block->blockIndex[0] / std::max(launch.clusterSize[0], 1u);
    case Special::ClusteridY:
      return block->blockIndex[1] / std::max(launch.clusterSize[1], 1u);
    case Special::ClusteridZ:
      return block->blockIndex[2] / std::max(launch.clusterSize[2], 1u);
    case Special::NclusteridX:
      return launch.gridSize[0] / std::max(launch.clusterSize[0], 1u);
    case Special::NclusteridY:
      return launch.gridSize[1] / std::max(launch.clusterSize[1], 1u);
    case Special::NclusteridZ:
      return launch.gridSize[2] / std::max(launch.clusterSize[2], 1u);
    case Special::ClusterCtaidX:
      return block->blockIndex[0] % std::max(launch.clusterSize[0], 1u);
    case Special::ClusterCtaidY:
      return block->blockIndex[1] % std::max(launch.clusterSize[1], 1u);
    case Special::ClusterCtaidZ:
      return block->blockIndex[2] % std::max(launch.clusterSize[2], 1u);
    case Special::ClusterNctaidX:
      return std::max(launch.clusterSize[0], 1u);
    case Special::ClusterNctaidY:
      return std::max(launch.clusterSize[1], 1u);
    case Special::ClusterNctaidZ:
      return std::max(launch.clusterSize[2], 1u);
    case Special::ClusterCtarank:
      return block->clusterRank;
    case Special::IsExplicitCluster:
      return launch.flags & kExplicitCluster;
    case Special::ClusterNctarank:
      return std::max(launch.clusterSize[0], 1u) * std::max(launch.clusterSize[1], 1u) *
             std::max(launch.clusterSize[2], 1u);
    case Special::LaneId:
      return lane;
    case Special::WarpId:
      return index;
    case Special::NWarpId:
      return launch.warpsPerBlock;
    case Special::SmId:
      return block->worker;
    case Special::NSmId:
      return launch.workers;
    case Special::GridId:
      return launch.gridId;
    case Special::CurrentGraphExec:
      return launch.graphExec;
    case Special::LanemaskEq:
      return 1u << lane;
    case Special::LanemaskLt:
      return (1u << lane) - 1;
    case Special::LanemaskLe:
      return (2u << lane) - 1;
    case Special::LanemaskGt:
      return ~((2u << lane) - 1) & 0xffffffff;
    case Special::LanemaskGe:
      return ~((1u << lane) - 1) & 0xffffffff;
    case Special::Clock:
      return calls().clock(block) & 0xffffffff;
    case Special::ClockHi:
      return calls().clock(block) >> 32;
    case Special::Clock64:
      return calls().clock(block);
    case Special::GlobalTimer:
      return calls().globalTimer(block);
    case Special::GlobalTimerLo:
      return calls().globalTimer(block) & 0xffffffff;
    case Special::GlobalTimerHi:
      return calls().globalTimer(block) >> 32;
    case Special::DynamicSmemSize:
      return launch.dynamicShared;
    case Special::TotalSmemSize:
    case Special::AggrSmemSize:
      return launch.dynamicSharedOffset + launch.dynamicShared - program->shared.reserved;
    case Special::ReservedSmemOffsetCap:
      return kReservedShared;
    default:
      if (const auto offset = reservedShared(s)) return block->sharedOffset + *offset;
      return 0;
  }
}

void Warp::trap(uint32_t mask, TrapReason reason, const Step& s) const {
  calls().trap(block, index, mask, reason, s.i ? s.i->line : 0);
  std::abort();
}

}  // namespace vg::ptx::interpreter
