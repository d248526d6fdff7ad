// A lock that many may hold at once to read, or one alone to write, for clang's thread-safety analysis as
// base/sync/mutex.h.
#pragma once

#include <shared_mutex>

#include "base/sync/thread_annotations.h"

namespace vg {

class VG_LOCK_CLASS SharedMutex {
 public:
  SharedMutex() = default;
  SharedMutex(const SharedMutex&) = delete;

  // Named as std::shared_lock wants them.
  void lock() VG_ACQUIRES() { mutex_.lock(); }
  void unlock() VG_RELEASES() { mutex_.unlock(); }
  void lock_shared() VG_ACQUIRES_SHARED() { mutex_.lock_shared(); }
  void unlock_shared() VG_RELEASES_SHARED() { mutex_.unlock_shared(); }

 private:
  std::shared_mutex mutex_;
};

// Holds it alone while it lives.
class VG_SCOPED_LOCK_CLASS ExclusiveLock {
 public:
  explicit ExclusiveLock(SharedMutex& mutex) VG_ACQUIRES(mutex) : mutex_(mutex) { mutex.lock(); }
  ~ExclusiveLock() VG_RELEASES() { mutex_.unlock(); }
  ExclusiveLock(const ExclusiveLock&) = delete;

 private:
  SharedMutex& mutex_;
};

// Holds it beside other readers while it lives.
class VG_SCOPED_LOCK_CLASS SharedLock {
 public:
  explicit SharedLock(SharedMutex& mutex) VG_ACQUIRES_SHARED(mutex) : mutex_(mutex) { mutex.lock_shared(); }
  ~SharedLock() VG_RELEASES() { mutex_.unlock_shared(); }
  SharedLock(const SharedLock&) = delete;

 private:
  SharedMutex& mutex_;
};

}  // namespace vg
