// Page-locked host memory: our own, and ranges of the application.
#pragma once

#include <cuda.h>

#include "base/result.h"

namespace vg::core {
class Context;
}

namespace vg::core::memory {

Result<void*> allocateHost(Context& context, size_t bytes, unsigned flags);
CUresult releaseHost(void* pointer);
CUresult registerHost(Context& context, void* pointer, size_t bytes, unsigned flags);
CUresult unregisterHost(void* pointer);
// Ends the registrations that a context made.
void unregisterAll(Context& context);
Result<CUdeviceptr> deviceAddressOfHost(void* pointer);
Result<unsigned> hostFlags(void* pointer);

}  // namespace vg::core::memory
