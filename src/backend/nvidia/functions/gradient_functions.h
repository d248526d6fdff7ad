// What compiled kernels call for gradients of boxes and cubemaps: native code of our own, which comes along
// (gradient_functions.cu) for compute capability 9.0.
#pragma once

#include <memory>
#include <string_view>

#include "base/result.h"
#include "cubin/cubin.h"

namespace vg::backend::nvidia {

struct GradientFunctions {
  std::shared_ptr<const cubin::Cubin> code;
  // What a kernel that calls them needs at least, and on top of its own.
  uint32_t registers = 0, stackBytes = 0;

  // Null: not one of them.
  const cubin::Function* find(std::string_view external) const;
};
// Whether native code calls a driver by this name for a gradient.
bool isGradientCall(std::string_view external);
// Once a process. CUDA_ERROR_NOT_SUPPORTED for other architectures.
Result<const GradientFunctions&> gradientFunctions(uint32_t architecture);

}  // namespace vg::backend::nvidia
