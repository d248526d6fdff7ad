// Multicast objects, as a device answers that has none (CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED is 0 in every profile).
#include "api/entry/call.h"

namespace vg::handlers {
namespace {

CUresult refused() { return fail(CUDA_ERROR_NOT_SUPPORTED, "no device has multicast"); }

}  // namespace

CUresult cuMulticastCreate(const Call&, CUmemGenericAllocationHandle*, const CUmulticastObjectProp*) {
  return refused();
}
CUresult cuMulticastAddDevice(const Call&, CUmemGenericAllocationHandle, CUdevice) { return refused(); }
CUresult cuMulticastBindMem(const Call&, CUmemGenericAllocationHandle, size_t, CUmemGenericAllocationHandle, size_t,
                            size_t, unsigned long long) {
  return refused();
}
CUresult cuMulticastBindAddr(const Call&, CUmemGenericAllocationHandle, size_t, CUdeviceptr, size_t,
                             unsigned long long) {
  return refused();
}
CUresult cuMulticastBindMem_v2(const Call&, CUmemGenericAllocationHandle, CUdevice, size_t,
                               CUmemGenericAllocationHandle, size_t, size_t, unsigned long long) {
  return refused();
}
CUresult cuMulticastBindAddr_v2(const Call&, CUmemGenericAllocationHandle, CUdevice, size_t, CUdeviceptr, size_t,
                                unsigned long long) {
  return refused();
}
CUresult cuMulticastUnbind(const Call&, CUmemGenericAllocationHandle, CUdevice, size_t, size_t) { return refused(); }
CUresult cuMulticastGetGranularity(const Call&, size_t*, const CUmulticastObjectProp*, CUmulticastGranularity_flags) {
  return refused();
}

}  // namespace vg::handlers
