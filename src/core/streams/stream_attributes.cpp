#include "core/streams/stream_attributes.h"

#include "base/raw_enum.h"
#include "core/process/device.h"
#include "core/work/launch_attributes.h"

namespace vg::core {

CUresult StreamAttributes::get(CUstreamAttrID which, CUstreamAttrValue* value) const {
  const MutexLock lock(mutex_);
  switch (which) {
    case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
      value->accessPolicyWindow = values_.accessPolicy;
      return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY:
      value->syncPolicy = values_.synchronizationPolicy;
      return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
      value->memSyncDomainMap = values_.memSyncDomainMap;
      return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
      value->memSyncDomain = values_.memSyncDomain;
      return CUDA_SUCCESS;
    default:
      return fail(CUDA_ERROR_INVALID_VALUE, "%d is not an attribute of streams", int(which));
  }
}

CUresult StreamAttributes::set(CUstreamAttrID which, const CUstreamAttrValue& value, const Device& device) {
  const MutexLock lock(mutex_);
  switch (which) {
    case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
      VG_CHECK(checkAccessPolicy(value.accessPolicyWindow, device));
      values_.accessPolicy = value.accessPolicyWindow;
      return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY:
      if (const int policy = rawValue(value.syncPolicy);
          policy < CU_SYNC_POLICY_AUTO || policy > CU_SYNC_POLICY_BLOCKING_SYNC)
        return fail(CUDA_ERROR_INVALID_VALUE, "synchronization policy %d", policy);
      values_.synchronizationPolicy = value.syncPolicy;
      return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
      VG_CHECK(checkDomainMap(value.memSyncDomainMap, device));
      values_.memSyncDomainMap = value.memSyncDomainMap;
      return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
      VG_CHECK(checkDomain(rawValue(value.memSyncDomain)));
      values_.memSyncDomain = value.memSyncDomain;
      return CUDA_SUCCESS;
    default:
      return fail(CUDA_ERROR_INVALID_VALUE, "%d is not an attribute of streams", int(which));
  }
}

StreamAttributes::Values StreamAttributes::values() const {
  const MutexLock lock(mutex_);
  return values_;
}

void StreamAttributes::copyFrom(const StreamAttributes& source) {
  const Values values = source.values();
  const MutexLock lock(mutex_);
  values_ = values;
}

}  // namespace vg::core
