// Where page-locked memory comes from: memory of the process, near the caller and locked.
#pragma once

#include "alloc/memory_source.h"

namespace vg::core::memory {

alloc::MemorySource& pinnedSource();

}  // namespace vg::core::memory
