#include <algorithm>

#include "base/mutex.h"
#include "base/raw_enum.h"
#include "core/process/device.h"
#include "core/streams/stream.h"
#include "core/work/launch_attributes.h"

namespace vg::core {
CUresult Stream::attribute(CUstreamAttrID which, CUstreamAttrValue* value) const {
  const MutexLock lock(attributesMutex_);
  switch (which) {
    case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
      value->accessPolicyWindow = attributes_.accessPolicy;
      return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY:
      value->syncPolicy = attributes_.synchronizationPolicy;
      return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_PRIORITY:
      value->priority = priority();
      return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
      value->memSyncDomainMap = attributes_.memSyncDomainMap;
      return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
      value->memSyncDomain = attributes_.memSyncDomain;
      return CUDA_SUCCESS;
    default:
      return fail(CUDA_ERROR_INVALID_VALUE, "attribute %d is none of a stream", int(which));
  }
}

CUresult Stream::setAttribute(CUstreamAttrID which, const CUstreamAttrValue& value) {
  const MutexLock lock(attributesMutex_);
  switch (which) {
    case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
      VG_CHECK(checkAccessPolicy(value.accessPolicyWindow, context_->device()));
      attributes_.accessPolicy = value.accessPolicyWindow;
      return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY:
      if (const int policy = rawValue(value.syncPolicy);
          policy < CU_SYNC_POLICY_AUTO || policy > CU_SYNC_POLICY_BLOCKING_SYNC)
        return fail(CUDA_ERROR_INVALID_VALUE, "synchronization policy %d", policy);
      attributes_.synchronizationPolicy = value.syncPolicy;
      return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_PRIORITY:
      priority_.store(std::clamp(value.priority, streams::kGreatestPriority, streams::kLeastPriority),
                      std::memory_order_relaxed);
      queue_->setPriority(priority());
      return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
      VG_CHECK(checkDomainMap(value.memSyncDomainMap, context_->device()));
      attributes_.memSyncDomainMap = value.memSyncDomainMap;
      return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
      VG_CHECK(checkDomain(rawValue(value.memSyncDomain)));
      attributes_.memSyncDomain = value.memSyncDomain;
      return CUDA_SUCCESS;
    default:
      return fail(CUDA_ERROR_INVALID_VALUE, "attribute %d is none of a stream", int(which));
  }
}

CUresult Stream::copyAttributesFrom(const Stream& source) {
  if (&source.context() != &context())
    return fail(CUDA_ERROR_INVALID_VALUE, "the streams belong to different contexts");
  Attributes attributes;
  {
    const MutexLock lock(source.attributesMutex_);
    attributes = source.attributes_;
  }
  priority_.store(source.priority(), std::memory_order_relaxed);
  queue_->setPriority(priority());
  const MutexLock lock(attributesMutex_);
  attributes_ = attributes;
  return CUDA_SUCCESS;
}

}  // namespace vg::core
