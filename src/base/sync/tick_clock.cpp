#include "base/sync/tick_clock.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace vg::tick_clock {

constinit Line line;

namespace {

constexpr uint64_t kFirst = 4'000'000, kLongest = 1'000'000'000;  // ns between comparisons that change the line
constexpr uint64_t kClose = 1'000;                                // ns that a comparison may take
constexpr int64_t kParted = 20'000;                               // ns

struct Pair {
  uint64_t ticks, nanoseconds;
};

// What keep() knows. One thread at a time.
struct Keeper {
  Pair last{};  // where the line was laid last, by the system's clock; nanoseconds 0: nowhere
  uint64_t period = kFirst;
};
constinit Keeper keeper;

bool steadyCounter() {
#if defined(__x86_64__)
  unsigned a, b, c, d;
  return __get_cpuid(0x80000007, &a, &b, &c, &d) && d >> 8 & 1;
#else
  return false;
#endif
}

// The system trusts the counter on all processors if it keeps its own time by it.
bool systemUsesIt() {
  const int file = ::open("/sys/devices/system/clocksource/clocksource0/current_clocksource", O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  char name[16];
  const ssize_t size = ::read(file, name, sizeof name);
  ::close(file);
  return size == 4 && !std::memcmp(name, "tsc\n", 4);
}

// Not a local static: a child of fork() would wait for ever for the thread that was making it.
enum Trust : int { Unknown, Trusted, NotTrusted };
constinit std::atomic<int> trust{Unknown};

bool trusted() {
  int known = trust.load(std::memory_order_relaxed);
  if (known == Unknown) {
    known = steadyCounter() && systemUsesIt() ? Trusted : NotTrusted;
    trust.store(known, std::memory_order_relaxed);
  }
  return known == Trusted;
}

// The tick stands before the look at the clock, so that the line is never behind the clock where it begins.
bool compare(Pair* pair) {
  uint64_t best = UINT64_MAX;
  for (int i = 0; i < 3; ++i) {
    const uint64_t before = monotonicNanoseconds(), ticks = ticksNow<true>(), now = monotonicNanoseconds();
    if (now - before >= best) continue;
    best = now - before;
    *pair = {ticks, now};
  }
  return best < kClose;
}

// The version is odd already in a child of a process that was in here at fork(), whose thread is not there.
void lay(const Pair& at, uint64_t slope) {
  const uint32_t version = line.version.load(std::memory_order_relaxed) | 1;
  line.version.store(version, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);
  line.ticks.store(at.ticks, std::memory_order_relaxed);
  line.nanoseconds.store(at.nanoseconds, std::memory_order_relaxed);
  line.slope.store(slope, std::memory_order_relaxed);
  line.version.store(version + 1, std::memory_order_release);
}

void startAnew(const Pair& at) {
  lay(at, 0);
  keeper = {at, kFirst};
}

}  // namespace

void rest() noexcept {
  if (line.slope.load(std::memory_order_relaxed)) lay({}, 0);
  keeper = {};
}

void keep() noexcept {
  Pair now;
  if (!trusted() || !compare(&now)) return;
  if (!keeper.last.nanoseconds) return startAnew(now);
  const uint64_t old = line.slope.load(std::memory_order_relaxed);
  const uint64_t onLine = !old ? now.nanoseconds
                               : along(line.ticks.load(std::memory_order_relaxed),
                                       line.nanoseconds.load(std::memory_order_relaxed), old, now.ticks);
  const auto behind = static_cast<int64_t>(now.nanoseconds - onLine);
  if (std::abs(behind) > kParted || now.ticks <= keeper.last.ticks) return startAnew(now);
  const uint64_t passed = now.nanoseconds - keeper.last.nanoseconds;
  if (passed < keeper.period) return;
  const double slope = static_cast<double>(passed) / static_cast<double>(now.ticks - keeper.last.ticks);
  keeper.last = now;
  keeper.period = std::min(2 * keeper.period, kLongest);
  const double towards = slope * (1 + static_cast<double>(behind) / static_cast<double>(keeper.period));
  lay({now.ticks, onLine}, static_cast<uint64_t>(towards * 4294967296.0));
}

}  // namespace vg::tick_clock
