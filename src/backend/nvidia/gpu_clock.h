// The clock that a GPU stamps the ends of its work with, as the host tells it: the host's own clock, and how far the
// GPU's is ahead. The two are compared again when that was long ago, so that a reading costs as little as one of the
// host's and is right to a fraction of a microsecond. Never goes back. Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>

#include "base/result.h"
#include "base/sync/mutex.h"

namespace vg::backend::nvidia {

class GpuClock {
 public:
  // Where the time can be had, nanoseconds.
  struct Source {
    std::function<Result<uint64_t>()> call;  // asks the driver
    std::function<uint32_t()> low;           // reads the lower half where the hardware may show it; one read
  };
  explicit GpuClock(Source source) : source_(std::move(source)) {}
  GpuClock(const GpuClock&) = delete;

  uint64_t now();

 private:
  struct Comparison {
    int64_t ahead;
    uint64_t uncertainty;  // the time it took
  };
  void compare();
  void begin() VG_REQUIRES(comparing_);
  template <class Read>
  static Comparison best(Read read);
  uint64_t byRegister() const;

  const Source source_;
  std::atomic<int64_t> ahead_{0};      // of the host's clock
  std::atomic<uint64_t> compared_{0};  // when, by the host's clock; 0: never
  std::atomic<uint64_t> latest_{0};    // what now() said last
  Mutex comparing_;
  bool hasRegister_ VG_GUARDED_BY(comparing_) = false;
};

}  // namespace vg::backend::nvidia
