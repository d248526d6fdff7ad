// Waiting a short while, and a lock for sections of a few instructions.
#pragma once

#include <sched.h>
#include <time.h>

#include <atomic>
#include <cstdint>

#include "base/os.h"

namespace vg {

// Tells the processor that this is a waiting loop.
inline void relax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

inline uint64_t monotonicNanoseconds() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return uint64_t(now.tv_sec) * 1'000'000'000 + uint64_t(now.tv_nsec);
}

// Leaves the processor to others between polls that have gone on for long.
inline void nap() {
  const timespec pause{0, 20'000};
  nanosleep(&pause, nullptr);
}

// Polls `ready` for at most `nanoseconds`, on a sole core just a few times; what it last said. Gives up when
// `worthwhile`, asked now and then, says no.
template <class Ready, class Worthwhile>
bool spinUntil(Ready&& ready, uint64_t nanoseconds, Worthwhile&& worthwhile) {
  constexpr int kPolls = 32;  // between looks at the clock
  for (int i = 0; i < kPolls; ++i) {
    if (ready()) return true;
    relax();
  }
  if (os::soleCore()) return ready();
  for (const uint64_t end = monotonicNanoseconds() + nanoseconds; monotonicNanoseconds() < end && worthwhile();)
    for (int i = 0; i < kPolls; ++i) {
      if (ready()) return true;
      relax();
    }
  return ready();
}

template <class Ready>
bool spinUntil(Ready&& ready, uint64_t nanoseconds) {
  return spinUntil(ready, nanoseconds, [] { return true; });
}

// Holds a lock word (0: free) while it lives.
class SpinGuard {
 public:
  explicit SpinGuard(std::atomic<uint32_t>& word) : word_(word) {
    while (word_.exchange(1, std::memory_order_acquire)) [[unlikely]] await();
  }
  ~SpinGuard() { word_.store(0, std::memory_order_release); }
  SpinGuard(const SpinGuard&) = delete;

 private:
  // The holder may have lost its processor: polls for about a microsecond, then offers ours.
  void await() {
    for (int i = 0; word_.load(std::memory_order_relaxed); ++i) {
      if (i < 32) {
        relax();
      } else {
        sched_yield();
      }
    }
  }

  std::atomic<uint32_t>& word_;
};

}  // namespace vg
