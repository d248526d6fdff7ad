// What a shared allocation says of itself to whoever gets its descriptor: the label of its memory, which nobody can
// change afterwards. Devices are named by their unique identifier, because another process may number them differently.
#pragma once

#include <cuda.h>

#include <string>

#include "base/result.h"

namespace vg::core::memory {

std::string labelFor(const CUmemAllocationProp& properties);
// CUDA_ERROR_INVALID_VALUE for a label that labelFor() did not make, CUDA_ERROR_INVALID_DEVICE for memory of a device
// that this process does not see.
Result<CUmemAllocationProp> propertiesOf(const std::string& label);

}  // namespace vg::core::memory
