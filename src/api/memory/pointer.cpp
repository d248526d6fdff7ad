// What a pointer is.
#include "api/entry/call.h"
#include "base/raw_enum.h"
#include "core/memory/memory_attributes.h"

namespace vg::handlers {

CUresult cuPointerGetAttribute(const Call&, void* data, CUpointer_attribute attribute, CUdeviceptr ptr) {
  if (!data) return missing("data");
  return core::memory::pointerAttribute(data, attribute, ptr);
}

CUresult cuPointerGetAttributes(const Call&, unsigned int numAttributes, CUpointer_attribute* attributes, void** data,
                                CUdeviceptr ptr) {
  if (!attributes || !data || !numAttributes)
    return fail(CUDA_ERROR_INVALID_VALUE, "%u attributes at %p, data %p", numAttributes, static_cast<void*>(attributes),
                static_cast<void*>(data));
  for (unsigned i = 0; i < numAttributes; ++i) {
    if (!data[i]) return fail(CUDA_ERROR_INVALID_VALUE, "data[%u] is null", i);
    VG_CHECK(core::memory::pointerAttributeOrNothing(data[i], rawValue(attributes[i]), ptr));
  }
  return CUDA_SUCCESS;
}

CUresult cuPointerSetAttribute(const Call&, const void* value, CUpointer_attribute attribute, CUdeviceptr ptr) {
  if (!value) return missing("value");
  return core::memory::setPointerAttribute(value, attribute, ptr);
}

}  // namespace vg::handlers
