// The functions of the 32-bit era serve contexts of those times only, as the vendor's driver keeps it.
#pragma once

#include "api/entry/call.h"

namespace vg::handlers {

// CUDA_ERROR_INVALID_CONTEXT for a context that cuCtxCreate_v2 or later ones made.
inline CUresult checkEra(const Call& call) {
  constexpr unsigned kSince = 3020;
  if (!call.context || call.context->apiVersion() < kSince) return CUDA_SUCCESS;
  return fail(CUDA_ERROR_INVALID_CONTEXT, "the current context belongs to a newer interface");
}

}  // namespace vg::handlers
