// Memory and events between processes.
#include "api/call.h"
#include "core/ipc_memory.h"

namespace vg::handlers {

CUresult cuIpcGetMemHandle(const Call&, CUipcMemHandle* pHandle, CUdeviceptr dptr) {
  if (!pHandle) return fail(CUDA_ERROR_INVALID_VALUE, "pHandle is null");
  VG_TRY(*pHandle, core::ipc_memory::handleOf(dptr));
  return CUDA_SUCCESS;
}

CUresult cuIpcOpenMemHandle_v2(const Call& call, CUdeviceptr* pdptr, CUipcMemHandle handle, unsigned int Flags) {
  if (!pdptr) return fail(CUDA_ERROR_INVALID_VALUE, "pdptr is null");
  if (Flags != CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS) return fail(CUDA_ERROR_INVALID_VALUE, "flags %#x", Flags);
  VG_TRY(*pdptr, core::ipc_memory::open(*call.context, handle));
  return CUDA_SUCCESS;
}

CUresult cuIpcOpenMemHandle(const Call& call, CUdeviceptr* pdptr, CUipcMemHandle handle, unsigned int Flags) {
  return cuIpcOpenMemHandle_v2(call, pdptr, handle, Flags);
}

CUresult cuIpcCloseMemHandle(const Call&, CUdeviceptr dptr) { return core::ipc_memory::close(dptr); }

}  // namespace vg::handlers
