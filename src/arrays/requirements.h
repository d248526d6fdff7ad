// How many bytes of memory an array of deferred mapping asks for.
#pragma once

#include <cuda.h>

#include <cstddef>

namespace vg::arrays {

// As the vendor's devices say: their storage is cut into blocks of 64 bytes by 8 rows and larger. Never less than
// linearLayout() takes; a multiple of 64 KiB, which is the alignment too.
// Requires: checkDescriptor() succeeded, 1 <= levels <= mostLevels().
size_t requiredBytes(const CUDA_ARRAY3D_DESCRIPTOR& descriptor, unsigned levels);

}  // namespace vg::arrays
