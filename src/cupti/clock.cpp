#include "cupti/clock.h"

#include <time.h>

#include <algorithm>
#include <array>
#include <atomic>

#include "base/sync/mutex.h"

namespace vg::cupti::clock {
namespace {

constinit std::atomic<CUpti_TimestampCallbackFunc> registered{nullptr};

uint64_t systemClock(clockid_t which) {
  timespec now;
  clock_gettime(which, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}
uint64_t driversClock() { return systemClock(CLOCK_MONOTONIC); }

// A moment by both clocks.
struct Moment {
  uint64_t drivers = 0, ours = 0;
};

// The look of several that took the least time: the thread was not interrupted in it.
Moment look() {
  Moment best{};
  uint64_t shortest = UINT64_MAX;
  for (int i = 0; i < 3; ++i) {
    const uint64_t before = driversClock(), ours = now(), after = driversClock();
    if (after - before >= shortest) continue;
    shortest = after - before;
    best = {before + shortest / 2, ours};
  }
  return best;
}

constexpr size_t kMost = 64;
struct Moments {
  Mutex mutex;
  std::array<Moment, kMost> kept VG_GUARDED_BY(mutex) = {};  // the oldest first
  size_t count VG_GUARDED_BY(mutex) = 0;
};
constinit Moments moments;

void keep(Moment moment) VG_REQUIRES(moments.mutex) {
  if (moments.count == kMost) {
    std::move(moments.kept.begin() + 1, moments.kept.end(), moments.kept.begin());
    --moments.count;
  }
  moments.kept[moments.count++] = moment;
}

uint64_t between(const Moment& a, const Moment& b, uint64_t drivers) {
  if (b.drivers == a.drivers) return a.ours;
  const double slope = static_cast<double>(static_cast<int64_t>(b.ours - a.ours)) /
                       static_cast<double>(static_cast<int64_t>(b.drivers - a.drivers));
  return a.ours + static_cast<uint64_t>(
                      static_cast<int64_t>(slope * static_cast<double>(static_cast<int64_t>(drivers - a.drivers))));
}

}  // namespace

void use(CUpti_TimestampCallbackFunc function) {
  const MutexLock lock(moments.mutex);
  registered.store(function, std::memory_order_release);
  moments.count = 0;
  keep(look());
}

CUpti_TimestampCallbackFunc used() { return registered.load(std::memory_order_acquire); }

uint64_t now() {
  const CUpti_TimestampCallbackFunc function = used();
  return function ? function() : systemClock(CLOCK_REALTIME);
}

uint64_t at(uint64_t nanoseconds) {
  const MutexLock lock(moments.mutex);
  if (!moments.count || moments.kept[moments.count - 1].drivers < nanoseconds) keep(look());
  if (moments.count == 1) {  // nothing to compare with: both run at one pace unless a function was registered
    if (!used()) return moments.kept[0].ours - (moments.kept[0].drivers - nanoseconds);
    keep(look());
  }
  size_t i = moments.count - 1;
  while (i > 1 && moments.kept[i - 1].drivers > nanoseconds) --i;
  // Before the first of them the whole of them tells the pace best.
  const bool before = moments.kept[i - 1].drivers > nanoseconds;
  return between(moments.kept[i - 1], moments.kept[before ? moments.count - 1 : i], nanoseconds);
}

}  // namespace vg::cupti::clock
