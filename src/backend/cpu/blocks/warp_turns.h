// Which warps of a block have fibres that can run, and which one does.
#pragma once

#include <bit>
#include <cstdint>
#include <utility>

#include "backend/cpu/blocks/shuffle.h"

namespace vg::backend::cpu {

struct WarpTurns {
  uint32_t live = 0;     // that have not ended; bit 0 stands for all where one fibre runs them
  uint32_t ready = 0;    // that can run
  uint32_t yielded = 0;  // of those, that have nothing to do but ask again
  uint32_t paused = 0;   // that could run but let the others go first
  uint32_t current = 0;  // the one that runs

  uint32_t running() const { return 1u << current; }
  void begin(uint32_t warps) { *this = {.live = warps, .ready = warps}; }
  // Warps that waited run again, and those that yielded have something new to look at.
  void goOn(uint32_t warps) {
    ready |= warps;
    yielded = 0;
  }
  // Those that may go on now; if nobody else can, the pause of the others is over.
  uint32_t candidates() {
    if (!(ready & ~yielded)) ready |= std::exchange(paused, 0);
    return ready & ~yielded;
  }
  // One of them: in turn, or as a seed decides.
  uint32_t nextOf(uint32_t warps, Shuffle* shuffle) const {
    if (shuffle) [[unlikely]]
      return shuffle->oneOf(warps);
    const uint32_t after = warps & (~1u << current);
    return static_cast<uint32_t>(std::countr_zero(after ? after : warps));
  }
};

}  // namespace vg::backend::cpu
