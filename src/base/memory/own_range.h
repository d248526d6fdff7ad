// Guarded ranges (base/memory/guarded_range.h) among the library's own memory (base/memory/own_memory.h): what kernels
// run on.
#pragma once

#include "base/memory/guarded_range.h"

namespace vg {

// Inaccessible addresses with guards of up to `guard` bytes; none when the system refuses.
GuardedRange reserveOwnRange(size_t bytes, size_t guard) noexcept;
// Gives it back. Does nothing with none.
void releaseOwnRange(GuardedRange& range) noexcept;

}  // namespace vg
