// The context that an application names, if only by none.
#pragma once

#include <cuda.h>

#include "base/result.h"
#include "core/process/thread_state.h"

namespace vg::core {

// The context that a handle names, the current one for null.
Result<ContextReference> contextOf(CUcontext handle);

}  // namespace vg::core
