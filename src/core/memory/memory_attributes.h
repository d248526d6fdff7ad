// What the application may ask of a pointer (cuPointerGetAttribute and its relatives). Thread-safe; takes no lock.
#pragma once

#include <cuda.h>

#include "base/result.h"

namespace vg::core::memory {

// Writes the attribute's value, of the type that the manual gives it, to `data`. CUDA_ERROR_INVALID_VALUE when the
// pointer is in no memory that CUDA knows, when this kind of memory has no such attribute, or for an unknown attribute.
CUresult pointerAttribute(void* data, CUpointer_attribute which, CUdeviceptr pointer);

// The same for cuPointerGetAttributes: what a pointer does not have becomes the attribute's empty value; only an
// attribute that does not exist is an error.
CUresult pointerAttributeOrNothing(void* data, int which, CUdeviceptr pointer);

// Only CU_POINTER_ATTRIBUTE_SYNC_MEMOPS may be set.
CUresult setPointerAttribute(const void* value, CUpointer_attribute which, CUdeviceptr pointer);

}  // namespace vg::core::memory
