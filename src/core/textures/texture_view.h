// What textures and surfaces may be made of: the checks of the application's descriptors, and what they come to.
#pragma once

#include <cuda.h>

#include "arrays/reading/texture.h"
#include "base/result.h"

namespace vg::core {

class Context;

// CUDA_ERROR_INVALID_VALUE for descriptors that describe nothing, CUDA_ERROR_INVALID_HANDLE for what is no array,
// CUDA_ERROR_NOT_SUPPORTED for formats that no texture here can read. `view` may be null.
Result<arrays::TextureView> textureView(Context& context, const CUDA_RESOURCE_DESC& resource,
                                        const CUDA_TEXTURE_DESC& texture, const CUDA_RESOURCE_VIEW_DESC* view);
// The same for surfaces, which are made of arrays only.
Result<arrays::TextureView> surfaceView(const CUDA_RESOURCE_DESC& resource);
// Whether views of the resource mean something: those of linear memory are neither looked at nor kept.
bool hasViews(const CUDA_RESOURCE_DESC& resource);

}  // namespace vg::core
