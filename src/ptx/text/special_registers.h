// Special registers that come in rows: by axis, by number, by relation to the own lane.
#pragma once

#include <cstdint>

#include "ptx/text/ast.h"

namespace vg::ptx {

inline bool isAmong(Special s, Special first, Special last) { return s >= first && s <= last; }
// How far behind `first` of its row it stands.
inline uint32_t stepsFrom(Special first, Special s) { return static_cast<uint32_t>(s) - static_cast<uint32_t>(first); }

inline bool tellsTime(Special s) { return isAmong(s, Special::Clock, Special::GlobalTimerHi); }

// What %lanemask_eq, _lt, _le, _gt or _ge holds in a lane.
inline uint32_t laneMask(Special s, uint32_t lane) {
  const uint32_t own = 1u << lane, below = own - 1;
  switch (s) {
    case Special::LanemaskEq:
      return own;
    case Special::LanemaskLt:
      return below;
    case Special::LanemaskLe:
      return own | below;
    case Special::LanemaskGt:
      return ~(own | below);
    default:
      return ~below;
  }
}

}  // namespace vg::ptx
