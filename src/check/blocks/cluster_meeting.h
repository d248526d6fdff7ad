// How the lanes of a block stand with the barrier of their cluster, as checked mode keeps it: which have arrived and
// not waited yet, and where they did.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "ptx/text/ast.h"

namespace vg::check {

class ClusterMeeting {
 public:
  static constexpr uint32_t kWarps = 32;

  // `follows`: whether arrivals are to be known.
  void reset(bool follows) {
    rounds_.fill(0);
    if (!follows) return;
    arrived_.assign(kWarps, 0);
    places_.assign(size_t{kWarps} * kLanes, nullptr);
  }
  // Answers those that had arrived before.
  uint32_t arrive(uint32_t warp, uint32_t mask, const ptx::Instruction* at) {
    const uint32_t twice = arrived_[warp] & mask;
    arrived_[warp] |= mask;
    for (uint32_t left = mask; left; left &= left - 1) place(warp, left) = at;
    return twice;
  }
  // Answers those that had not arrived. `apart`: whether the others did so by different instructions.
  uint32_t wait(uint32_t warp, uint32_t mask, bool* apart) {
    const uint32_t came = arrived_[warp] & mask;
    *apart = false;
    for (uint32_t left = came; left; left &= left - 1) *apart |= place(warp, left) != place(warp, came);
    arrived_[warp] &= ~mask;
    return mask & ~came;
  }
  // Where a lane arrived last.
  const ptx::Instruction* placeOf(uint32_t warp, uint32_t mask) { return place(warp, mask); }

  // How often the warp has left the barrier.
  uint32_t rounds(uint32_t warp) const { return rounds_[warp]; }
  void leave(uint32_t warp) { ++rounds_[warp]; }

 private:
  static constexpr uint32_t kLanes = 32;
  // Of the first lane of the mask.
  const ptx::Instruction*& place(uint32_t warp, uint32_t mask) {
    return places_[warp * kLanes + static_cast<uint32_t>(std::countr_zero(mask))];
  }
  std::array<uint32_t, kWarps> rounds_{};        // by warp
  std::vector<uint32_t> arrived_;                // lanes, by warp
  std::vector<const ptx::Instruction*> places_;  // by warp and lane
};

}  // namespace vg::check
