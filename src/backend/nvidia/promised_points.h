// Which points of timelines are reached by the end of what work of a GPU: a wait for such a point can be the GPU's own.
// Old promises make room for new ones; whoever finds none lets the host wait. Thread-safe.
#pragma once

#include <array>
#include <atomic>

#include "backend/nvidia/channel/channel.h"
#include "base/sync/spin_lock.h"
#include "base/sync/timeline.h"

namespace vg::backend::nvidia {

class PromisedPoints {
 public:
  // Whoever waits for `end` on the GPU need not wait for the point. Requires: `end` was submitted.
  void promise(Point point, const Submission& end);
  // No channel: nothing is known of this point.
  Submission find(Point point);

 private:
  static constexpr size_t kPlaces = 4096;
  struct alignas(64) Place {
    SpinLock lock;
    Point point VG_GUARDED_BY(lock){};
    Submission end VG_GUARDED_BY(lock){};
  };
  Place& placeOf(Point point);

  std::array<Place, kPlaces> places_;
};

}  // namespace vg::backend::nvidia
