#include "core/contexts/device_resource.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <vector>

#include "backend/device.h"
#include "base/memory/slab.h"
#include "base/raw_enum.h"
#include "base/sync/mutex.h"
#include "core/process/device.h"
#include "core/process/driver_version.h"

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
    return fail(CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION,
                "the resource of %u multiprocessors was not made by this library", resource.sm.smCount);
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

// What is asked of one group, with the defaults filled in.
struct Structure {
  uint32_t together;  // multiprocessors that run clusters
  bool backfill;
};

constexpr unsigned kGroupFlags = CU_DEV_SM_RESOURCE_GROUP_BACKFILL | CU_DEV_SM_RESOURCE_GROUP_LOCALITY_DOMAIN_ID |
                                 CU_DEV_SM_RESOURCE_GROUP_LOCALITY_DOMAIN_SUPPLEMENTAL_SMS;

// Devices have one domain of locality, number 0.
CUresult checkDomain(const CU_DEV_SM_RESOURCE_GROUP_PARAMS& group) {
  const unsigned id = group.localityDomainId;
  const bool named = group.flags & CU_DEV_SM_RESOURCE_GROUP_LOCALITY_DOMAIN_ID;
  if (!named && (id || (group.flags & CU_DEV_SM_RESOURCE_GROUP_LOCALITY_DOMAIN_SUPPLEMENTAL_SMS)))
    return fail(CUDA_ERROR_INVALID_VALUE, "a locality domain without the flag that names one");
  if (named && id && id != CU_DEV_SM_RESOURCE_GROUP_LOCALITY_DOMAIN_ID_ANY)
    return fail(CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION, "there is no locality domain %u", id);
  return CUDA_SUCCESS;
}

Result<Structure> structureOf(const Device& device, const CU_DEV_SM_RESOURCE_GROUP_PARAMS& group) {
  const bool clusters = device.traits().computeCapability >= 90;
  const uint32_t usual = clusters ? 8 : 2, most = clusters ? 32 : 2;
  if ((group.flags & ~kGroupFlags) ||
      std::any_of(std::begin(group.reserved), std::end(group.reserved), [](unsigned word) { return word != 0; }))
    return fail(CUDA_ERROR_INVALID_VALUE, "group flags %#x, or reserved members are set", group.flags);
  VG_CHECK(checkDomain(group));
  const uint32_t together = group.coscheduledSmCount ? group.coscheduledSmCount : usual;
  const uint32_t preferred = group.preferredCoscheduledSmCount ? group.preferredCoscheduledSmCount : together;
  if (together < 2 || together > most || together % 2 || preferred % together)
    return fail(CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION, "groups of %u multiprocessors, of %u preferably", together,
                preferred);
  return Structure{together, (group.flags & CU_DEV_SM_RESOURCE_GROUP_BACKFILL) != 0};
}

// How many multiprocessors a group gets of those that are left.
Result<uint32_t> sizeOf(const Device& device, const Structure& structure, uint32_t wanted, uint32_t left) {
  const uint32_t structured =
      std::min(left / structure.together, mostGroups(device, structure.together, structure.together)) *
      structure.together;
  if (!wanted) return structure.backfill ? left / 2 * 2 : structured;
  const bool right = wanted >= 2 && wanted % 2 == 0 && (structure.backfill || wanted % structure.together == 0);
  if (right && wanted <= (structure.backfill ? left : structured)) return wanted;
  return fail(CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION, "%u multiprocessors in groups of %u, of %u that are left",
              wanted, structure.together, left);
}

CUdevResource makeQueues(const Device& device, CUdevResourceType type) {
  constexpr unsigned kQueues = 8;  // as CUDA_DEVICE_MAX_CONNECTIONS has it by default
  CUdevResource resource;
  std::memset(&resource, 0, sizeof resource);
  resource.type = type;
  const Mark mark{kSeal, device.ordinal(), 0, 0, false};
  std::memcpy(resource._internal_padding, &mark, sizeof mark);
  if (type == CU_DEV_RESOURCE_TYPE_WORKQUEUE_CONFIG)
    resource.wqConfig = {device.handle(), kQueues, CU_WORKQUEUE_SCOPE_DEVICE_CTX};
  return resource;
}

bool queues(int type) {
  return (type == CU_DEV_RESOURCE_TYPE_WORKQUEUE_CONFIG || type == CU_DEV_RESOURCE_TYPE_WORKQUEUE) && offers(13010);
}

// The device whose queues are meant. The application may change what a configuration says.
Result<int> deviceOfQueues(const CUdevResource& resource) {
  Mark mark;
  std::memcpy(&mark, resource._internal_padding, sizeof mark);
  if (mark.seal != kSeal || mark.device < 0 || mark.device >= deviceCount())
    return fail(CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION, "the work queues were not made by this library");
  if (resource.type != CU_DEV_RESOURCE_TYPE_WORKQUEUE_CONFIG) return int{mark.device};
  const CUdevWorkqueueConfigResource& wanted = resource.wqConfig;
  const int scope = rawValue(wanted.sharingScope);
  if (wanted.device != mark.device || !wanted.wqConcurrencyLimit || scope < 0 ||
      scope > CU_WORKQUEUE_SCOPE_GREEN_CTX_BALANCED)
    return fail(CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION, "work queues of device %d, %u at once, scope %d",
                wanted.device, wanted.wqConcurrencyLimit, scope);
  return int{mark.device};
}

struct Description {
  int device;
  backend::MultiprocessorSet multiprocessors;
};
constinit Slab<Description, 1 << 12> descriptions;
constinit Mutex descriptionsMutex;  // two threads do not make the same one

const Description& intern(const Description& wanted) {
  const MutexLock lock(descriptionsMutex);
  Description* found = nullptr;
  descriptions.forEach([&](Description& known) {
    if (known.device == wanted.device && known.multiprocessors == wanted.multiprocessors) found = &known;
  });
  return found ? *found : *descriptions.create(wanted);
}

}  // namespace

Result<CUdevResource> ofDevice(const Device& device, CUdevResourceType type) {
  if (queues(rawValue(type))) return makeQueues(device, type);
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

CUresult splitInGroups(const CUdevResource& input, CU_DEV_SM_RESOURCE_GROUP_PARAMS* groups, unsigned count,
                       CUdevResource* results, CUdevResource* rest) {
  VG_TRY(const Mark mark, markOf(input));
  const Device& device = deviceAt(mark.device);
  std::vector<uint32_t> sizes;
  uint32_t used = 0;
  for (unsigned i = 0; i < count; ++i) {
    VG_TRY(const Structure structure, structureOf(device, groups[i]));
    VG_TRY(const uint32_t size, sizeOf(device, structure, groups[i].smCount, mark.count - used));
    if (results && size < structure.together)
      return fail(CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION, "nothing is left for group %u", i);
    sizes.push_back(size);
    used += size;
  }
  const CUdevResource whole = input;  // the results may lie over it
  uint32_t first = mark.first;
  for (unsigned i = 0; i < count; ++i) {
    groups[i].smCount = sizes[i];
    if (results) {
      results[i] = make({kSeal, mark.device, first, sizes[i], false});
      results[i].sm.minSmPartitionSize = whole.sm.minSmPartitionSize;
      results[i].sm.smCoscheduledAlignment = structureOf(device, groups[i])->together;
      results[i].sm.flags = groups[i].flags;
    }
    first += sizes[i];
  }
  if (!rest) return CUDA_SUCCESS;
  std::memset(rest, 0, sizeof *rest);
  if (used < mark.count) *rest = make({kSeal, mark.device, first, mark.count - used, false});
  return CUDA_SUCCESS;
}

namespace {

CUresult addMultiprocessors(Description& description, const CUdevResource& part) {
  VG_TRY(const Mark mark, markOf(part));
  if (mark.first > kMostMultiprocessors || mark.count > kMostMultiprocessors - mark.first)
    return fail(CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION, "%u multiprocessors from %u on", mark.count, mark.first);
  for (uint32_t each = 0; each < mark.count; ++each) description.multiprocessors.set(mark.first + each);
  return CUDA_SUCCESS;
}

Result<int> deviceOf(const CUdevResource& part) {
  if (queues(rawValue(part.type))) return deviceOfQueues(part);
  VG_TRY(const Mark mark, markOf(part));
  return int{mark.device};
}

}  // namespace

Result<CUdevResourceDesc> describe(const CUdevResource* parts, unsigned count) {
  Description description{};
  const CUdevResource* multiprocessors = nullptr;  // the first part that has some
  unsigned queueParts = 0;
  for (unsigned i = 0; i < count; ++i) {
    VG_TRY(const int device, deviceOf(parts[i]));
    if (i && device != description.device)
      return fail(CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION, "resources of devices %d and %d", description.device,
                  device);
    description.device = device;
    if (queues(rawValue(parts[i].type))) {
      if (queueParts++) return fail(CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION, "work queues more than once");
      continue;
    }
    if (!multiprocessors) multiprocessors = &parts[i];
    if (offers(13010) && parts[i].sm.smCoscheduledAlignment != multiprocessors->sm.smCoscheduledAlignment)
      return fail(CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION, "multiprocessors in groups of %u and of %u",
                  multiprocessors->sm.smCoscheduledAlignment, parts[i].sm.smCoscheduledAlignment);
    VG_CHECK(addMultiprocessors(description, parts[i]));
  }
  if (!multiprocessors)
    for (uint32_t each = 0; each < multiprocessorsOf(deviceAt(description.device)); ++each)
      description.multiprocessors.set(each);
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
