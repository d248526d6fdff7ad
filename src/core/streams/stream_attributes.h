// Attributes of a stream, as cuStreamSetAttribute sets them; all but the priority, which is the stream's own.
// Thread-safe.
#pragma once

#include <cuda.h>

#include "base/result.h"
#include "base/sync/mutex.h"

namespace vg::core {

class Device;

class StreamAttributes {
 public:
  CUresult get(CUstreamAttrID which, CUstreamAttrValue* value) const;
  CUresult set(CUstreamAttrID which, const CUstreamAttrValue& value, const Device& device);
  void copyFrom(const StreamAttributes& source);

 private:
  // No policy was set: the vendor's driver answers -1.
  static constexpr auto kPolicyOfContext = static_cast<CUsynchronizationPolicy>(-1);
  struct Values {
    CUaccessPolicyWindow accessPolicy{};
    CUsynchronizationPolicy synchronizationPolicy = kPolicyOfContext;
    CUlaunchMemSyncDomainMap memSyncDomainMap{0, 1};
    CUlaunchMemSyncDomain memSyncDomain = CU_LAUNCH_MEM_SYNC_DOMAIN_DEFAULT;
  };
  Values values() const;

  mutable Mutex mutex_;
  Values values_ VG_GUARDED_BY(mutex_);
};

}  // namespace vg::core
