// Which grids did what a device would have stopped them for.
#pragma once

#include <cuda.h>

#include <cstdint>

namespace vg::check {

// The first error of a grid stays. Always false, as the answer to whether the access may happen.
bool markFaulted(uint64_t grid, CUresult error);

}  // namespace vg::check
