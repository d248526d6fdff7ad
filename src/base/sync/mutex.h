// The locks of the standard library as clang's thread-safety analysis knows them (base/sync/thread_annotations.h). They
// cost what those cost.
#pragma once

#include <mutex>

#include "base/sync/thread_annotations.h"

namespace vg {

class VG_LOCK_CLASS Mutex {
 public:
  constexpr Mutex() = default;
  Mutex(const Mutex&) = delete;

  // Named as std::unique_lock wants them: it may hold a Mutex where the right to something is handed on.
  void lock() VG_ACQUIRES() { mutex_.lock(); }
  bool try_lock() VG_TRIES() { return mutex_.try_lock(); }
  void unlock() VG_RELEASES() { mutex_.unlock(); }

 private:
  friend class ReleasableLock;
  std::mutex mutex_;
};

// Holds a mutex while it lives.
class VG_SCOPED_LOCK_CLASS MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) VG_ACQUIRES(mutex) : mutex_(mutex) { mutex.lock(); }
  // Of a mutex that this thread has taken by try_lock().
  MutexLock(Mutex& mutex, std::adopt_lock_t) VG_REQUIRES(mutex) : mutex_(mutex) {}
  ~MutexLock() VG_RELEASES() { mutex_.unlock(); }
  MutexLock(const MutexLock&) = delete;

 private:
  Mutex& mutex_;
};

// The same for a mutex that is let go of and taken again meanwhile, or that a condition is waited for under.
class VG_SCOPED_LOCK_CLASS ReleasableLock {
 public:
  explicit ReleasableLock(Mutex& mutex) VG_ACQUIRES(mutex) : lock_(mutex.mutex_) {}
  ~ReleasableLock() VG_RELEASES() = default;
  ReleasableLock(const ReleasableLock&) = delete;

  void lock() VG_ACQUIRES() { lock_.lock(); }
  void unlock() VG_RELEASES() { lock_.unlock(); }

  // As wait() and wait_until() of a std::condition_variable: the mutex is free meanwhile and held again afterwards.
  // Whoever waits asks for what it waits for in a loop of its own, so that the compiler sees the lock there.
  template <class Condition>
  void wait(Condition& condition) {
    condition.wait(lock_);
  }
  template <class Condition, class Time>
  void waitUntil(Condition& condition, const Time& time) {
    condition.wait_until(lock_, time);
  }

 private:
  std::unique_lock<std::mutex> lock_;
};

}  // namespace vg
