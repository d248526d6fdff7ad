// Whether a kernel with atomics gets on faster alone. Where threads of the machine fight over the same lines of memory,
// a line takes longer from core to core than an atomic takes where it is: two cores may do less than one. Nobody can
// tell from the code, so a kernel that runs for long is measured both ways, the slower one again now and then, because
// what it is given may change.
#pragma once

#include <atomic>
#include <cstdint>

namespace vg::backend::cpu {

class KernelCrowding {
 public:
  // How many of `most` threads the next grid should have. Threads may ask at once.
  uint32_t choose(uint32_t most);
  // Tells that a grid of so many warps kept `threads` threads of `most` busy for so long, all together.
  void learn(uint32_t threads, uint32_t most, uint64_t warps, uint64_t nanoseconds);

 private:
  static constexpr uint32_t kAgain = 128;           // grids between two tries of the slower way
  static constexpr uint64_t kWorthwhile = 200'000;  // ns a grid must take

  std::atomic<uint64_t> alone_{0}, together_{0};  // picoseconds from begin to end, a warp; 0: not known
  std::atomic<uint32_t> grids_{0};
};

}  // namespace vg::backend::cpu
