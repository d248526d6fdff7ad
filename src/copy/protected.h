// Copies and fills past the protection of the host's pages, for page-locked memory that the application has made
// read-only or inaccessible since: a device has a mapping of its own and does not notice.
//
// By /proc/self/mem, at a tenth of the speed. Whole rows, in the order of copy::copy().
#pragma once

#include "copy/shape.h"

namespace vg::copy {

// False when the system refuses: a part is not mapped at all, or it is shared memory made read-only.
[[nodiscard]] bool copyProtected(const Shape& shape);
[[nodiscard]] bool fillProtected(const Fill& fill, uint32_t repeated);

}  // namespace vg::copy
