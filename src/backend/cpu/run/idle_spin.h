// How long an idle thread polls before it sleeps. Waking a sleeper takes 25 us and more, a poller nothing.
#pragma once

#include <algorithm>
#include <cstdint>

namespace vg::backend::cpu {

// A thread may poll for an eighth of the time that it worked, and what it did not use is kept for later, within a
// limit. So launches that follow each other closely find it awake, and polling never costs more than an eighth of the
// work, however small grids are. Belongs to one thread; all times in nanoseconds.
class IdleSpin {
 public:
  void worked(uint64_t time) { allowed_ = std::min(allowed_ + time / kPart, kMost); }
  void polled(uint64_t time) { allowed_ -= std::min(allowed_, time); }
  uint64_t allowed() const { return allowed_; }

 private:
  static constexpr uint64_t kPart = 8, kMost = 200'000;

  uint64_t allowed_ = 0;
};

}  // namespace vg::backend::cpu
