// Whether a kernel with atomics gets on faster alone. Where threads of the machine fight over the same lines of memory,
// a line takes longer from core to core than an atomic takes where it is: two cores may do less than one. Nobody can
// tell from the code, so a kernel that runs for long is measured both ways.
#pragma once

#include "backend/cpu/run/two_ways.h"

namespace vg::backend::cpu {

class KernelCrowding {
 public:
  // How many of `most` threads the next grid should have. Threads may ask at once.
  uint32_t choose(uint32_t most);
  // Tells that a grid of so many warps kept `threads` threads of `most` busy for so long, all together.
  void learn(uint32_t threads, uint32_t most, uint64_t warps, uint64_t nanoseconds);

 private:
  static constexpr TwoWays::Way kTogether = TwoWays::Way::First, kAlone = TwoWays::Way::Second;
  static constexpr uint64_t kWorthwhile = 200'000;  // ns a grid must take

  TwoWays ways_;  // time from begin to end, by warps
};

}  // namespace vg::backend::cpu
