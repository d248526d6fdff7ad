#include "core/streams/head_start.h"

namespace vg::core {

void HeadStart::waitFor(Timeline& timeline, uint64_t last) {
  uint64_t before = timeline.value();
  if (before < unhurried_.load(std::memory_order_relaxed)) return;
  for (int moments = kMoments; moments; --moments) {
    if (timeline.waitFor(last - kLeft, kMoment)) return;
    const uint64_t now = timeline.value();
    if (now - before < kQuick) return unhurried_.store(now + kMost, std::memory_order_relaxed);
    before = now;
  }
}

}  // namespace vg::core
