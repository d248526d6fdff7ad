#include "core/process/newer_attributes.h"

#include <climits>

#include "core/process/device.h"
#include "core/process/driver_version.h"

namespace vg::core {
namespace {

struct Row {
  int which, since;
  int (*value)(const Device& device);
};

int no(const Device&) { return 0; }
// The whole device is one domain of locality.
int one(const Device&) { return 1; }
int everyMultiprocessor(const Device& device) { return device.attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT); }
// A thread of the host does them (core/work/memory_operations.h), which no kernel of a real GPU would notice in the
// middle.
int hostReaches(const Device& device) { return device.backend().hostAddressable() ? 1 : 0; }
// Which class of allocations a tensor map is for matters to no device.
int never(const Device&) { return INT_MAX; }

constexpr Row kRows[] = {
    {CU_DEVICE_ATTRIBUTE_ATOMIC_REDUCTION_SUPPORTED, 13010, hostReaches},
    {CU_DEVICE_ATTRIBUTE_LOCALITY_DOMAIN_COUNT, 13040, one},
    {CU_DEVICE_ATTRIBUTE_MAX_OVERSIZED_SHARED_MEMORY_PER_BLOCK, 13040, no},
    {CU_DEVICE_ATTRIBUTE_D3D12_CIG_STREAMS_SUPPORTED, 13030, no},
    {CU_DEVICE_ATTRIBUTE_DMA_BUF_MMAP_SUPPORTED, 13030, no},
    {CU_DEVICE_ATTRIBUTE_LOGICAL_ENDPOINT_UNICAST_SUPPORTED, 13030, no},
    {CU_DEVICE_ATTRIBUTE_LOGICAL_ENDPOINT_MULTICAST_SUPPORTED, 13030, no},
    {CU_DEVICE_ATTRIBUTE_LOGICAL_ENDPOINT_COUNTED_OPS_SUPPORTED, 13030, no},
    {CU_DEVICE_ATTRIBUTE_LOGICAL_ENDPOINT_UNICAST_ACCESS_ON_OWNER_DEVICE_SUPPORTED, 13030, no},
    {CU_DEVICE_ATTRIBUTE_LOCALITY_DOMAIN_MULTIPROCESSOR_COUNT, 13040, everyMultiprocessor},
    {CU_DEVICE_ATTRIBUTE_LOGICAL_ENDPOINT_SUPPORTED_HANDLE_TYPES, 13040, no},
    {CU_DEVICE_ATTRIBUTE_VULKAN_CIG_STREAMS_SUPPORTED, 13050, no},
    {CU_DEVICE_ATTRIBUTE_TENSOR_MAP_LARGE_TENSOR_MIN_SIZE, 13050, never},
    {CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_LOCALIZED_MEMORY_SUPPORTED, 13040, no},
};

}  // namespace

std::optional<int> laterAttribute(const Device& device, int which) {
  for (const Row& row : kRows)
    if (row.which == which && offers(row.since)) return row.value(device);
  return {};
}

}  // namespace vg::core
