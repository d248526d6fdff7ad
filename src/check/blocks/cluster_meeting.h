// How the lanes of a block stand with the barrier of their cluster, as checked mode keeps it: which have arrived and
// not waited yet, and where they did.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "ptx/text/ast.h"

namespace vg::check {

class ClusterMeeting {
 public:
  void reset(uint32_t warps) {
    arrived_.assign(warps, 0);
    places_.assign(size_t{warps} * kLanes, nullptr);
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

 private:
  static constexpr uint32_t kLanes = 32;
  // Of the first lane of the mask.
  const ptx::Instruction*& place(uint32_t warp, uint32_t mask) {
    return places_[warp * kLanes + static_cast<uint32_t>(std::countr_zero(mask))];
  }
  std::vector<uint32_t> arrived_;                // lanes, by warp
  std::vector<const ptx::Instruction*> places_;  // by warp and lane
};

}  // namespace vg::check
