// What CUDA says of a GPU, made of what the GPU says of itself.
#pragma once

#include "backend/nvidia/driver/gpu.h"
#include "backend/traits.h"

namespace vg::backend::nvidia {

// CUDA_ERROR_NOT_SUPPORTED for generations whose attributes are not known here.
Result<Traits> traitsOf(const Gpu& gpu);

}  // namespace vg::backend::nvidia
