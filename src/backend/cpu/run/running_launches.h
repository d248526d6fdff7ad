// The launches that run now, so that whoever waits for long can be told what for: a kernel that computes without end
// looks like any other.
#pragma once

#include <cstdint>

namespace vg::backend::cpu {

struct RunningLaunch;

namespace running {

// Lists the launch while it lives.
class Entry {
 public:
  explicit Entry(RunningLaunch& launch);
  Entry(const Entry&) = delete;
  ~Entry();
  uint64_t since() const { return since_; }  // ns

 private:
  friend void tellLong(uint64_t) noexcept;
  RunningLaunch& launch_;
  const uint64_t since_;
  bool told_ = false;
  Entry *next_ = nullptr, *previous_ = nullptr;
};

// Logs each launch, once, that has run for VERDIGRIS_STUCK_AFTER without its blocks merely waiting: those are told of
// elsewhere (residents.h).
void tellLong(uint64_t waited) noexcept;

}  // namespace running
}  // namespace vg::backend::cpu
