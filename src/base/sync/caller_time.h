// How long a thread has been in the application's code between two launches, in ticks of the processor's counter: where
// that is less than a system call takes, it has made none there. What a handler of a signal does that comes inside a
// launch is not seen.
#pragma once

#include <cstdint>

#include "base/sync/tick_clock.h"

namespace vg {

class CallerTime {
 public:
  // What the launch begun by the calling thread is told; asked once, then it is for ever.
  static uint64_t take() {
    const uint64_t ticks = times_.outside;
    times_.outside = kLong;
    return ticks;
  }

  // A launch by the calling thread, from its entry point to the end of that.
  CallerTime() { times_.outside = tick_clock::ticksNow<false>() - times_.left; }
  ~CallerTime() {
    times_.outside = kLong;
    times_.left = tick_clock::ticksNow<false>();
  }
  CallerTime(const CallerTime&) = delete;

 private:
  static constexpr uint64_t kLong = ~uint64_t{0};
  struct Times {
    uint64_t left, outside;
  };
  static constinit inline thread_local Times times_ [[gnu::tls_model("initial-exec")]] = {0, kLong};
};

}  // namespace vg
