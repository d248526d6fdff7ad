#include "backend/cpu/run/cluster.h"

#include <algorithm>
#include <iterator>

namespace vg::backend::cpu {

void ClusterBarrier::reset(uint32_t blocks) {
  blocks_ = blocks;
  std::fill(std::begin(members_), std::end(members_), nullptr);
  std::fill(std::begin(arrived_), std::end(arrived_), 0);
}

uint64_t ClusterBarrier::arrive(uint32_t rank, uint32_t warp) {
  const uint64_t phase = phase_;
  arrived_[rank] |= 1u << warp;
  review();
  return phase;
}

void ClusterBarrier::review() {
  uint32_t arrived = 0;
  for (uint32_t r = 0; r < blocks_; ++r) {
    if (members_[r]->liveWarps() & ~arrived_[r]) return;
    arrived |= arrived_[r];
  }
  if (!arrived) return;
  ++phase_;
  std::fill(std::begin(arrived_), std::end(arrived_), 0);
  for (uint32_t r = 0; r < blocks_; ++r) members_[r]->clusterPassed();
}

bool ClusterBarrier::stuck() const {
  bool waits = false;
  for (uint32_t r = 0; r < blocks_; ++r) {
    if (members_[r]->canRun()) return false;
    waits |= members_[r]->liveWarps() != 0;
  }
  return waits;
}

}  // namespace vg::backend::cpu
