#include "core/graphs/graph_attributes.h"

#include <algorithm>
#include <iterator>

#include "backend/device.h"
#include "backend/device_side/updatable_node.h"
#include "core/contexts/context.h"
#include "core/process/device.h"
#include "core/work/launch.h"

namespace vg::core::graphs {
namespace {

bool fits(const LaunchAttributes& attributes, const backend::LaunchShape& plain) {
  const backend::LaunchShape shape = attributes.shaped(plain);
  return std::equal(std::begin(shape.grid), std::end(shape.grid), shape.cluster,
                    [](unsigned blocks, unsigned cluster) { return blocks % cluster == 0; });
}

// Lets kernels change the node, for good.
CUresult setUpdatable(KernelNode& node, const CUlaunchAttributeValue& value) {
  VG_CHECK(work::checkUpdatable(value));
  const bool on = value.deviceUpdatableKernelNode.deviceUpdatable;
  if (!on && node.updatable) return unsupported("a node that kernels may change stays so");
  if (!on || node.updatable) return CUDA_SUCCESS;
  node.updatable = backend::UpdatableNode::make();
  return CUDA_SUCCESS;
}

}  // namespace

CUresult kernelAttribute(const KernelNode& node, CUkernelNodeAttrID which, CUkernelNodeAttrValue& value) {
  VG_TRY(value, node.launch.attributes.told(which));
  if (which == CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE && node.updatable)
    value.deviceUpdatableKernelNode = {1, reinterpret_cast<CUgraphDeviceNode>(node.updatable->handle())};
  return CUDA_SUCCESS;
}

CUresult setKernelAttribute(KernelNode& node, CUkernelNodeAttrID which, CUkernelNodeAttrValue& given) {
  if (which == CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE) {
    VG_CHECK(setUpdatable(node, given));
    if (node.updatable)
      given.deviceUpdatableKernelNode.devNode = reinterpret_cast<CUgraphDeviceNode>(node.updatable->handle());
    return CUDA_SUCCESS;
  }
  CUlaunchAttribute attribute{};
  attribute.id = which;
  attribute.value = given;
  work::Launch& launch = node.launch;
  LaunchAttributes changed = launch.attributes;
  VG_CHECK(changed.set(attribute, launch.context.context->device(), LaunchAttributes::Way::Node));
  if (!fits(changed, launch.shape))
    return fail(CUDA_ERROR_INVALID_CLUSTER_SIZE, "a grid of %u x %u x %u blocks is not made of such clusters",
                launch.shape.grid[0], launch.shape.grid[1], launch.shape.grid[2]);
  launch.attributes = changed;
  return CUDA_SUCCESS;
}

}  // namespace vg::core::graphs
