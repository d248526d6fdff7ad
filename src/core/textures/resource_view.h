// CUDA_RESOURCE_VIEW_DESC: an array seen in another format, or only some of its levels and layers.
#pragma once

#include <cuda.h>

#include "arrays/reading/texture.h"
#include "base/result.h"

namespace vg::core {

// Narrows `view`, which shows a whole array. CUDA_ERROR_INVALID_VALUE for formats of another size, and what the array
// does not have.
CUresult seeAs(arrays::TextureView& view, const CUDA_RESOURCE_VIEW_DESC& seen);

}  // namespace vg::core
