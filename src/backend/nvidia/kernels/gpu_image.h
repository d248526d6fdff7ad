// Native code in a GPU's memory: one piece of device memory with all code, constants and variables of a module.
#pragma once

#include "backend/device.h"

namespace vg::backend::nvidia {

struct GpuParts;

// Requires: source.native. CUDA_ERROR_NO_BINARY_FOR_GPU for another architecture's code, CUDA_ERROR_NOT_SUPPORTED for
// code that calls functions which nobody supplies.
Result<std::unique_ptr<Image>> loadImage(const GpuParts& gpu, const ImageSource& source);

}  // namespace vg::backend::nvidia
