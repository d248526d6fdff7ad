#include "core/work/launch_attributes.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <tuple>

#include "base/raw_enum.h"
#include "core/process/device.h"
#include "core/process/driver_version.h"
#include "core/streams/priorities.h"

namespace vg::core {
namespace {

using Value = CUlaunchAttributeValue;

CUresult unknown(int id) { return fail(CUDA_ERROR_INVALID_VALUE, "launch attribute %d is not known", id); }

// Of advice: the values that it may have.
CUresult within(int id, int64_t value, int64_t most) {
  if (value >= 0 && value <= most) return CUDA_SUCCESS;
  return fail(CUDA_ERROR_INVALID_VALUE, "launch attribute %d is %lld", id, static_cast<long long>(value));
}

template <class Given, class Kept>
CUresult storeWithin(int id, Given value, int64_t most, Kept& to) {
  VG_CHECK(within(id, static_cast<int>(value), most));
  to = value;
  return CUDA_SUCCESS;
}

template <class Event>
CUresult storeEvent(const Event& from, const char* kind, CUevent& to, int& flags) {
  to = from.event;
  flags = from.flags;
  return to ? CUDA_SUCCESS : fail(CUDA_ERROR_INVALID_HANDLE, "a %s event that is null", kind);
}

template <class Dimension>
CUresult storeDimension(const Dimension& from, uint32_t (&to)[3]) {
  const bool none = !from.x && !from.y && !from.z;
  if (!none && !(from.x && from.y && from.z))
    return fail(CUDA_ERROR_INVALID_CLUSTER_SIZE, "clusters of %u x %u x %u blocks", from.x, from.y, from.z);
  to[0] = from.x;
  to[1] = from.y;
  to[2] = from.z;
  return CUDA_SUCCESS;
}

// What only launches have, or only nodes, as the vendor's driver answers for each.
bool knows(int id, LaunchAttributes::Way way) {
  switch (id) {
    case CU_LAUNCH_ATTRIBUTE_IGNORE:
    case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION:
    case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT:
    case CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT:
    case CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION:
      return way == LaunchAttributes::Way::Launch;
    case CU_LAUNCH_ATTRIBUTE_PORTABLE_CLUSTER_SIZE_MODE:
    case CU_LAUNCH_ATTRIBUTE_SHARED_MEMORY_MODE:
      return offers(13020);
    default:  // among those that nobody knows: CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, which only streams have
      return true;
  }
}

}  // namespace

// As recorded, any number is a property but for the one that misses cannot have.
CUresult checkAccessPolicy(const CUaccessPolicyWindow& window, const Device& device) {
  if (!(window.hitRatio >= 0 && window.hitRatio <= 1))
    return fail(CUDA_ERROR_INVALID_VALUE, "hit ratio %g is not in 0 .. 1", double{window.hitRatio});
  if (rawValue(window.missProp) == CU_ACCESS_PROPERTY_PERSISTING)
    return fail(CUDA_ERROR_INVALID_VALUE, "misses cannot persist");
  const auto most = static_cast<size_t>(device.attribute(CU_DEVICE_ATTRIBUTE_MAX_ACCESS_POLICY_WINDOW_SIZE));
  if (window.num_bytes > most)
    return fail(CUDA_ERROR_INVALID_VALUE, "a window of %zu bytes; the device allows %zu", window.num_bytes, most);
  return CUDA_SUCCESS;
}

CUresult checkDomainMap(const CUlaunchMemSyncDomainMap& map, const Device& device) {
  constexpr int kMost = 4;  // that a device has; one that has fewer is asked no less
  const int domains = std::max(device.attribute(CU_DEVICE_ATTRIBUTE_MEM_SYNC_DOMAIN_COUNT), kMost);
  if (std::max(map.default_, map.remote) < domains) return CUDA_SUCCESS;
  return fail(CUDA_ERROR_INVALID_VALUE, "memory synchronisation domains %u and %u", map.default_, map.remote);
}

CUresult checkDomain(int domain) {
  if (domain == CU_LAUNCH_MEM_SYNC_DOMAIN_DEFAULT || domain == CU_LAUNCH_MEM_SYNC_DOMAIN_REMOTE) return CUDA_SUCCESS;
  return fail(CUDA_ERROR_INVALID_VALUE, "memory synchronisation domain %d", domain);
}

CUresult LaunchAttributes::set(const CUlaunchAttribute& attribute, const Device& device, Way way) {
  const int id = rawValue(attribute.id);
  if (!knows(id, way)) return unknown(id);
  VG_CHECK(keep(attribute, device, way));
  given_ |= 1u << id;
  return CUDA_SUCCESS;
}

CUresult LaunchAttributes::keep(const CUlaunchAttribute& attribute, const Device& device, Way way) {
  const Value& value = attribute.value;
  switch (const int id = rawValue(attribute.id)) {
    case CU_LAUNCH_ATTRIBUTE_IGNORE:
    case CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE:  // of nodes: their own business
      return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
      VG_CHECK(checkAccessPolicy(value.accessPolicyWindow, device));
      accessPolicy_ = value.accessPolicyWindow;
      return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:  // launches keep a byte of it
      cooperative_ = way == Way::Launch ? value.cooperative & 0xff : value.cooperative;
      return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
      return storeDimension(value.clusterDim, cluster_);
    case CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION:
      return storeDimension(value.preferredClusterDim, preferredCluster_);
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE: {
      const int policy = rawValue(value.clusterSchedulingPolicyPreference);
      if (way == Way::Launch) VG_CHECK(within(id, policy, CU_CLUSTER_SCHEDULING_POLICY_LOAD_BALANCING));
      clusterScheduling_ = policy;
      return CUDA_SUCCESS;
    }
    // A grid of the emulated device is over when the next in its stream begins, which is all that programmatic
    // serialisation may rely on.
    case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION:
      programmatic_ = value.programmaticStreamSerializationAllowed != 0;
      return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT:
      return storeEvent(value.programmaticEvent, "programmatic", event_, eventFlags_);
    case CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT:
      return storeEvent(value.launchCompletionEvent, "launch completion", event_, eventFlags_);
    case CU_LAUNCH_ATTRIBUTE_PRIORITY:
      priority_ = std::clamp(value.priority, streams::kGreatestPriority, streams::kLeastPriority);
      return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
      VG_CHECK(checkDomainMap(value.memSyncDomainMap, device));
      domainMap_ = value.memSyncDomainMap;
      return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
      VG_CHECK(checkDomain(rawValue(value.memSyncDomain)));
      domain_ = rawValue(value.memSyncDomain);
      return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
      return storeWithin(id, value.sharedMemCarveout, CU_SHAREDMEM_CARVEOUT_MAX_SHARED, sharedCarveout_);
    case CU_LAUNCH_ATTRIBUTE_NVLINK_UTIL_CENTRIC_SCHEDULING:
      return storeWithin(id, value.nvlinkUtilCentricScheduling, 1, nvlinkScheduling_);
    // Which sizes of clusters and of shared memory a device takes is the same for all that are there.
    case CU_LAUNCH_ATTRIBUTE_PORTABLE_CLUSTER_SIZE_MODE:
      return storeWithin(id, rawValue(value.portableClusterSizeMode),
                         CU_LAUNCH_PORTABLE_CLUSTER_MODE_ALLOW_NON_PORTABLE, clusterSizeMode_);
    case CU_LAUNCH_ATTRIBUTE_SHARED_MEMORY_MODE:
      return storeWithin(id, rawValue(value.sharedMemoryMode), CU_SHARED_MEMORY_MODE_PREFER_OVERSIZED_SHARED_MEMORY,
                         sharedMemoryMode_);
    default:
      return unknown(id);
  }
}

CUresult LaunchAttributes::inherit(const CUlaunchAttribute& attribute, const Device& device) {
  return given(attribute.id) ? CUDA_SUCCESS : keep(attribute, device, Way::Launch);
}

void LaunchAttributes::spreadClusters() {
  if (!clusterScheduling_) clusterScheduling_ = CU_CLUSTER_SCHEDULING_POLICY_SPREAD;
}

Result<CUlaunchAttributeValue> LaunchAttributes::told(CUlaunchAttributeID which) const {
  Value value{};
  switch (const int id = rawValue(which)) {
    case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
      value.accessPolicyWindow = accessPolicy_;
      return value;
    case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
      value.cooperative = cooperative_;
      return value;
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
      value.clusterDim = {cluster_[0], cluster_[1], cluster_[2]};
      return value;
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
      value.clusterSchedulingPolicyPreference = static_cast<CUclusterSchedulingPolicy>(clusterScheduling_);
      return value;
    case CU_LAUNCH_ATTRIBUTE_PRIORITY:
      value.priority = priority_;
      return value;
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
      value.memSyncDomainMap = domainMap_;
      return value;
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
      value.memSyncDomain = static_cast<CUlaunchMemSyncDomain>(domain_);
      return value;
    case CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
      value.sharedMemCarveout = sharedCarveout_;
      return value;
    case CU_LAUNCH_ATTRIBUTE_PORTABLE_CLUSTER_SIZE_MODE:
      if (!offers(13020)) return unknown(id);
      value.portableClusterSizeMode = static_cast<decltype(value.portableClusterSizeMode)>(clusterSizeMode_);
      return value;
    case CU_LAUNCH_ATTRIBUTE_SHARED_MEMORY_MODE:
      if (!offers(13020)) return unknown(id);
      value.sharedMemoryMode = static_cast<decltype(value.sharedMemoryMode)>(sharedMemoryMode_);
      return value;
    case CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE:  // the node says more
      return value;
    default:
      return fail(CUDA_ERROR_INVALID_VALUE, "kernel nodes cannot report attribute %d", id);
  }
}

bool LaunchAttributes::operator==(const LaunchAttributes& other) const {
  const auto all = [](const LaunchAttributes& a) {
    const CUaccessPolicyWindow& window = a.accessPolicy_;
    return std::tuple(a.given_, window.base_ptr, window.num_bytes, window.hitRatio, window.hitProp, window.missProp,
                      a.cooperative_, std::to_array(a.cluster_), std::to_array(a.preferredCluster_),
                      a.clusterScheduling_, a.priority_, a.domainMap_.default_, a.domainMap_.remote, a.domain_,
                      a.sharedCarveout_, a.nvlinkScheduling_, a.clusterSizeMode_, a.sharedMemoryMode_, a.programmatic_,
                      a.event_, a.eventFlags_);
  };
  return all(*this) == all(other);
}

backend::LaunchShape LaunchAttributes::shaped(backend::LaunchShape shape) const {
  shape.cooperative |= cooperative();
  shape.programmatic = programmatic_;
  if (given(CU_LAUNCH_ATTRIBUTE_PRIORITY)) shape.priority = static_cast<int8_t>(priority_);
  if (cluster_[0]) {
    std::copy(std::begin(cluster_), std::end(cluster_), shape.cluster);
    shape.clustered = true;
  }
  return shape;
}

CUresult LaunchAttributes::checkClusters(const Device& device) const {
  constexpr int kPreferredClusters = 100;  // the compute capability that has them
  if (!preferredCluster_[0] || device.traits().computeCapability >= kPreferredClusters) return CUDA_SUCCESS;
  return fail(CUDA_ERROR_INVALID_CLUSTER_SIZE, "preferred clusters, before compute capability 10.0");
}

}  // namespace vg::core
