#include "core/graph_device_launch.h"

#include <algorithm>

#include "backend/device.h"
#include "base/raw_enum.h"
#include "core/context.h"
#include "core/function.h"
#include "core/memory_copy.h"

namespace vg::core::device_launch {
namespace {

Verdict refuse(GraphNode& node, const char* why) {
  return {fail(CUDA_ERROR_NOT_SUPPORTED, "a graph for device launch: %s", why),
          CUDA_GRAPH_INSTANTIATE_NODE_OPERATION_NOT_SUPPORTED, &node};
}

// The context that a node names; null: whichever is current.
Context* contextOf(const GraphNode& node) {
  if (const auto* kernel = node.as<KernelNode>()) return kernel->context.context;
  if (const auto* copy = node.as<MemcpyNode>()) return copy->context.context;
  if (const auto* fill = node.as<MemsetNode>()) return fill->context.context;
  return nullptr;
}

bool launchesKernels(const KernelNode& node) {
  const CUfunction function = node.params.func ? node.params.func : reinterpret_cast<CUfunction>(node.params.kern);
  Result<backend::Kernel*> kernel = resolveKernel(function, *node.context.context);
  return kernel.ok() && kernel.value()->calls().launchesKernels;
}

// Memory that the device reaches, in no array.
bool reachable(const CUDA_MEMCPY3D& copy) {
  if (rawValue(copy.srcMemoryType) == CU_MEMORYTYPE_ARRAY || rawValue(copy.dstMemoryType) == CU_MEMORYTYPE_ARRAY)
    return false;
  Result<memory::DescribedCopy> described = memory::describe(copy);
  return !described.ok() || (described.value().source && described.value().destination);  // making the plan says why
}

struct Check {
  Context* context = nullptr;  // of the nodes so far
  bool works = false;          // there is a node that does something
  Verdict verdict;

  bool pass(GraphNode& node) {
    if (const auto* child = node.as<ChildNode>()) return pass(*child->graph);
    const auto* kernel = node.as<KernelNode>();
    const auto* copy = node.as<MemcpyNode>();
    if (!kernel && !copy && !node.as<MemsetNode>()) return refused(refuse(node, "a node of another kind"));
    if (kernel && launchesKernels(*kernel)) return refused(refuse(node, "a kernel that launches kernels"));
    if (copy && !reachable(copy->copy)) return refused(refuse(node, "a copy of memory that the device does not reach"));
    Context* const own = contextOf(node);
    if (context && own && own != context)
      return refused({fail(CUDA_ERROR_NOT_SUPPORTED, "a graph for device launch: nodes of several contexts"),
                      CUDA_GRAPH_INSTANTIATE_MULTIPLE_CTXS_NOT_SUPPORTED, &node});
    if (own) context = own;
    works = true;
    return true;
  }
  bool pass(const Graph& graph) {
    return std::all_of(graph.nodes().begin(), graph.nodes().end(), [this](GraphNode* node) { return pass(*node); });
  }
  bool refused(const Verdict& found) {
    verdict = found;
    return false;
  }
};

}  // namespace

Verdict check(const Graph& graph, uint64_t flags) {
  if (flags & CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH)
    return {fail(CUDA_ERROR_INVALID_VALUE, "flags %#llx", static_cast<unsigned long long>(flags)),
            CUDA_GRAPH_INSTANTIATE_ERROR};
  Check check;
  if (!check.pass(graph)) return check.verdict;
  if (check.works) return {};
  return {fail(CUDA_ERROR_INVALID_VALUE, "a graph for device launch without a kernel, copy or fill"),
          CUDA_GRAPH_INSTANTIATE_ERROR};
}

}  // namespace vg::core::device_launch
