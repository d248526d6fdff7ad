// The barriers of a block: who has come to each, and what they have combined. Belongs to the block's worker thread.
#pragma once

#include <bit>
#include <cstdint>

#include "ptx/abi/kernel_abi.h"
#include "ptx/abi/more_barriers.h"

namespace vg::backend::cpu {

class BlockBarriers {
 public:
  static constexpr uint32_t kMaxWarps = 32;

  struct Barrier {
    uint32_t waiting = 0;   // warps that wait
    uint32_t arrived = 0;   // threads that came, whole warps counted as 32
    uint32_t expected = 0;  // threads; 0: all live warps
    uint32_t count = 0;     // predicates that were true
    bool all = true, any = false, reduces = false;

    void combine(uint32_t predicates, uint32_t lanes) {
      reduces = true;
      count += std::popcount(predicates & lanes);
      all = all && (predicates & lanes) == lanes;
      any = any || (predicates & lanes) != 0;
    }
    bool complete(uint32_t liveWarps) const { return expected ? arrived >= expected : (liveWarps & ~waiting) == 0; }
  };

  void reset() {
    for (uint32_t left = occupied_; left; left &= left - 1) barriers_[std::countr_zero(left)] = Barrier();
    occupied_ = 0;
  }

  // A warp comes. PTX counts whole warps: a partial one counts as 32 threads.
  Barrier& arrive(uint32_t id, uint32_t threads) {
    const uint32_t number = id % kBarriers;
    occupied_ |= 1u << number;
    Barrier& barrier = barriers_[number];
    barrier.expected = threads;
    if (threads) barrier.arrived += ptx::kWarpSize;
    return barrier;
  }

  // The barrier is free again; the warps that waited at it.
  uint32_t open(Barrier& barrier) {
    const uint32_t waiting = barrier.waiting;
    if (barrier.reduces)
      for (uint32_t left = waiting; left; left &= left - 1)
        reduced_[std::countr_zero(left)] = {barrier.count, barrier.all, barrier.any};
    barrier = Barrier();
    occupied_ &= ~(1u << (&barrier - barriers_));
    return waiting;
  }

  // Opens those that wait no longer for anybody now that these warps live; the warps that waited at them.
  uint32_t openComplete(uint32_t liveWarps) {
    uint32_t opened = 0;
    for (uint32_t left = occupied_; left; left &= left - 1) {
      Barrier& barrier = barriers_[std::countr_zero(left)];
      if (barrier.waiting && barrier.complete(liveWarps)) opened |= open(barrier);
    }
    return opened;
  }

  // What the barrier that let a warp go had combined.
  uint32_t reduced(uint32_t warp, ptx::BarrierReduction operation) const {
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

  // visit(id, barrier) for each that some warp waits at.
  template <class Visit>
  void eachWaitedAt(Visit visit) const {
    for (uint32_t left = occupied_; left; left &= left - 1) {
      const uint32_t id = static_cast<uint32_t>(std::countr_zero(left));
      if (barriers_[id].waiting) visit(id, barriers_[id]);
    }
  }

 private:
  static constexpr uint32_t kBarriers = ptx::kFirstOfWarpgroups + ptx::kMostWarpgroups;
  struct Reduced {
    uint32_t count;
    bool all, any;
  };

  Barrier barriers_[kBarriers];
  uint32_t occupied_ = 0;  // barriers that somebody came to since they opened last
  Reduced reduced_[kMaxWarps];
};

}  // namespace vg::backend::cpu
