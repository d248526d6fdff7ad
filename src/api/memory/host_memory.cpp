// Page-locked host memory: allocated here, or registered by the application.
#include "core/memory/host_memory.h"
#include "api/entry/call.h"
#include "core/contexts/current_context.h"
#include "core/memory/memory.h"

namespace vg::handlers {
CUresult cuMemHostAlloc(const Call& call, void** pp, size_t bytesize, unsigned int Flags) {
  if (!pp) return missing("pp");
  *pp = nullptr;
  VG_TRY(*pp, core::memory::allocateHost(*call.context, bytesize, Flags));
  return CUDA_SUCCESS;
}

CUresult cuMemAllocHost_v2(const Call& call, void** pp, size_t bytesize) {
  return cuMemHostAlloc(call, pp, bytesize, 0);
}

CUresult cuMemAllocHost(const Call& call, void** pp, unsigned int bytesize) {
  return cuMemHostAlloc(call, pp, bytesize, 0);
}

// Needs no context, but reports the one that there is.
CUresult cuMemFreeHost(const Call&, void* p) {
  if (core::threadState.current) VG_CHECK(core::currentContext());
  return core::memory::releaseHost(p);
}

CUresult cuMemHostRegister_v2(const Call& call, void* p, size_t bytesize, unsigned int Flags) {
  return core::memory::registerHost(*call.context, p, bytesize, Flags);
}

// Its flags had fewer bits; otherwise the same.
CUresult cuMemHostRegister(const Call& call, void* p, size_t bytesize, unsigned int Flags) {
  return core::memory::registerHost(*call.context, p, bytesize, Flags);
}

CUresult cuMemHostUnregister(const Call&, void* p) { return core::memory::unregisterHost(p); }

CUresult cuMemHostGetDevicePointer_v2(const Call&, CUdeviceptr* pdptr, void* p, unsigned int Flags) {
  if (!pdptr) return missing("pdptr");
  *pdptr = 0;
  if (Flags) return fail(CUDA_ERROR_INVALID_VALUE, "flags %#x are reserved", Flags);
  VG_TRY(*pdptr, core::memory::deviceAddressOfHost(p));
  return CUDA_SUCCESS;
}

CUresult cuMemHostGetFlags(const Call&, unsigned int* pFlags, void* p) {
  if (!pFlags) return missing("pFlags");
  VG_TRY(*pFlags, core::memory::hostFlags(p));
  return CUDA_SUCCESS;
}

}  // namespace vg::handlers
