// Modules on the emulated device: PTX parsed, variables given memory, kernels made native on demand.
//
// loadImage answers CpuDevice::load. An image may be used from several threads; it must outlive the launches of its
// kernels.
#pragma once

#include <memory>

#include "backend/device.h"

namespace vg::backend::cpu {

// Parses and links the texts of `source` and makes its variables. CUDA_ERROR_INVALID_PTX and
// CUDA_ERROR_UNSUPPORTED_PTX_VERSION come with lines in options.errorLog.
Result<std::unique_ptr<Image>> loadImage(const Device& device, const ImageSource& source, const LoadOptions& options);

// Writes what kernels of all devices have printed to standard output.
void flushKernelOutput() noexcept;

}  // namespace vg::backend::cpu
