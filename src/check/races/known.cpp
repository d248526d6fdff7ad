#include "check/races/known.h"

#include <algorithm>

namespace vg::check {

bool Known::covers(uint32_t thread, uint32_t clock) const {
  if (clock < floor) return true;
  const auto found = std::lower_bound(threads.begin(), threads.end(), std::pair{thread, 0u});
  return found != threads.end() && found->first == thread && found->second >= clock;
}

bool Known::covers(const Known& other) const {
  return floor >= other.floor && std::all_of(other.threads.begin(), other.threads.end(),
                                             [&](const auto& each) { return covers(each.first, each.second); });
}

KnownPointer joined(const KnownPointer& one, const KnownPointer& other) {
  if (!one || other->covers(*one)) return other;
  if (one->covers(*other)) return one;
  auto both = std::make_shared<Known>();
  both->floor = std::max(one->floor, other->floor);
  auto a = one->threads.begin(), b = other->threads.begin();
  while (a != one->threads.end() || b != other->threads.end()) {
    const bool takesA = b == other->threads.end() || (a != one->threads.end() && a->first <= b->first);
    auto next = takesA ? *a++ : *b++;
    if (takesA && b != other->threads.end() && b->first == next.first) next.second = std::max(next.second, b++->second);
    if (next.second >= both->floor) both->threads.push_back(next);
  }
  return both;
}

}  // namespace vg::check
