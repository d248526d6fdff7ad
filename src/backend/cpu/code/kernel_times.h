// What grids of a kernel take on one thread, learnt from those that have run. By their size: small ones take longer for
// each warp, so that what a program's small grids took would make its large ones seem long. What several threads shared
// takes longer than it would take one, so it counts only where nothing else is known. Thread-safe.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

namespace vg::backend::cpu {

class KernelTimes {
 public:
  enum class Ran : uint8_t {
    Alone,     // on one thread
    Together,  // on several
    Surprised  // on more than were asked at first, as it took so long
  };

  // Picoseconds of a warp in a grid of so many; 0 before any grid has run.
  uint64_t ofWarp(uint64_t warps) const;
  // Tells that a grid of so many warps took so long, all its threads together.
  void learn(uint64_t warps, uint64_t nanoseconds, Ran how);
  // Whether one thread should begin the next grid of this size alone, to find out what it takes: now and then.
  bool triesAlone(uint64_t warps);

 private:
  static constexpr unsigned kSizes = 24;  // the last one is for all that are larger
  struct Known {
    std::atomic<uint64_t> alone{0}, together{0};  // picoseconds a warp; 0: none
    std::atomic<uint32_t> grids{0};               // that several threads were to run

    uint64_t best() const {
      const uint64_t one = alone.load(std::memory_order_relaxed);
      return one ? one : together.load(std::memory_order_relaxed);
    }
  };
  static unsigned sizeOf(uint64_t warps);

  std::array<Known, kSizes> sizes_;
};

}  // namespace vg::backend::cpu
