// The shared memory that the system keeps for itself in kernels that ask where it is (layout.h).
#pragma once

#include <cstdint>
#include <optional>

#include "ptx/text/ast.h"

namespace vg::ptx {

inline constexpr uint32_t kReservedShared = 1024;  // bytes, as devices of capability 8.0 and later keep

// What a register that tells of the reserved shared memory holds: an offset from the shared base but for its size.
std::optional<uint32_t> reservedShared(Special special);

}  // namespace vg::ptx
