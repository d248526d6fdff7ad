#include "activity/busy_time.h"

#include <algorithm>
#include <iterator>

namespace vg::activity {

void BusyTime::add(uint64_t begin, uint64_t end) {
  begin = std::max(begin, past_);
  if (end <= begin) return;
  auto at = pieces_.upper_bound(begin);
  if (at != pieces_.begin() && std::prev(at)->second >= begin) --at;
  while (at != pieces_.end() && at->first <= end) {
    begin = std::min(begin, at->first);
    end = std::max(end, at->second);
    at = pieces_.erase(at);
  }
  pieces_.emplace_hint(at, begin, end);
  if (pieces_.size() <= kMost) return;
  const auto oldest = pieces_.begin();
  before_ += oldest->second - oldest->first;
  past_ = oldest->second;
  pieces_.erase(oldest);
}

uint64_t BusyTime::busy() const {
  uint64_t sum = before_;
  for (const auto& [begin, end] : pieces_) sum += end - begin;
  return sum;
}

bool BusyTime::idle(uint64_t begin, uint64_t end) const {
  const auto behind = pieces_.lower_bound(end);  // the first that begins no earlier than the time ends
  return behind == pieces_.begin() || std::prev(behind)->second <= begin;
}

}  // namespace vg::activity
