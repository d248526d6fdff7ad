// How long an idle thread polls before it sleeps. Waking a sleeper takes 25 us and more, a poller nothing.
#pragma once

#include <algorithm>
#include <cstdint>

namespace vg::backend::cpu {

// As long as it last worked, within limits: launches that follow each other find it awake, and polling never costs more
// than the work did. Both in nanoseconds.
inline uint64_t idleSpin(uint64_t worked) {
  constexpr uint64_t kShortest = 30'000, kLongest = 200'000;
  return std::clamp(worked, kShortest, kLongest);
}

}  // namespace vg::backend::cpu
