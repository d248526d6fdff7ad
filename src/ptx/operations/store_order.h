// Which value stays where lanes of a warp store to one place. The manuals leave it open, the hardware does not: memory
// takes 128 bytes at a time, that is 32 lanes of up to 4 bytes, 16 of 8 or 8 of 16. Of the lanes that go together the
// lowest one's value stays, and those that go later overwrite it (asked of an H200). Programs count on it unknowingly:
// after a reduction by shuffles only lane 0 has the sum, and all lanes store theirs.
//
// Lines of 128 bytes that a warp stores or loads are whole for others, and communication libraries count on that: the
// last word of a line is a flag for the rest of it. So volatile stores side by side go upwards here, and such loads
// downwards: who sees a line's last word as stored sees what is before it, too.
#pragma once

#include <algorithm>
#include <cstdint>

#include "ptx/abi/kernel_abi.h"

namespace vg::ptx {

inline constexpr uint32_t kBytesStoredTogether = 128;
inline constexpr uint32_t kFewestStoredTogether = 8;  // lanes

// bytes: what one lane stores.
constexpr uint32_t lanesStoredTogether(uint32_t bytes) {
  return std::clamp(kBytesStoredTogether / std::max(bytes, 1u), kFewestStoredTogether, kWarpSize);
}

// Groups of `size` neighbouring lanes by their first lanes, in an order that leaves the value that stays for last.
// visit(first lane).
template <class Visit>
constexpr void inStoreOrder(uint32_t bytes, uint32_t size, Visit visit) {
  const uint32_t together = std::max(lanesStoredTogether(bytes), size);
  for (uint32_t first = 0; first < kWarpSize; first += together)
    for (uint32_t at = together; at != 0; at -= size) visit(first + at - size);
}

}  // namespace vg::ptx
