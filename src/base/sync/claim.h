// A value of a timeline that somebody has claimed and that others wait for from then on: the timeline reaches it when
// the claim goes, also when an exception ends the work in between.
#pragma once

#include "base/sync/timeline.h"

namespace vg {

class [[nodiscard]] Claim {
 public:
  explicit Claim(Point point) : point_(point) {}
  Claim(const Claim&) = delete;
  ~Claim() { release(); }

  // The work is done.
  void release() {
    if (point_.timeline) point_.timeline->advance(point_.value);
    point_.timeline = nullptr;
  }

 private:
  Point point_;
};

}  // namespace vg
