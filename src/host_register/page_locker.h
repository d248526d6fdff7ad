// Keeps host pages in memory: what page-locked memory needs from the system.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>

#include "base/result.h"

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

// mlock, within RLIMIT_MEMLOCK. Thread-safe.
class SystemPageLocker final : public PageLocker {
 public:
  Result<LockState> lock(void* start, size_t bytes, bool readOnly) override;
  void unlock(void* start, size_t bytes) override;

 private:
  std::mutex mutex_;
  std::multimap<size_t, size_t> ranges_;  // first page number -> page number behind the last; guarded by mutex_
  bool warned_ = false;                   // guarded by mutex_
};

}  // namespace vg::host_register
