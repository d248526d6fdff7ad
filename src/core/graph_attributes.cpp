// Launch attributes of kernel nodes.
#include <algorithm>
#include <array>

#include "backend/device.h"
#include "backend/updatable_node.h"
#include "base/raw_enum.h"
#include "core/context.h"
#include "core/device.h"
#include "core/graph_describe.h"
#include "core/stream.h"

namespace vg::core::graphs {
namespace {

// Those that kernel nodes have, as the driver answers for each.
constexpr std::array kReadable = {
    CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW,
    CU_LAUNCH_ATTRIBUTE_COOPERATIVE,
    CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
    CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE,
    CU_LAUNCH_ATTRIBUTE_PRIORITY,
    CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP,
    CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN,
    CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE,
    CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT,
};

bool readable(int which) { return std::find(kReadable.begin(), kReadable.end(), which) != kReadable.end(); }

CUresult unknown(int which) { return fail(CUDA_ERROR_INVALID_VALUE, "kernel nodes have no attribute %d", which); }

auto find(auto& attributes, int which) {
  return std::find_if(attributes.begin(), attributes.end(), [&](const auto& a) { return rawValue(a.id) == which; });
}

}  // namespace

CUresult kernelAttribute(const KernelNode& node, CUkernelNodeAttrID which, CUkernelNodeAttrValue& value) {
  const int id = rawValue(which);
  if (!readable(id)) return unknown(id);
  value = {};
  if (id == CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP) value.memSyncDomainMap = {0, 1};
  if (const auto found = find(node.attributes, id); found != node.attributes.end()) value = found->value;
  if (id == CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE && node.updatable)
    value.deviceUpdatableKernelNode = {1, reinterpret_cast<CUgraphDeviceNode>(node.updatable->handle())};
  return CUDA_SUCCESS;
}

CUresult setUpdatable(KernelNode& node, int on) {
  if (on != 0 && on != 1) return fail(CUDA_ERROR_INVALID_VALUE, "deviceUpdatable is %d", on);
  if (!on && node.updatable) return unsupported("a node that kernels may change stays so");
  if (!on || node.updatable) return CUDA_SUCCESS;
  node.updatable = backend::UpdatableNode::make();
  return CUDA_SUCCESS;
}

CUresult setKernelAttribute(KernelNode& node, CUkernelNodeAttrID which, CUkernelNodeAttrValue& given) {
  const int id = rawValue(which);
  if (id == CU_LAUNCH_ATTRIBUTE_NVLINK_UTIL_CENTRIC_SCHEDULING) return CUDA_SUCCESS;  // can be set, not read
  if (!readable(id)) return unknown(id);
  CUlaunchAttribute attribute{};
  attribute.id = which;
  attribute.value = given;
  if (id == CU_LAUNCH_ATTRIBUTE_PRIORITY)
    attribute.value.priority = std::clamp(given.priority, streams::kGreatestPriority, streams::kLeastPriority);
  if (id == CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE) {
    VG_CHECK(setUpdatable(node, given.deviceUpdatableKernelNode.deviceUpdatable));
    if (node.updatable)
      given.deviceUpdatableKernelNode.devNode = reinterpret_cast<CUgraphDeviceNode>(node.updatable->handle());
    return CUDA_SUCCESS;
  }
  if (id == CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW) {
    const float ratio = given.accessPolicyWindow.hitRatio;
    if (!(ratio >= 0.0F && ratio <= 1.0F)) return fail(CUDA_ERROR_INVALID_VALUE, "hit ratio %g", double{ratio});
  }
  if (id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) {
    const auto& c = given.clusterDim;
    const auto fits = [](unsigned grid, unsigned cluster) { return cluster && grid % cluster == 0; };
    const bool none = !c.x && !c.y && !c.z;
    const auto& p = node.params;
    if (!none && !(fits(p.gridDimX, c.x) && fits(p.gridDimY, c.y) && fits(p.gridDimZ, c.z)))
      return fail(CUDA_ERROR_INVALID_CLUSTER_SIZE, "clusters of %u x %u x %u blocks", c.x, c.y, c.z);
  }
  const auto found = find(node.attributes, id);
  if (found != node.attributes.end())
    *found = attribute;
  else
    node.attributes.push_back(attribute);
  return CUDA_SUCCESS;
}

}  // namespace vg::core::graphs
