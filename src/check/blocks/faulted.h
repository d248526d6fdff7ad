// Which grids did what a device would have stopped them for.
#pragma once

#include <cuda.h>

#include "ptx/abi/kernel_abi.h"

namespace vg::check {

// The first error of a grid stays, and is told to whoever wants to know (check.h). Always false, as the answer to
// whether the access may happen.
bool markFaulted(const ptx::BlockState& block, CUresult error);

}  // namespace vg::check
