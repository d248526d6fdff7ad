#include "core/executables/graph_device_launch.h"

#include <algorithm>

#include "base/raw_enum.h"
#include "core/contexts/context.h"
#include "core/executables/graph_functions.h"
#include "core/memory/memory.h"
#include "core/work/copy.h"

namespace vg::core::device_launch {
namespace {

Verdict refuse(GraphNode& node, const char* why) {
  return {fail(CUDA_ERROR_INVALID_VALUE, "%s", why), CUDA_GRAPH_INSTANTIATE_NODE_OPERATION_NOT_SUPPORTED, &node};
}

// The context that a node names; null: whichever is current.
Context* contextOf(const GraphNode& node) {
  if (const auto* kernel = node.as<KernelNode>()) return kernel->launch.context.context;
  if (const auto* copy = node.as<work::Copy>()) return copy->context.context;
  if (const auto* fill = node.as<work::Fill>()) return fill->context.context;
  return nullptr;
}

// Managed memory counts as the host's where it is called so.
bool managedAsHost(CUmemorytype type, const void* host) {
  if (rawValue(type) != CU_MEMORYTYPE_HOST) return false;
  const alloc::Record* const record = memory::lookup(reinterpret_cast<CUdeviceptr>(host));
  return record && record->kind.load(std::memory_order_relaxed) == alloc::Kind::Managed;
}

}  // namespace

bool reachable(const CUDA_MEMCPY3D& copy) {
  if (rawValue(copy.srcMemoryType) == CU_MEMORYTYPE_ARRAY || rawValue(copy.dstMemoryType) == CU_MEMORYTYPE_ARRAY)
    return false;
  if (managedAsHost(copy.srcMemoryType, copy.srcHost) || managedAsHost(copy.dstMemoryType, copy.dstHost)) return false;
  Result<memory::DescribedCopy> described = memory::describe(copy);
  return !described.ok() || (described.value().source && described.value().destination);  // making the plan says why
}

namespace {

struct Check {
  Context* context = nullptr;  // of the nodes so far
  bool works = false;          // there is a node that does something
  Verdict verdict;

  bool pass(GraphNode& node) {
    if (const auto* child = node.as<ChildNode>()) return pass(*child->graph);
    const auto* kernel = node.as<KernelNode>();
    const auto* copy = node.as<work::Copy>();
    if (!kernel && !copy && !node.as<work::Fill>())
      return refused(refuse(node, "a graph for device launch has a node of another kind"));
    if (kernel && callsOf(*kernel).launchesKernels)
      return refused(refuse(node, "a graph for device launch has a kernel that launches kernels"));
    if (copy && !reachable(copy->box))
      return refused(refuse(node, "a graph for device launch copies memory that the device does not reach"));
    Context* const own = contextOf(node);
    if (context && own && own != context)
      return refused({fail(CUDA_ERROR_INVALID_VALUE, "a graph for device launch: nodes of several contexts"),
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

Verdict checkForHost(const Graph& graph, bool body) {
  for (GraphNode* node : graph.nodes()) {
    Verdict inside;
    if (const auto* child = node->as<ChildNode>()) inside = checkForHost(*child->graph, body);
    if (const auto* conditional = node->as<ConditionalNode>())
      for (const Graph* each : conditional->bodies)
        if (inside.error == CUDA_SUCCESS) inside = checkForHost(*each, true);
    if (const auto* kernel = node->as<KernelNode>(); kernel && body && callsOf(*kernel).launchesKernels)
      inside = refuse(*node, "the body of a conditional node has a kernel that launches kernels");
    if (inside.error != CUDA_SUCCESS) return inside;
  }
  return {};
}

Verdict checkForKernels(const Graph& graph, uint64_t flags) {
  if (flags & CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH)
    return {fail(CUDA_ERROR_INVALID_VALUE, "flags %#llx", static_cast<unsigned long long>(flags)),
            CUDA_GRAPH_INSTANTIATE_ERROR};
  Check check;
  if (!check.pass(graph)) return check.verdict;
  if (check.works) return {};
  return {fail(CUDA_ERROR_INVALID_VALUE, "a graph for device launch without a kernel, copy or fill"),
          CUDA_GRAPH_INSTANTIATE_ERROR};
}

}  // namespace

Verdict check(const Graph& graph, uint64_t flags) {
  return flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH ? checkForKernels(graph, flags) : checkForHost(graph, false);
}

}  // namespace vg::core::device_launch
