// Barriers beside the 16 of a block.
#pragma once

#include <cstdint>

namespace vg::ptx {

// For warps whose lanes wait for each other for ever: so many threads never come.
inline constexpr uint32_t kNeverOpens = 16, kNeverOpensCount = ~0u & ~31u;
// One for each warpgroup, four warps that do wgmma together. Who waits there says this count, and any number.
inline constexpr uint32_t kWarpsOfGroup = 4, kThreadsOfWarpgroup = 1u << 31 | 32 * kWarpsOfGroup;
inline constexpr uint32_t kFirstOfWarpgroups = kNeverOpens + 1, kMostWarpgroups = 8;

}  // namespace vg::ptx
