// A barrier beside those of a block, for warps whose lanes wait for each other for ever: so many threads never come.
#pragma once

#include <cstdint>

namespace vg::ptx {

inline constexpr uint32_t kNeverOpens = 16, kNeverOpensCount = ~0u & ~31u;

}  // namespace vg::ptx
