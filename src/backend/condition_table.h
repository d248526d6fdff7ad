// Values of conditional handles: set by kernels, read by graphs. Core numbers the handles; a kernel may hand in any
// number, and one that names nothing changes nothing. Lock-free; entries live as long as the process.
#pragma once

#include <cstdint>

#include "base/result.h"

namespace vg::backend::conditions {

// Makes a place for the handle. CUDA_ERROR_OUT_OF_MEMORY when there are too many. Requires: one caller at a time.
CUresult add(uint64_t handle);
void set(uint64_t handle, uint32_t value);
// 0 for what has no place.
uint32_t value(uint64_t handle);

}  // namespace vg::backend::conditions
