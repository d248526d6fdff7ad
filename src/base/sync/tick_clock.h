// The host's monotonic clock at half the price: from the processor's counter of ticks, where the processor says that it
// runs at one rate and the system keeps its own time by it; else the system's clock itself.
//
// The counter is compared with the system's clock now and then, by keep(). Between two comparisons a straight line
// leads from ticks to nanoseconds. It never steps: a difference is made good on the way to the next comparison. Until
// two comparisons were made, and after the counter and the clock have parted (the system slept, a virtual machine
// moved), the system's clock is asked.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/sync/spin.h"

namespace vg::tick_clock {

struct Line {
  std::atomic<uint32_t> version{0};  // odd while the rest changes
  std::atomic<uint64_t> ticks{0}, nanoseconds{0};
  std::atomic<uint64_t> slope{0};  // nanoseconds a tick, times 2^32; 0: not known
};
extern constinit Line line;

// kBehind: not before what stands before it is done. Else the processor may look somewhat earlier.
template <bool kBehind>
inline uint64_t ticksNow() {
#if defined(__x86_64__)
  uint32_t low, high;
  if constexpr (kBehind)
    asm volatile("lfence\n\trdtsc" : "=a"(low), "=d"(high)::"memory");
  else
    asm volatile("rdtsc" : "=a"(low), "=d"(high)::"memory");
  return uint64_t{high} << 32 | low;
#else
  return 0;
#endif
}

inline uint64_t along(uint64_t ticks, uint64_t nanoseconds, uint64_t slope, uint64_t at) {
  __extension__ using Wide = __int128;
  const Wide passed = Wide{static_cast<int64_t>(at - ticks)} * static_cast<int64_t>(slope);
  return nanoseconds + static_cast<uint64_t>(static_cast<int64_t>(passed >> 32));
}

// Nanoseconds of CLOCK_MONOTONIC, to within some tens. Any thread. For what another thread ended just before, kBehind
// keeps the order.
template <bool kBehind = true>
inline uint64_t now() {
  for (;;) {
    const uint32_t version = line.version.load(std::memory_order_acquire);
    const uint64_t slope = line.slope.load(std::memory_order_relaxed);
    if (!slope) return monotonicNanoseconds();
    const uint64_t ticks = line.ticks.load(std::memory_order_relaxed);
    const uint64_t nanoseconds = line.nanoseconds.load(std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_acquire);
    if (!(version & 1) && line.version.load(std::memory_order_relaxed) == version) [[likely]]
      return along(ticks, nanoseconds, slope, ticksNow<kBehind>());
  }
}

// Compares. Every few milliseconds, by one thread at a time, for as long as somebody asks for now(). Costs two looks at
// the clock.
void keep() noexcept;
// Nobody compares any more: from now on the system's clock is asked.
void rest() noexcept;

}  // namespace vg::tick_clock
