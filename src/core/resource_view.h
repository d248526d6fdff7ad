// CUDA_RESOURCE_VIEW_DESC: an array seen in another format, or only some of its levels and layers.
#pragma once

#include <cuda.h>

#include "arrays/texture.h"
#include "base/result.h"

namespace vg::core {

// Narrows `view`, which shows the whole resource. CUDA_ERROR_INVALID_VALUE for resources that are no arrays, formats
// of another size, and what the resource does not have.
CUresult seeAs(arrays::TextureView& view, const CUDA_RESOURCE_DESC& resource, const CUDA_RESOURCE_VIEW_DESC& seen);

}  // namespace vg::core
