// Pages pinned as registered buffers of an io_uring: as a device pins them, whole huge pages at once, and they stay
// the same pages whatever the application does with their mapping.
//
// One ring for the process, opened at the first need, never used for input or output, and closed for as long as the
// process has let go of the system. Thread-safe.
#pragma once

#include <liburing.h>

#include <cstddef>
#include <vector>

#include "base/sync/mutex.h"

namespace vg::host_register {

class RingPins {
 public:
  static RingPins& shared();

  // What a range took: places in the ring's table, one a GiB.
  using Places = std::vector<unsigned>;
  // Pins whole pages for writing. 0, or an error number: of the system, which may forbid rings (EPERM, ENOSYS), limit
  // what is locked (ENOMEM), or find pages that cannot be written or cannot be pinned for long (EFAULT).
  int pin(std::byte* start, size_t bytes, Places& places);
  void unpin(const Places& places);
  // 0 when rings may be used, else why not.
  int error();

  // Unpins everything and closes the ring; pins it all again. Places stay what they are. What cannot be pinned again,
  // said in the log, stays pageable. Between the two nobody pins or unpins; either may be called again.
  void release();
  void retake();

 private:
  static constexpr unsigned kPlaces = 1u << 14;  // the most that the system allows

  int open() VG_REQUIRES(mutex_);  // Requires: the lock, as all below
  int update(unsigned place, std::byte* start, size_t bytes) VG_REQUIRES(mutex_);
  void forget(const Places& places) VG_REQUIRES(mutex_);

  Mutex mutex_;
  io_uring ring_ VG_GUARDED_BY(mutex_){};
  bool opened_ VG_GUARDED_BY(mutex_) = false;         // the ring is there
  int refused_ VG_GUARDED_BY(mutex_) = 0;             // why it will never be
  std::vector<unsigned> free_ VG_GUARDED_BY(mutex_);  // places that were used and are not now
  std::vector<iovec> held_ VG_GUARDED_BY(mutex_);     // of each place that ever was used; length 0: nothing
  bool released_ VG_GUARDED_BY(mutex_) = false;
};

}  // namespace vg::host_register
