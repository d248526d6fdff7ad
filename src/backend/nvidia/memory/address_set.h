// A set of addresses, kept as ranges that do not overlap.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace vg::backend::nvidia {

class AddressSet {
 public:
  void add(uint64_t first, uint64_t end) {
    cut(first, end);
    ranges_[first] = end;
  }
  void cut(uint64_t first, uint64_t end) {
    auto range = ranges_.upper_bound(first);
    if (range != ranges_.begin()) --range;
    while (range != ranges_.end() && range->first < end) {
      const auto [from, behind] = *range;
      if (behind <= first) {
        ++range;
        continue;
      }
      range = ranges_.erase(range);
      if (from < first) ranges_[from] = first;
      if (behind > end) ranges_[end] = behind;
    }
  }
  // The parts of the set in [first, end).
  std::vector<std::pair<uint64_t, uint64_t>> within(uint64_t first, uint64_t end) const {
    std::vector<std::pair<uint64_t, uint64_t>> parts;
    auto range = ranges_.upper_bound(first);
    if (range != ranges_.begin()) --range;
    for (; range != ranges_.end() && range->first < end; ++range)
      if (range->second > first) parts.emplace_back(std::max(first, range->first), std::min(end, range->second));
    return parts;
  }

 private:
  std::map<uint64_t, uint64_t> ranges_;  // first address -> end
};

}  // namespace vg::backend::nvidia
