// How long at least one of many pieces of work was under way: the length of the union of intervals that come roughly in
// the order of their ends, in bounded memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

namespace vg::activity {

class BusyTime {
 public:
  void add(uint64_t begin, uint64_t end);
  // Nanoseconds in which something was under way.
  uint64_t busy() const;
  // Whether nothing was at any time between these, as far as is remembered.
  bool idle(uint64_t begin, uint64_t end) const;

 private:
  // Pieces that are kept apart. What is older counts as past: later intervals are cut there.
  static constexpr size_t kMost = 4096;
  std::map<uint64_t, uint64_t> pieces_;  // from begin to end; none touches another
  uint64_t past_ = 0;                    // where the past ends
  uint64_t before_ = 0;                  // nanoseconds busy in it
};

}  // namespace vg::activity
