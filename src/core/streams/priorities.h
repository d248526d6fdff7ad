// The range of priorities of streams: least (numerically greatest) and greatest.
#pragma once

namespace vg::core::streams {

inline constexpr int kLeastPriority = 0, kGreatestPriority = -5;

}  // namespace vg::core::streams
