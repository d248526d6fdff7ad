// A lock for sections of a few instructions.
#pragma once

#include <sched.h>

#include <atomic>
#include <cstdint>

#include "base/sync/thread_annotations.h"

namespace vg {

// Tells the processor that this is a waiting loop.
inline void relax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

class VG_LOCK_CLASS SpinLock {
 public:
  constexpr SpinLock() = default;
  SpinLock(const SpinLock&) = delete;

  void lock() VG_ACQUIRES() {
    while (word_.exchange(1, std::memory_order_acquire)) [[unlikely]] await();
  }
  void unlock() VG_RELEASES() { word_.store(0, std::memory_order_release); }

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

  std::atomic<uint32_t> word_{0};
};

// Holds a spin lock while it lives.
class VG_SCOPED_LOCK_CLASS SpinGuard {
 public:
  explicit SpinGuard(SpinLock& lock) VG_ACQUIRES(lock) : lock_(lock) { lock.lock(); }
  ~SpinGuard() VG_RELEASES() { lock_.unlock(); }
  SpinGuard(const SpinGuard&) = delete;

 private:
  SpinLock& lock_;
};

}  // namespace vg
