// How far the launches of a stream may be ahead of an emulated device. Who is farther ahead waits a moment for a device
// that is quick, so that what is queued fits the caches and little memory; on a GPU calls wait, too, when about 1024
// launches are pending. A device that takes its time is not waited for. Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/sync/timeline.h"

namespace vg::core {

class HeadStart {
 public:
  // A launch was queued that advances the stream's timeline to `last`.
  void keepShort(Timeline& timeline, uint64_t last) {
    if (timeline.value() + kMost < last) [[unlikely]]  // it may be beyond `last` already
      waitFor(timeline, last);
  }

 private:
  static constexpr uint64_t kMost = 1024, kLeft = 512;  // launches
  static constexpr uint64_t kMoment = 100'000;          // ns
  static constexpr uint64_t kQuick = 25;                // launches in a moment
  static constexpr int kMoments = 100;

  [[gnu::cold]] void waitFor(Timeline& timeline, uint64_t last);

  std::atomic<uint64_t> unhurried_{0};  // up to this value the device is known to take its time
};

}  // namespace vg::core
