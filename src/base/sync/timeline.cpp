#include "base/sync/timeline.h"

#include <algorithm>
#include <new>

#include "base/memory/shortage.h"
#include "base/sync/core_use.h"
#include "base/sync/futex.h"
#include "base/sync/long_wait.h"
#include "base/sync/mutex.h"
#include "base/sync/spare_hands.h"
#include "base/sync/spin.h"

// Invariants:
// 1. value_ only grows.
// 2. A sleeper announces in awaited_ for which value before it looks at value_ for the last time; advance() stores
//    value_ before it looks at awaited_. Both are sequentially consistent, so one of the two sees the other. The same
//    holds for continuations_.
//    Who tells sleepers forgets what they announced, then changes signal_. A sleeper reads signal_ before it announces,
//    so it does not sleep when that was forgotten; all announce anew.
// 3. continuations_ is changed only under continuationLock_. A continuation belongs to whoever took it off the list.
namespace vg {
namespace {

constexpr uint64_t kSpin = 30'000;  // ns a waiter polls before it sleeps, if it has a core of its own for that
constexpr uint64_t kSure = 2'000;   // ... and in any case
constexpr size_t kChunk = 256;      // timelines made together
// ns that a waiter sleeps before it looks whether work needs its hands, and while there is such work.
constexpr uint64_t kLook = 100'000'000, kLookSoon = 1'000'000;

// What nobody else does may be what is waited for.
void lendHands(const Timeline& timeline, uint64_t value) {
  while (spare_hands::wanted() && !timeline.reached(value) && spare_hands::lend()) {
  }
}

void tellIfLong(uint64_t start) {
  if (const auto tell = long_wait::tell.load(std::memory_order_relaxed)) tell(monotonicNanoseconds() - start);
}

struct Pool {
  Mutex mutex;
  Timeline* free VG_GUARDED_BY(mutex) = nullptr;
  Timeline* chunks VG_GUARDED_BY(mutex) = nullptr;  // the first of each chunk is never handed out and
                                                    // links them, so that leak checkers find them
};
constinit Pool pool;

}  // namespace

Timeline* Timeline::create() {
  const MutexLock lock(pool.mutex);
  if (!pool.free) {
    auto* chunk = static_cast<Timeline*>(::operator new (kChunk * sizeof(Timeline), std::align_val_t{64}));
    for (size_t i = kChunk; i-- > 0;) {
      Timeline* timeline = new (chunk + i) Timeline;
      Timeline*& list = i ? pool.free : pool.chunks;
      timeline->nextFree_ = list;
      list = timeline;
    }
  }
  Timeline* timeline = pool.free;
  pool.free = timeline->nextFree_;
  return timeline;
}

void Timeline::destroy(Timeline* timeline) {
  const MutexLock lock(pool.mutex);
  timeline->nextFree_ = pool.free;
  pool.free = timeline;
}

// Sleepers that wait for more are left alone.
void Timeline::tellAll(uint64_t value) {
  if (awaited_.load(std::memory_order_seq_cst) <= value) {
    awaited_.store(kNothing, std::memory_order_seq_cst);
    signal_.fetch_add(1, std::memory_order_seq_cst);
    futex::wakeAll(signal_);
  }
  if (continuations_.load(std::memory_order_seq_cst)) runContinuations();
}

void Timeline::runContinuations() {
  Continuation* due = nullptr;
  {
    SpinGuard guard(continuationLock_);
    const uint64_t value = value_.load(std::memory_order_seq_cst);
    Continuation* keep = nullptr;
    for (Continuation *c = continuations_.load(std::memory_order_relaxed), *next; c; c = next) {
      next = c->next;
      Continuation*& list = c->value <= value ? due : keep;
      c->next = list;
      list = c;
    }
    continuations_.store(keep, std::memory_order_relaxed);
  }
  while (due) {
    Continuation* next = due->next;  // `run` may free the continuation
    try {
      due->run(due);
    } catch (const std::bad_alloc&) {  // those behind it, and who advances, must not suffer
      shortage::tell(Shortage::HostMemory, "something to be done behind other work is left out");
    }
    due = next;
  }
}

bool Timeline::whenReached(Continuation* continuation) {
  if (reached(continuation->value)) return false;
  SpinGuard guard(continuationLock_);
  Continuation* const head = continuations_.load(std::memory_order_relaxed);
  continuation->next = head;
  continuations_.store(continuation, std::memory_order_seq_cst);
  if (value_.load(std::memory_order_seq_cst) < continuation->value) return true;
  continuations_.store(head, std::memory_order_relaxed);  // reached meanwhile: nobody else took it, we hold the lock
  return false;
}

// False when the value was not reached meanwhile.
bool Timeline::poll(uint64_t value, uint64_t nanoseconds) const {
  const auto ready = [&] { return reached(value); };
  return spinUntil(ready, std::min(nanoseconds, kSure)) ||
         spinUntil(ready, nanoseconds, [] { return core_use::leaves(1); });
}

void Timeline::announce(uint64_t value) {
  uint64_t least = awaited_.load(std::memory_order_seq_cst);
  while (value < least && !awaited_.compare_exchange_weak(least, value, std::memory_order_seq_cst)) {
  }
}

void Timeline::wait(uint64_t value) {
  if (reached(value) || poll(value, kSpin)) return;
  const uint64_t start = monotonicNanoseconds();
  for (;;) {
    lendHands(*this, value);
    const uint32_t seen = signal_.load(std::memory_order_seq_cst);
    announce(value);
    if (value_.load(std::memory_order_seq_cst) >= value) break;
    const uint64_t limit = spare_hands::wanted() ? kLookSoon : kLook;
    if (!futex::wait(signal_, seen, &limit)) tellIfLong(start);
  }
}

bool Timeline::waitFor(uint64_t value, uint64_t nanoseconds) {
  if (reached(value)) return true;
  const uint64_t start = monotonicNanoseconds();
  if (poll(value, nanoseconds < kSpin ? nanoseconds : kSpin)) return true;
  bool done;
  for (;;) {
    lendHands(*this, value);
    const uint32_t seen = signal_.load(std::memory_order_seq_cst);
    announce(value);
    done = value_.load(std::memory_order_seq_cst) >= value;
    const uint64_t elapsed = monotonicNanoseconds() - start;
    if (done || elapsed >= nanoseconds) break;
    const uint64_t left = std::min(nanoseconds - elapsed, spare_hands::wanted() ? kLookSoon : kLook);
    if (!futex::wait(signal_, seen, &left)) tellIfLong(start);
  }
  return done;
}

}  // namespace vg
