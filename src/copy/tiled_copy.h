// Copies between sides of which some are tiled (copy/tiling.h).
#pragma once

#include "copy/shape.h"

namespace vg::copy {

// Row by row, from one run of neighbouring bytes to the next. Faults go to the caller, as with the engines.
void copyTiled(const Shape& shape);

}  // namespace vg::copy
