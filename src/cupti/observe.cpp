#include "cupti/observe.h"

#include <atomic>
#include <new>

#include "base/sync/mutex.h"
#include "cupti/calls/calls.h"
#include "cupti/calls/subscribers.h"
#include "cupti/driver.h"
#include "cupti/records/work.h"

namespace vg::cupti::observe {
namespace {

constinit std::atomic<bool> attached{false};
constinit std::atomic<uint32_t> period{0};  // milliseconds
constinit std::atomic<uint64_t> lastFlush{0};
constinit Mutex starting;

// Nothing is left to be taken for now.
void taken() {
  subscribers::eachCollector([](Collector& collector) { collector.giveBackFull(); });
  const uint64_t every = uint64_t{period.load(std::memory_order_relaxed)} * 1'000'000;
  if (!every || driver()->now() - lastFlush.load(std::memory_order_relaxed) < every) return;
  lastFlush.store(driver()->now(), std::memory_order_relaxed);
  flush();
}

// Nothing may unwind into the driver, whose caller is the program: who lacks memory has lost a record.
template <auto kTell>
struct Guarded;
template <class... Args, void (*kTell)(Args...)>
struct Guarded<kTell> {
  static void call(Args... args) noexcept try { kTell(args...); } catch (const std::bad_alloc&) {
    work::lost(1);
  }
};

constexpr api::Observer kObserver = {
    Guarded<calls::began>::call, Guarded<calls::ended>::call, Guarded<calls::runtimeCall>::call,
    Guarded<work::take>::call,   Guarded<taken>::call,        Guarded<work::lost>::call};

}  // namespace

bool start() {
  if (attached.load(std::memory_order_acquire)) return true;
  const api::ObserverTable* const table = driver();
  if (!table) return false;
  const MutexLock lock(starting);
  if (attached.load(std::memory_order_relaxed)) return true;
  calls::learn(*table);
  if (!table->attach(&kObserver)) return false;
  attached.store(true, std::memory_order_release);
  return true;
}

bool started() { return attached.load(std::memory_order_acquire); }

void catchUp() {
  if (started() && !insideBufferFunction()) driver()->passOn();
}

void flush() {
  subscribers::eachCollector([](Collector& collector) { collector.flush(); });
}

void flushEvery(uint32_t milliseconds) { period.store(milliseconds, std::memory_order_relaxed); }

}  // namespace vg::cupti::observe
