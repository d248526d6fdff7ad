// Fabrics between hosts: cliques, logical endpoints and copies over them, as a driver answers whose devices hang on
// none (CU_DEVICE_ATTRIBUTE_LOGICAL_ENDPOINT_UNICAST_SUPPORTED and _MULTICAST_ are 0): arguments are checked first.
#include "api/entry/call.h"
#include "base/raw_enum.h"
#include "core/process/device.h"

namespace vg::handlers {
namespace {

CUresult noFabric() { return fail(CUDA_ERROR_NOT_SUPPORTED, "no device is part of a fabric"); }
CUresult noEndpoints() { return fail(CUDA_ERROR_NOT_SUPPORTED, "no device has logical endpoints"); }

CUresult checkFlags(unsigned long long flags) {
  return flags ? fail(CUDA_ERROR_INVALID_VALUE, "flags %#llx are reserved", flags) : CUDA_SUCCESS;
}

CUresult checkDevice(CUdevice device) {
  VG_CHECK(core::findDevice(device));
  return CUDA_SUCCESS;
}

CUresult checkEndpoint(const CUlogicalEndpointProp* wanted) {
  if (!wanted) return missing("prop");
  if (wanted->flags & ~unsigned{CU_LOGICAL_ENDPOINT_FLAG_COUNTED_OPS})
    return fail(CUDA_ERROR_INVALID_VALUE, "flags %#x", wanted->flags);
  if (wanted->ipcHandleTypes & ~unsigned{CU_LOGICAL_ENDPOINT_IPC_HANDLE_TYPE_FABRIC})
    return fail(CUDA_ERROR_INVALID_VALUE, "handle types %#x", wanted->ipcHandleTypes);
  switch (const int type = rawValue(wanted->type)) {
    case CU_LOGICAL_ENDPOINT_TYPE_UNICAST:
      return checkDevice(wanted->unicast.device);
    case CU_LOGICAL_ENDPOINT_TYPE_MULTICAST:
      return wanted->multicast.numDevices ? CUDA_SUCCESS : fail(CUDA_ERROR_INVALID_VALUE, "a team of no devices");
    default:
      return fail(CUDA_ERROR_INVALID_VALUE, "logical endpoint of type %d", type);
  }
}

CUresult checkHandle(const void* handle, CUlogicalEndpointIpcHandleType type) {
  if (!handle) return missing("handle");
  if (rawValue(type) == CU_LOGICAL_ENDPOINT_IPC_HANDLE_TYPE_FABRIC) return CUDA_SUCCESS;
  return fail(CUDA_ERROR_INVALID_VALUE, "handle type %d", rawValue(type));
}

CUresult checkRange(cuuint32_t first, cuuint32_t count) {
  if (count && count - 1 <= UINT32_MAX - first) return CUDA_SUCCESS;
  return fail(CUDA_ERROR_INVALID_VALUE, "%u endpoints from %u on", count, first);
}

CUresult checkBinding(CUdevice device, cuuint64_t offset, cuuint64_t size) {
  VG_CHECK(checkDevice(device));
  if (size && size <= UINT64_MAX - offset) return CUDA_SUCCESS;
  return fail(CUDA_ERROR_INVALID_VALUE, "%llu bytes at %llu", static_cast<unsigned long long>(size),
              static_cast<unsigned long long>(offset));
}

CUresult checkOperand(const CUfabricCpyOperand& operand) {
  switch (const int type = rawValue(operand.type)) {
    case CU_FABRIC_COPY_OPERAND_TYPE_POINTER:
      return operand.op.ptr.ptr ? CUDA_SUCCESS : missing("an operand's pointer");
    case CU_FABRIC_COPY_OPERAND_TYPE_LOGICAL_ENDPOINT:
      return CUDA_SUCCESS;
    default:
      return fail(CUDA_ERROR_INVALID_VALUE, "operand of type %d", type);
  }
}

}  // namespace

CUresult cuDeviceGetFabricClusterUuid(const Call&, CUuuid* uuid, CUdevice dev) {
  if (!uuid) return missing("uuid");
  VG_CHECK(checkDevice(dev));
  return noFabric();
}

CUresult cuDeviceGetCliqueCount(const Call&, size_t* count, CUdevice dev) {
  if (!count) return missing("count");
  VG_CHECK(checkDevice(dev));
  return noFabric();
}

CUresult cuDeviceGetCliqueInfo(const Call&, CUcliqueInfo* cliqueInfo, size_t* count, CUdevice dev) {
  if (!cliqueInfo || !count) return missing("cliqueInfo or count");
  VG_CHECK(checkDevice(dev));
  return noFabric();
}

CUresult cuLogicalEndpointIdReserve(const Call&, CUlogicalEndpointId* baseLeId, cuuint32_t count) {
  if (!baseLeId) return missing("baseLeId");
  VG_CHECK(checkRange(0, count));
  return noEndpoints();
}

CUresult cuLogicalEndpointIdRelease(const Call&, CUlogicalEndpointId baseLeId, cuuint32_t count) {
  VG_CHECK(checkRange(baseLeId, count));
  return noEndpoints();
}

CUresult cuLogicalEndpointCreate(const Call&, CUlogicalEndpointId, const CUlogicalEndpointProp* prop) {
  VG_CHECK(checkEndpoint(prop));
  if (!prop->size) return fail(CUDA_ERROR_INVALID_VALUE, "a logical endpoint of no bytes");
  return noEndpoints();
}

CUresult cuLogicalEndpointGetLimits(const Call&, cuuint64_t* bindAlignment, cuuint64_t* maxSize,
                                    const CUlogicalEndpointProp* prop) {
  if (!bindAlignment || !maxSize) return missing("bindAlignment or maxSize");
  VG_CHECK(checkEndpoint(prop));
  return noEndpoints();
}

CUresult cuLogicalEndpointAddDevice(const Call&, CUlogicalEndpointId, CUdevice dev) {
  VG_CHECK(checkDevice(dev));
  return noEndpoints();
}

CUresult cuLogicalEndpointDestroy(const Call&, CUlogicalEndpointId) { return noEndpoints(); }

CUresult cuLogicalEndpointBindAddr(const Call&, CUlogicalEndpointId, CUdevice dev, cuuint64_t offset, void* ptr,
                                   cuuint64_t size, unsigned long long flags) {
  if (!ptr) return missing("ptr");
  VG_CHECK(checkFlags(flags));
  VG_CHECK(checkBinding(dev, offset, size));
  return noEndpoints();
}

CUresult cuLogicalEndpointBindMem(const Call&, CUlogicalEndpointId, CUdevice dev, cuuint64_t offset,
                                  CUmemGenericAllocationHandle memHandle, cuuint64_t memOffset, cuuint64_t size,
                                  unsigned long long flags) {
  if (!memHandle) return missing("memHandle");
  VG_CHECK(checkFlags(flags));
  VG_CHECK(checkBinding(dev, offset, size));
  VG_CHECK(checkBinding(dev, memOffset, size));
  return noEndpoints();
}

CUresult cuLogicalEndpointUnbind(const Call&, CUlogicalEndpointId, CUdevice dev, cuuint64_t offset, cuuint64_t size) {
  VG_CHECK(checkBinding(dev, offset, size));
  return noEndpoints();
}

CUresult cuLogicalEndpointExport(const Call&, void* handle, CUlogicalEndpointId,
                                 CUlogicalEndpointIpcHandleType handleType) {
  VG_CHECK(checkHandle(handle, handleType));
  return noEndpoints();
}

CUresult cuLogicalEndpointImport(const Call&, CUlogicalEndpointId, const void* handle,
                                 CUlogicalEndpointIpcHandleType handleType) {
  VG_CHECK(checkHandle(handle, handleType));
  return noEndpoints();
}

CUresult cuLogicalEndpointQuery(const Call&, CUlogicalEndpointId leId, cuuint32_t count, int* queryStatus) {
  if (!queryStatus) return missing("queryStatus");
  VG_CHECK(checkRange(leId, count));
  return noEndpoints();
}

CUresult cuFabricCpyBatchAsync(const Call& call, size_t numOps, CUDA_FABRIC_COPY_BATCH_OP* opList,
                               unsigned long long flags, CUstream hStream) {
  if (!numOps || !opList) return missing("opList, or there are no operations");
  VG_CHECK(checkFlags(flags));
  VG_TRY(core::Stream & stream, call.resolve(hStream));
  if (stream.kind() == core::Stream::Kind::Legacy)
    return fail(CUDA_ERROR_INVALID_VALUE, "copies over a fabric in the legacy stream");
  for (size_t i = 0; i < numOps; ++i) {
    VG_CHECK(checkOperand(opList[i].src));
    VG_CHECK(checkOperand(opList[i].dst));
    VG_CHECK(checkFlags(opList[i].flags));
  }
  return noEndpoints();
}

}  // namespace vg::handlers
