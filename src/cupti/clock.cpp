#include "cupti/clock.h"

#include <time.h>

#include <algorithm>
#include <array>
#include <atomic>

#include "base/sync/mutex.h"
#include "cupti/driver.h"

namespace vg::cupti::clock {
namespace {

constinit std::atomic<CUpti_TimestampCallbackFunc> registered{nullptr};

uint64_t systemClock(clockid_t which) {
  timespec now;
  clock_gettime(which, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}
uint64_t driversClock() { return systemClock(CLOCK_MONOTONIC); }

// How far the system's clock is ahead of the driver's. It changes when somebody sets the clock, so it is looked for
// again now and then; a little difference to what was found before is the uncertainty of the look.
class Ahead {
 public:
  // `drivers`: the driver's time now, or a little before.
  uint64_t at(uint64_t drivers) {
    if (drivers > looked_.load(std::memory_order_relaxed) + kPause) look(drivers);
    return ahead_.load(std::memory_order_relaxed);
  }

 private:
  static constexpr uint64_t kPause = 5'000'000, kUncertain = 2'000;  // ns

  // The quickest of three: a thread that is interrupted between two clocks takes them for further apart. What a look
  // may be wrong by is no change.
  void look(uint64_t drivers) {
    uint64_t shortest = UINT64_MAX, now = 0;
    for (int i = 0; i < 3; ++i) {
      const uint64_t before = driversClock(), there = systemClock(CLOCK_REALTIME), took = driversClock() - before;
      if (took >= shortest) continue;
      shortest = took;
      now = there - (before + took / 2);
    }
    const uint64_t uncertain = std::max(kUncertain, shortest);
    if (now - ahead_.load(std::memory_order_relaxed) + uncertain > 2 * uncertain)
      ahead_.store(now, std::memory_order_relaxed);
    looked_.store(std::max(drivers, driversClock()), std::memory_order_relaxed);
  }

  std::atomic<uint64_t> looked_{0}, ahead_{0};
};
constinit Ahead ahead;

// A correction does not lead a thread back, unless somebody has set the clock.
constexpr uint64_t kSet = 1'000'000'000;
constinit thread_local uint64_t lastTold = 0;

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
  if (function) return function();
  const api::ObserverTable* const table = driver();
  if (!table) return systemClock(CLOCK_REALTIME);
  const uint64_t drivers = table->now();
  const uint64_t time = drivers + ahead.at(drivers);
  if (lastTold - time >= kSet) lastTold = time;  // also where it is later
  return lastTold;
}

uint64_t at(uint64_t nanoseconds) {
  if (!used()) return nanoseconds + ahead.at(nanoseconds);
  const MutexLock lock(moments.mutex);
  if (!moments.count || moments.kept[moments.count - 1].drivers < nanoseconds) keep(look());
  if (moments.count == 1) keep(look());  // one alone has no pace
  size_t i = moments.count - 1;
  while (i > 1 && moments.kept[i - 1].drivers > nanoseconds) --i;
  // Before the first of them the whole of them tells the pace best.
  const bool before = moments.kept[i - 1].drivers > nanoseconds;
  return between(moments.kept[i - 1], moments.kept[before ? moments.count - 1 : i], nanoseconds);
}

Span at(uint64_t begin, uint64_t end) {
  if (used()) {
    const uint64_t first = at(begin);
    return {first, std::max(first, at(end))};
  }
  const uint64_t difference = ahead.at(end);
  return {begin + difference, std::max(begin, end) + difference};
}

}  // namespace vg::cupti::clock
