#include <algorithm>

#include "base/raw_enum.h"
#include "core/context.h"
#include "core/device.h"
#include "core/stream.h"

namespace vg::core {
namespace {

// Of memory synchronisation. The map that streams begin with names two, whatever the device has.
int domains(const Device& device) { return std::max(device.attribute(CU_DEVICE_ATTRIBUTE_MEM_SYNC_DOMAIN_COUNT), 2); }

CUresult check(const CUaccessPolicyWindow& window, const Device& device) {
  const auto known = [](int p) { return p >= CU_ACCESS_PROPERTY_NORMAL && p <= CU_ACCESS_PROPERTY_PERSISTING; };
  const int hit = rawValue(window.hitProp), miss = rawValue(window.missProp);
  if (!(window.hitRatio >= 0 && window.hitRatio <= 1))
    return fail(CUDA_ERROR_INVALID_VALUE, "hit ratio %g is not in 0 .. 1", double(window.hitRatio));
  if (!known(hit) || !known(miss) || miss == CU_ACCESS_PROPERTY_PERSISTING)
    return fail(CUDA_ERROR_INVALID_VALUE, "access properties %d, %d", hit, miss);
  const auto most = static_cast<size_t>(device.attribute(CU_DEVICE_ATTRIBUTE_MAX_ACCESS_POLICY_WINDOW_SIZE));
  if (window.num_bytes > most)
    return fail(CUDA_ERROR_INVALID_VALUE, "a window of %zu bytes; the device allows %zu", window.num_bytes, most);
  return CUDA_SUCCESS;
}

}  // namespace

CUresult Stream::attribute(CUstreamAttrID which, CUstreamAttrValue* value) const {
  std::lock_guard lock(attributesMutex_);
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
  std::lock_guard lock(attributesMutex_);
  switch (which) {
    case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
      VG_CHECK(check(value.accessPolicyWindow, context_->device()));
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
      if (const auto& [normal, remote] = value.memSyncDomainMap;
          std::max(normal, remote) >= domains(context_->device()))
        return fail(CUDA_ERROR_INVALID_VALUE, "memory synchronisation domains %u and %u", normal, remote);
      attributes_.memSyncDomainMap = value.memSyncDomainMap;
      return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
      if (const int domain = rawValue(value.memSyncDomain);
          domain != CU_LAUNCH_MEM_SYNC_DOMAIN_DEFAULT && domain != CU_LAUNCH_MEM_SYNC_DOMAIN_REMOTE)
        return fail(CUDA_ERROR_INVALID_VALUE, "memory synchronisation domain %d", domain);
      attributes_.memSyncDomain = value.memSyncDomain;
      return CUDA_SUCCESS;
    default:
      return fail(CUDA_ERROR_INVALID_VALUE, "attribute %d is none of a stream", int(which));
  }
}

CUresult Stream::copyAttributesFrom(const Stream& source) {
  if (&source.context() != context_) return fail(CUDA_ERROR_INVALID_VALUE, "the streams belong to different contexts");
  Attributes attributes;
  {
    std::lock_guard lock(source.attributesMutex_);
    attributes = source.attributes_;
  }
  priority_.store(source.priority(), std::memory_order_relaxed);
  queue_->setPriority(priority());
  std::lock_guard lock(attributesMutex_);
  attributes_ = attributes;
  return CUDA_SUCCESS;
}

}  // namespace vg::core
