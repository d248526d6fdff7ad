// How many cores the library's own threads want at present, so that no thread polls on a core that one of them needs.
// Counted are workers and service threads while they are awake, and service threads that have been woken.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/system/os.h"

namespace vg::core_use {

alignas(64) inline constinit std::atomic<uint32_t> wanted{0};  // nothing else that threads write often is beside it

inline void begin() { wanted.fetch_add(1, std::memory_order_relaxed); }
inline void end() { wanted.fetch_sub(1, std::memory_order_relaxed); }

// Whether there are cores for so many more threads.
inline bool leaves(uint32_t threads) { return wanted.load(std::memory_order_relaxed) + threads <= os::cores(); }

}  // namespace vg::core_use
