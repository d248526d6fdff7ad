// Values of conditional handles: set by kernels, read by graphs. Core numbers the handles; a kernel may hand in any
// number, and one that names nothing changes nothing. Lock-free; entries live as long as the process.
//
// The values are 32-bit words in one piece of memory, so that a GPU can be shown it and kernels store there themselves.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/result.h"

namespace vg::backend::conditions {

inline constexpr uint64_t kMost = uint64_t{1} << 22;  // handles

// Makes a place for the handle. CUDA_ERROR_OUT_OF_MEMORY when there are too many. Requires: one caller at a time.
CUresult add(uint64_t handle);
void set(uint64_t handle, uint32_t value);
// 0 for what has no place.
uint32_t value(uint64_t handle);

// All places, kMost words by handle, whole pages. CUDA_ERROR_OUT_OF_MEMORY.
Result<std::byte*> memory();

}  // namespace vg::backend::conditions
