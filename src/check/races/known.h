// What a thread knows of the threads of a block: how far each was.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace vg::check {

// Clocks count since the block began.
struct Known {
  uint32_t floor = 0;                                  // all threads' accesses below it
  std::vector<std::pair<uint32_t, uint32_t>> threads;  // thread and clock, in the order of threads
  bool covers(uint32_t thread, uint32_t clock) const;
  bool covers(const Known& other) const;
};
using KnownPointer = std::shared_ptr<const Known>;
// What both know together; `one` may be null.
KnownPointer joined(const KnownPointer& one, const KnownPointer& other);

}  // namespace vg::check
