#include "core/device_resource.h"

#include <algorithm>
#include <cstring>
#include <mutex>

#include "backend/device.h"
#include "base/slab.h"
#include "core/device.h"

namespace vg::core::resources {
namespace {

constexpr uint64_t kSeal = 0x76657264'69677269;  // any value that memory hardly ever holds
constexpr auto kMostMultiprocessors = static_cast<uint32_t>(backend::kMostMultiprocessors);

// What stands in a resource's private bytes.
struct Mark {
  uint64_t seal;
  int32_t device;         // ordinal
  uint32_t first, count;  // multiprocessors
  bool whole;             // may be split
};
static_assert(sizeof(Mark) <= sizeof(CUdevResource::_internal_padding));

// In how many multiprocessors a device of this generation can be divided: the least that a part has is also what its
// size is a multiple of. `alone`: when nobody asks for blocks that run together.
struct Granularity {
  uint32_t least, multiple, alone;
};

Granularity granularityOf(const Device& device) {
  const int capability = device.traits().computeCapability;
  if (capability >= 90) return {8, 8, 2};
  if (capability >= 80) return {4, 2, 2};
  if (capability >= 70) return {2, 2, 2};
  return {1, 1, 1};
}

uint32_t multiprocessorsOf(const Device& device) {
  return static_cast<uint32_t>(device.attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT));
}

CUdevResource make(const Mark& mark) {
  CUdevResource resource;
  std::memset(&resource, 0, sizeof resource);
  resource.type = CU_DEV_RESOURCE_TYPE_SM;
  resource.sm.smCount = mark.count;
  std::memcpy(resource._internal_padding, &mark, sizeof mark);
  return resource;
}

Result<Mark> markOf(const CUdevResource& resource) {
  if (resource.type != CU_DEV_RESOURCE_TYPE_SM)
    return fail(CUDA_ERROR_INVALID_RESOURCE_TYPE, "resource type %d", static_cast<int>(resource.type));
  Mark mark;
  std::memcpy(&mark, resource._internal_padding, sizeof mark);
  if (mark.seal != kSeal || mark.count != resource.sm.smCount || mark.device < 0 || mark.device >= deviceCount())
    return fail(CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION, "the resource of %u multiprocessors is none of this library",
                resource.sm.smCount);
  return mark;
}

// A group of the least size has its multiprocessors from one group of those that run clusters together.
uint32_t mostGroups(const Device& device, uint32_t size, uint32_t unit) {
  const std::vector<uint32_t>& together = device.traits().clusterGroups;
  if (size != unit || unit != granularityOf(device).least || together.empty()) return multiprocessorsOf(device) / size;
  uint32_t groups = 0;
  for (const uint32_t neighbours : together) groups += neighbours / size;
  return groups;
}

struct Description {
  int device;
  backend::MultiprocessorSet multiprocessors;
};
constinit Slab<Description, 1 << 12> descriptions;
constinit std::mutex descriptionsMutex;  // two threads do not make the same one

const Description& intern(const Description& wanted) {
  std::lock_guard lock(descriptionsMutex);
  Description* found = nullptr;
  descriptions.forEach([&](Description& known) {
    if (known.device == wanted.device && known.multiprocessors == wanted.multiprocessors) found = &known;
  });
  return found ? *found : *descriptions.create(wanted);
}

}  // namespace

Result<CUdevResource> ofDevice(const Device& device, CUdevResourceType type) {
  if (type != CU_DEV_RESOURCE_TYPE_SM)
    return fail(CUDA_ERROR_INVALID_RESOURCE_TYPE, "devices have no resource of type %d", static_cast<int>(type));
  CUdevResource resource = make({kSeal, device.ordinal(), 0, multiprocessorsOf(device), true});
  resource.sm.minSmPartitionSize = granularityOf(device).least;
  resource.sm.smCoscheduledAlignment = granularityOf(device).multiple;
  return resource;
}

CUdevResource part(const Device& device, uint32_t count) {
  CUdevResource resource = make({kSeal, device.ordinal(), 0, count, count == multiprocessorsOf(device)});
  resource.sm.minSmPartitionSize = granularityOf(device).least;
  resource.sm.smCoscheduledAlignment = granularityOf(device).multiple;
  return resource;
}

Result<Split> split(const CUdevResource& input, uint32_t wanted, unsigned flags, uint32_t least) {
  constexpr unsigned kBoth =
      CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING | CU_DEV_SM_RESOURCE_SPLIT_MAX_POTENTIAL_CLUSTER_SIZE;
  if ((flags & kBoth) == kBoth) return fail(CUDA_ERROR_INVALID_VALUE, "split flags %#x exclude each other", flags);
  VG_TRY(const Mark mark, markOf(input));
  if (!mark.whole) return fail(CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION, "a part of a device cannot be split again");
  if (least > mark.count)
    return fail(CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION, "groups of %u of %u multiprocessors", least, mark.count);
  const Device& device = deviceAt(mark.device);
  const Granularity granularity = granularityOf(device);
  const bool alone = flags & CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING;
  const uint32_t unit = alone ? granularity.alone : granularity.multiple;
  const uint32_t atLeast = std::max(least, alone ? granularity.alone : granularity.least);
  const uint32_t size = std::min((atLeast + unit - 1) / unit * unit, mark.count);
  const uint32_t groups = std::min(wanted, mostGroups(device, size, unit));
  return Split{groups, size, mark.count - groups * size};
}

CUdevResource group(const CUdevResource& input, const Split& split, uint32_t index) {
  Mark mark;
  std::memcpy(&mark, input._internal_padding, sizeof mark);
  return make({kSeal, mark.device, index * split.size, split.size, false});
}

CUdevResource rest(const CUdevResource& input, const Split& split) {
  CUdevResource resource;
  std::memset(&resource, 0, sizeof resource);
  if (!split.left) return resource;
  Mark mark;
  std::memcpy(&mark, input._internal_padding, sizeof mark);
  return make({kSeal, mark.device, split.groups * split.size, split.left, false});
}

Result<CUdevResourceDesc> describe(const CUdevResource* parts, unsigned count) {
  Description description{};
  for (unsigned i = 0; i < count; ++i) {
    VG_TRY(const Mark mark, markOf(parts[i]));
    if (i && mark.device != description.device)
      return fail(CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION, "resources of devices %d and %d", description.device,
                  mark.device);
    description.device = mark.device;
    if (mark.first > kMostMultiprocessors || mark.count > kMostMultiprocessors - mark.first)
      return fail(CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION, "%u multiprocessors from %u on", mark.count, mark.first);
    for (uint32_t each = 0; each < mark.count; ++each) description.multiprocessors.set(mark.first + each);
  }
  return reinterpret_cast<CUdevResourceDesc>(const_cast<Description*>(&intern(description)));
}

Result<const backend::MultiprocessorSet&> multiprocessors(const Device& device, CUdevResourceDesc description) {
  if (!description) {
    Description all{device.ordinal(), {}};
    for (uint32_t each = 0; each < multiprocessorsOf(device); ++each) all.multiprocessors.set(each);
    return intern(all).multiprocessors;
  }
  const Description* found = descriptions.find(description);
  if (!found) return fail(CUDA_ERROR_INVALID_VALUE, "%p is no description", static_cast<void*>(description));
  if (found->device != device.ordinal())
    return fail(CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION, "the description is of device %d, not %d", found->device,
                device.ordinal());
  return found->multiprocessors;
}

}  // namespace vg::core::resources
