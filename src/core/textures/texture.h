// Texture and surface objects (CUtexObject, CUsurfObject): handles that kernels are given as 64-bit numbers.
//
// Resources are not kept alive: an object of an array that was destroyed reads what is there, or faults in the kernel.
// All functions are thread-safe.
#pragma once

#include <cuda.h>

#include <optional>

#include "base/result.h"

namespace vg::core {

class Context;

// Constant from its creation on.
struct TextureObject {
  Context& context;
  bool surface;
  CUDA_RESOURCE_DESC resource;
  CUDA_TEXTURE_DESC texture;
  std::optional<CUDA_RESOURCE_VIEW_DESC> view;
};

namespace textures {

// The errors of core/textures/texture_view.h. `view` may be null.
Result<CUtexObject> create(Context& context, const CUDA_RESOURCE_DESC& resource, const CUDA_TEXTURE_DESC& texture,
                           const CUDA_RESOURCE_VIEW_DESC* view);
Result<CUsurfObject> createSurface(Context& context, const CUDA_RESOURCE_DESC& resource);

// CUDA_ERROR_INVALID_VALUE for what is no living object of the kind.
Result<const TextureObject&> find(CUtexObject handle);
Result<const TextureObject&> findSurface(CUsurfObject handle);
CUresult destroy(CUtexObject handle);
CUresult destroySurface(CUsurfObject handle);

// Ends those of a context that ends, after its streams.
void releaseAll(Context& context);

}  // namespace textures
}  // namespace vg::core
