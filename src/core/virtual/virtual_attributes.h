// What a pointer into mapped memory is.
#pragma once

#include <cuda.h>

#include <cstdint>

#include "alloc/record.h"

namespace vg::core::memory {

// What cuPointerGetAttribute says of a record of Kind::Mapped. Given: written to `data`; None: it has no such
// attribute; AsUsual: what any other memory would say.
enum class Answer : uint8_t { Given, None, AsUsual };
Answer attributeOfMapping(void* data, CUpointer_attribute which, CUdeviceptr pointer, const alloc::Record& record);

}  // namespace vg::core::memory
