// Memory operations in streams. The first version of each exists for old drivers' sake: current devices say so in
// CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_MEM_OPS_V1.
#include "api/entry/call.h"
#include "core/work/memory_operations.h"

namespace vg::handlers {
namespace {

CUresult queue(const Call& call, CUstream handle, const CUstreamBatchMemOpParams* operations, unsigned count) {
  VG_TRY(core::Stream & stream, call.resolve(handle));
  return stream.give(core::work::OperationsCall{operations, count});
}

CUresult wait(const Call& call, CUstream handle, CUstreamBatchMemOpType operation, CUdeviceptr address, uint64_t value,
              unsigned flags) {
  CUstreamBatchMemOpParams params{};
  params.waitValue.operation = operation;
  params.waitValue.address = address;
  params.waitValue.value64 = value;
  params.waitValue.flags = flags;
  return queue(call, handle, &params, 1);
}

CUresult write(const Call& call, CUstream handle, CUstreamBatchMemOpType operation, CUdeviceptr address, uint64_t value,
               unsigned flags) {
  CUstreamBatchMemOpParams params{};
  params.writeValue.operation = operation;
  params.writeValue.address = address;
  params.writeValue.value64 = value;
  params.writeValue.flags = flags;
  return queue(call, handle, &params, 1);
}

CUresult firstVersion() { return unsupported("the first version of memory operations in streams"); }

}  // namespace

CUresult cuStreamWaitValue32_v2(const Call& call, CUstream stream, CUdeviceptr addr, cuuint32_t value,
                                unsigned int flags) {
  return wait(call, stream, CU_STREAM_MEM_OP_WAIT_VALUE_32, addr, value, flags);
}

CUresult cuStreamWaitValue64_v2(const Call& call, CUstream stream, CUdeviceptr addr, cuuint64_t value,
                                unsigned int flags) {
  return wait(call, stream, CU_STREAM_MEM_OP_WAIT_VALUE_64, addr, value, flags);
}

CUresult cuStreamWriteValue32_v2(const Call& call, CUstream stream, CUdeviceptr addr, cuuint32_t value,
                                 unsigned int flags) {
  return write(call, stream, CU_STREAM_MEM_OP_WRITE_VALUE_32, addr, value, flags);
}

CUresult cuStreamWriteValue64_v2(const Call& call, CUstream stream, CUdeviceptr addr, cuuint64_t value,
                                 unsigned int flags) {
  return write(call, stream, CU_STREAM_MEM_OP_WRITE_VALUE_64, addr, value, flags);
}

CUresult cuStreamBatchMemOp_v2(const Call& call, CUstream stream, unsigned int count,
                               CUstreamBatchMemOpParams* paramArray, unsigned int flags) {
  constexpr unsigned kMost = 255;
  if (flags) return fail(CUDA_ERROR_INVALID_VALUE, "batch flags %#x", flags);
  if (count > kMost || (count && !paramArray))
    return fail(CUDA_ERROR_INVALID_VALUE, "%u operations at %p", count, static_cast<void*>(paramArray));
  return queue(call, stream, paramArray, count);
}

CUresult cuStreamWaitValue32(const Call&, CUstream, CUdeviceptr, cuuint32_t, unsigned int) { return firstVersion(); }
CUresult cuStreamWaitValue64(const Call&, CUstream, CUdeviceptr, cuuint64_t, unsigned int) { return firstVersion(); }
CUresult cuStreamWriteValue32(const Call&, CUstream, CUdeviceptr, cuuint32_t, unsigned int) { return firstVersion(); }
CUresult cuStreamWriteValue64(const Call&, CUstream, CUdeviceptr, cuuint64_t, unsigned int) { return firstVersion(); }
CUresult cuStreamBatchMemOp(const Call&, CUstream, unsigned int, CUstreamBatchMemOpParams*, unsigned int) {
  return firstVersion();
}

}  // namespace vg::handlers
