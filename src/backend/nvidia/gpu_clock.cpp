#include "backend/nvidia/gpu_clock.h"

#include <cstdlib>

#include "base/log.h"
#include "base/sync/spin.h"

namespace vg::backend::nvidia {
namespace {

// ns for which a comparison serves: the clocks part by less than 100 us a second.
constexpr uint64_t kServes = 2'000'000;
constexpr uint64_t kQuick = 5'000;         // ns that an undisturbed comparison takes at most
constexpr int64_t kPlausible = 1'000'000;  // ns by which register and driver may differ

}  // namespace

uint64_t GpuClock::now() {
  uint64_t here = monotonicNanoseconds();
  const uint64_t compared = compared_.load(std::memory_order_acquire);
  if (!compared || here - compared > kServes) [[unlikely]] {
    compare();
    here = monotonicNanoseconds();
  }
  const uint64_t time = here + static_cast<uint64_t>(ahead_.load(std::memory_order_relaxed));
  uint64_t latest = latest_.load(std::memory_order_relaxed);
  while (latest < time)
    if (latest_.compare_exchange_weak(latest, time, std::memory_order_relaxed)) return time;
  return latest;
}

// Whoever is disturbed in the middle tries again.
template <class Read>
GpuClock::Comparison GpuClock::best(Read read) {
  constexpr int kTries = 3;
  Comparison best{0, UINT64_MAX};
  for (int i = 0; i < kTries && best.uncertainty > kQuick; ++i) {
    const uint64_t before = monotonicNanoseconds();
    const uint64_t there = read();
    const uint64_t took = monotonicNanoseconds() - before;
    if (took < best.uncertainty) best = {static_cast<int64_t>(there - (before + took / 2)), took};
  }
  return best;
}

// The upper half is what it must be, as the clocks do not part by seconds.
uint64_t GpuClock::byRegister() const {
  const uint64_t expected = monotonicNanoseconds() + static_cast<uint64_t>(ahead_.load(std::memory_order_relaxed));
  const auto off = static_cast<int32_t>(source_.low() - static_cast<uint32_t>(expected));
  return expected + static_cast<uint64_t>(int64_t{off});
}

// The register is believed when it agrees with the driver.
void GpuClock::begin() {
  bool answered = true;
  const Comparison asked = best([&] {
    const Result<uint64_t> time = source_.call();
    answered = answered && time.ok();
    return time.ok() ? time.value() : monotonicNanoseconds();
  });
  ahead_.store(asked.ahead, std::memory_order_relaxed);
  const int64_t off = best([this] { return byRegister(); }).ahead - asked.ahead;
  hasRegister_ = answered && std::llabs(off) < kPlausible;
  VG_LOG(Debug, "the GPU's clock is read %s: %lld ns between its register and what the driver says",
         hasRegister_ ? "from its register" : "by the driver", static_cast<long long>(off));
}

// Who comes while another compares takes what there is, but for the first time.
void GpuClock::compare() {
  if (!compared_.load(std::memory_order_acquire))
    comparing_.lock();
  else if (!comparing_.try_lock())
    return;
  const MutexLock lock(comparing_, std::adopt_lock);
  if (!compared_.load(std::memory_order_relaxed)) begin();
  const Comparison found = best([this, quick = hasRegister_] {
    if (quick) return byRegister();
    const Result<uint64_t> time = source_.call();
    return time.ok() ? time.value() : monotonicNanoseconds() + static_cast<uint64_t>(ahead_.load());
  });
  ahead_.store(found.ahead, std::memory_order_relaxed);
  compared_.store(monotonicNanoseconds(), std::memory_order_release);
}

}  // namespace vg::backend::nvidia
