// How long an idle thread polls before it sleeps. Waking a sleeper takes 25 us and more, a poller nothing.
#pragma once

#include <algorithm>
#include <cstdint>

namespace vg::backend::cpu {

// A thread may poll for an eighth of the time that it worked, and what it did not use is kept for later, within a
// limit. Where the grids that it ran lately followed each other closely, it may poll for twice as long as they usually
// need to come, if that is no longer than it usually works for one: a program that launches one grid after another
// finds all its threads awake. Belongs to one thread; all times in nanoseconds.
class IdleSpin {
 public:
  // The grid that the thread begins came so long after it had ended the one before.
  void followed(uint64_t gap) { gap_ = (gap_ + std::min(gap, kFar)) / 2; }
  // The thread has worked for a grid.
  void worked(uint64_t time) {
    allowed_ = std::min(allowed_ + time / kPart, kMost);
    work_ = (work_ + std::min(time, kFar)) / 2;
  }
  void polled(uint64_t time) { allowed_ -= std::min(allowed_, time); }
  // How much longer it may poll when it has been idle for so long.
  uint64_t allowed(uint64_t idle) const {
    const bool close = gap_ <= std::min(kClose, work_);
    const uint64_t patience = close ? 2 * gap_ + kSlack : 0;
    return std::max(allowed_, patience - std::min(patience, idle));
  }

 private:
  static constexpr uint64_t kPart = 8, kMost = 200'000;
  static constexpr uint64_t kFar = 200'000, kClose = 20'000, kSlack = 1'000;

  uint64_t allowed_ = 0;
  uint64_t gap_ = kFar, work_ = 0;  // lately, averages
};

}  // namespace vg::backend::cpu
