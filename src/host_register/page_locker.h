// Keeps host pages in memory: what page-locked memory needs from the system.
#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "base/result.h"
#include "base/sync/mutex.h"
#include "host_register/ring_pins.h"

namespace vg::host_register {

enum class LockState {
  Locked,    // the pages stay in memory
  Degraded,  // the system's limit forbids it: the range works, but may be paged (said in the log)
};

class PageLocker {
 public:
  // Populates and locks the pages that [start, start + bytes) touches. CUDA_ERROR_INVALID_VALUE when a part is not
  // mapped or cannot be read, and when `readOnly` is false and a part cannot be written or is a shared mapping of a
  // file on a disk.
  virtual Result<LockState> lock(void* start, size_t bytes, bool readOnly) = 0;
  // Undoes one lock() of exactly this range; pages that another locked range shares stay locked.
  virtual void unlock(void* start, size_t bytes) = 0;

 protected:
  ~PageLocker() = default;
};

// How this process keeps pages in memory, in words: io_uring or mlock, and why not the former.
std::string lockingMethod();

// Registered buffers of an io_uring where the system permits it, mlock otherwise; both within RLIMIT_MEMLOCK.
// Thread-safe.
class SystemPageLocker final : public PageLocker {
 public:
  // `ring` null: by mlock alone.
  explicit SystemPageLocker(RingPins* ring = &RingPins::shared()) : ring_(ring) {}
  Result<LockState> lock(void* start, size_t bytes, bool readOnly) override;
  void unlock(void* start, size_t bytes) override;
  // lock() for whole pages of this library's own private memory: nothing to look at, and by mlock, because a fork would
  // have to copy what a ring pins. CUDA_ERROR_OUT_OF_MEMORY when there are no pages.
  Result<LockState> lockOwn(std::byte* start, size_t bytes);

 private:
  bool pin(std::byte* start, size_t bytes);
  bool unpin(size_t first, size_t end) VG_REQUIRES(mutex_);
  LockState lockByMlock(std::byte* start, size_t bytes);
  void unlockByMlock(size_t first, size_t end) VG_REQUIRES(mutex_);

  struct Pinned {
    size_t end;
    RingPins::Places places;
  };
  RingPins* const ring_;
  Mutex mutex_;
  std::multimap<size_t, Pinned> pinned_ VG_GUARDED_BY(mutex_);  // first page number -> a range that the ring holds
  std::multimap<size_t, size_t> ranges_ VG_GUARDED_BY(mutex_);  // of mlock: first page number -> that behind the last
  bool warned_ VG_GUARDED_BY(mutex_) = false;
};

}  // namespace vg::host_register
