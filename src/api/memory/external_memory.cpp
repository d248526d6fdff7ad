// Memory of other libraries and processes, semaphores of theirs, and handles for other devices' drivers.
#include "core/memory/external_memory.h"
#include "api/entry/call.h"
#include "base/raw_enum.h"
#include "core/memory/range_handle.h"

namespace vg::handlers {
namespace {

namespace memory = core::memory;

}  // namespace

CUresult cuImportExternalMemory(const Call& call, CUexternalMemory* extMem_out,
                                const CUDA_EXTERNAL_MEMORY_HANDLE_DESC* memHandleDesc) {
  if (!extMem_out || !memHandleDesc) return missing("extMem_out or memHandleDesc");
  VG_TRY(*extMem_out, memory::importExternal(*call.context, *memHandleDesc));
  return CUDA_SUCCESS;
}

CUresult cuDestroyExternalMemory(const Call&, CUexternalMemory extMem) { return memory::destroyExternal(extMem); }

CUresult cuExternalMemoryGetMappedBuffer(const Call&, CUdeviceptr* devPtr, CUexternalMemory extMem,
                                         const CUDA_EXTERNAL_MEMORY_BUFFER_DESC* bufferDesc) {
  if (!devPtr || !bufferDesc) return missing("devPtr or bufferDesc");
  VG_TRY(*devPtr, memory::mapExternalBuffer(extMem, *bufferDesc));
  return CUDA_SUCCESS;
}

// What a descriptor of a semaphore would have to be is known to the library that made it alone, and none on a machine
// without a GPU makes one: every descriptor is a foreign one.
CUresult cuImportExternalSemaphore(const Call&, CUexternalSemaphore* extSem_out,
                                   const CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC* semHandleDesc) {
  if (!extSem_out || !semHandleDesc) return missing("extSem_out or semHandleDesc");
  const int type = rawValue(semHandleDesc->type), descriptor = semHandleDesc->handle.fd;
  const bool opaque = type == CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD;
  if (opaque || (type == CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD && descriptor >= 0))
    return fail(CUDA_ERROR_UNKNOWN, "descriptor %d is no semaphore of a driver", descriptor);
  return fail(CUDA_ERROR_INVALID_VALUE, "a semaphore of type %d cannot be imported here", type);
}

CUresult cuDestroyExternalSemaphore(const Call&, CUexternalSemaphore extSem) {
  return fail(CUDA_ERROR_INVALID_VALUE, "%p is no external semaphore", static_cast<void*>(extSem));
}

CUresult cuSignalExternalSemaphoresAsync(const Call& call, const CUexternalSemaphore* extSemArray,
                                         const CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS*, unsigned int numExtSems,
                                         CUstream stream) {
  VG_CHECK(call.resolve(stream));
  return fail(CUDA_ERROR_INVALID_VALUE, "none of %u entries at %p is an external semaphore", numExtSems,
              static_cast<const void*>(extSemArray));
}

CUresult cuWaitExternalSemaphoresAsync(const Call& call, const CUexternalSemaphore* extSemArray,
                                       const CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS*, unsigned int numExtSems,
                                       CUstream stream) {
  VG_CHECK(call.resolve(stream));
  return fail(CUDA_ERROR_INVALID_VALUE, "none of %u entries at %p is an external semaphore", numExtSems,
              static_cast<const void*>(extSemArray));
}

CUresult cuMemGetHandleForAddressRange(const Call&, void* handle, CUdeviceptr dptr, size_t size,
                                       CUmemRangeHandleType handleType, unsigned long long flags) {
  if (!handle) return missing("handle");
  if (const int type = rawValue(handleType); type != CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD)
    return fail(CUDA_ERROR_INVALID_VALUE, "handle type %d", type);
  VG_TRY(const int descriptor, memory::dmaBufOf(dptr, size, flags));
  *static_cast<int*>(handle) = descriptor;
  return CUDA_SUCCESS;
}

}  // namespace vg::handlers
