// In which order a launch runs its blocks and warps where VERDIGRIS_SEED decides it. One a launch, which then has one
// thread.
#pragma once

#include <cstdint>

#include "backend/queues/interleaving.h"

namespace vg::backend::cpu {

class Shuffle {
 public:
  // Of launch number `launch` of the process, with so many tickets (blocks or clusters). With a `window` only tickets
  // that close to each other change places: blocks that wait for others expect those before them to have begun.
  Shuffle(uint64_t launch, uint64_t tickets, uint64_t window);

  // The ticket that comes in place of number `ticket`, which is below `tickets`.
  uint64_t at(uint64_t ticket) const;
  // One of the bits of `candidates`, which is not 0.
  uint32_t oneOf(uint32_t candidates);
  // A number below `limit`, which is not 0.
  uint64_t below(uint64_t limit) { return dice_.below(limit); }

 private:
  enum class Way : uint8_t { Upwards, Downwards, Random };

  const uint64_t tickets_, window_, key_;
  const Way way_;
  interleaving::Dice dice_;
};

}  // namespace vg::backend::cpu
