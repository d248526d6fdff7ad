// Two ways of doing the same, of which nobody can tell in advance which is faster here: each is measured, the faster
// is kept, and the slower one tried again now and then, because what is worked on may change. Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>

namespace vg::backend::cpu {

class TwoWays {
 public:
  enum class Way : uint8_t { First, Second };

  // The way for the next time. The first way is the one to begin with.
  Way choose() {
    const uint64_t first = known(Way::First).load(std::memory_order_relaxed);
    const uint64_t second = known(Way::Second).load(std::memory_order_relaxed);
    if (!first) return Way::First;
    if (!second) return Way::Second;
    const bool again = times_.fetch_add(1, std::memory_order_relaxed) % kAgain == kAgain - 1;
    return (second < first) != again ? Way::Second : Way::First;
  }

  // Tells that `amount` of work took so long, in any unit of time that is always the same.
  void learn(Way way, uint64_t amount, uint64_t time) {
    if (amount) known(way).store(time * 1000 / amount + 1, std::memory_order_relaxed);
  }

 private:
  static constexpr uint32_t kAgain = 128;  // times between two tries of the slower way

  std::atomic<uint64_t>& known(Way way) { return cost_[static_cast<uint8_t>(way)]; }

  std::atomic<uint64_t> cost_[2] = {};  // of an amount, times 1000; 0: not known
  std::atomic<uint32_t> times_{0};
};

}  // namespace vg::backend::cpu
