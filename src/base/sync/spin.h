// Waiting a short while.
#pragma once

#include <time.h>

#include <atomic>
#include <cstdint>

#include "base/sync/spin_lock.h"
#include "base/system/os.h"

namespace vg {

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

}  // namespace vg
