// The latest points that a stream was told to wait for: work that they stand for is done when its next work begins.
// Thread-safe.
#pragma once

#include "base/sync/spin_lock.h"
#include "base/sync/timeline.h"

namespace vg::core {

class FollowedPoints {
 public:
  void add(Point point) {
    const SpinGuard guard(lock_);
    points_[next_++ % kMost] = point;
  }
  // This one, or a later one of the same timeline.
  bool has(Point point) const {
    const SpinGuard guard(lock_);
    for (const Point& followed : points_)
      if (followed.timeline == point.timeline && followed.value >= point.value) return true;
    return false;
  }

 private:
  static constexpr unsigned kMost = 8;
  mutable SpinLock lock_;
  Point points_[kMost] VG_GUARDED_BY(lock_);
  unsigned next_ VG_GUARDED_BY(lock_) = 0;
};

}  // namespace vg::core
