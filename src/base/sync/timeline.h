// A 64-bit counter that only grows: completion of anything, for anyone. An event is {timeline, value}; a wait across
// streams and devices is "until this timeline reaches N". Timelines come from a type-stable pool and their memory never
// goes away, so a Point may be kept and asked for ever.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/sync/spin_lock.h"

namespace vg {

class Timeline;

// Something to run when a timeline reaches a value. Owned by whoever registered it, alive until `run` was called.
struct Continuation {
  void (*run)(Continuation* self) = nullptr;
  uint64_t value = 0;
  Continuation* next = nullptr;
};

class alignas(64) Timeline {
 public:
  // From the pool, its value continuing from the last use. Never null; throws std::bad_alloc.
  static Timeline* create();
  // Back to the pool. Requires: nobody will advance it again.
  static void destroy(Timeline* timeline);

  uint64_t value() const { return value_.load(std::memory_order_acquire); }
  bool reached(uint64_t value) const { return this->value() >= value; }
  // Raises the value (never lowers it), wakes waiters, runs due continuations on this thread.
  void advance(uint64_t value) {
    uint64_t current = value_.load(std::memory_order_relaxed);
    do {
      if (current >= value) return;
    } while (!value_.compare_exchange_weak(current, value, std::memory_order_seq_cst));
    if (awaited_.load(std::memory_order_seq_cst) <= value || continuations_.load(std::memory_order_seq_cst))
        [[unlikely]]
      tellAll(value);
  }
  // Blocks the calling thread until reached: spins briefly, then sleeps on a futex.
  void wait(uint64_t value);
  // The same with a limit; false when time ran out.
  bool waitFor(uint64_t value, uint64_t nanoseconds);
  // Registers `continuation` for continuation->value; false when that is reached already (then it is not registered).
  bool whenReached(Continuation* continuation);

 private:
  static constexpr uint64_t kNothing = UINT64_MAX;

  Timeline() = default;
  bool poll(uint64_t value, uint64_t nanoseconds) const;
  [[gnu::cold]] void tellAll(uint64_t value);
  void runContinuations();
  void announce(uint64_t value);

  std::atomic<uint64_t> value_{0};
  std::atomic<uint64_t> awaited_{kNothing};  // the least value for which a thread sleeps, or less
  std::atomic<uint32_t> signal_{0};          // futex word
  std::atomic<Continuation*> continuations_{nullptr};
  SpinLock continuationLock_;
  Timeline* nextFree_ = nullptr;
};

struct Point {
  Timeline* timeline = nullptr;  // null: always done
  uint64_t value = 0;
  bool done() const { return !timeline || timeline->reached(value); }
  void wait() const {
    if (timeline) timeline->wait(value);
  }
};

}  // namespace vg
