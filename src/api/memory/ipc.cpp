// Memory and events between processes.
#include "api/entry/call.h"
#include "core/memory/ipc_memory.h"
#include "core/streams/event.h"
#include "core/streams/ipc_event.h"

namespace vg::handlers {
namespace {

CUresult open(const Call& call, CUdeviceptr* pdptr, const CUipcMemHandle& handle, unsigned flags,
              core::ipc_memory::Again again) {
  if (!pdptr) return missing("pdptr");
  if (!(flags & CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS))  // other bits mean nothing to the driver
    return fail(CUDA_ERROR_INVALID_VALUE, "flags %#x", flags);
  VG_TRY(*pdptr, core::ipc_memory::open(*call.context, handle, again));
  return CUDA_SUCCESS;
}

}  // namespace

CUresult cuIpcGetMemHandle(const Call&, CUipcMemHandle* pHandle, CUdeviceptr dptr) {
  if (!pHandle) return missing("pHandle");
  VG_TRY(*pHandle, core::ipc_memory::handleOf(dptr));
  return CUDA_SUCCESS;
}

CUresult cuIpcOpenMemHandle_v2(const Call& call, CUdeviceptr* pdptr, CUipcMemHandle handle, unsigned int Flags) {
  return open(call, pdptr, handle, Flags, core::ipc_memory::Again::Count);
}

// The older one does not count: it refuses what is open already.
CUresult cuIpcOpenMemHandle(const Call& call, CUdeviceptr* pdptr, CUipcMemHandle handle, unsigned int Flags) {
  return open(call, pdptr, handle, Flags, core::ipc_memory::Again::Refuse);
}

CUresult cuIpcCloseMemHandle(const Call&, CUdeviceptr dptr) { return core::ipc_memory::close(dptr); }

CUresult cuIpcGetEventHandle(const Call&, CUipcEventHandle* pHandle, CUevent event) {
  if (!pHandle || !event) return fail(CUDA_ERROR_INVALID_VALUE, "pHandle or event is null");
  *pHandle = {};
  VG_TRY(core::Event & found, core::events::find(event));
  VG_TRY(*pHandle, core::ipc_event::handleOf(found));
  return CUDA_SUCCESS;
}

CUresult cuIpcOpenEventHandle(const Call& call, CUevent* phEvent, CUipcEventHandle handle) {
  if (!phEvent) return missing("phEvent");
  VG_TRY(*phEvent, core::ipc_event::open(*call.context, handle));
  return CUDA_SUCCESS;
}

}  // namespace vg::handlers
