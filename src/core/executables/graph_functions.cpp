#include "core/executables/graph_functions.h"

#include "core/modules/kernel.h"

namespace vg::core {

backend::Kernel::Calls callsOf(const KernelNode& node) {
  const Result<backend::Kernel*> kernel = resolveKernel(node.launch.callee(), *node.launch.context.context);
  return kernel.ok() ? kernel.value()->calls() : backend::Kernel::Calls{};
}

GraphFunctions::GraphFunctions(const Graph& image, bool forKernels) : forKernels_(forKernels) { note(image); }

void GraphFunctions::note(const Graph& graph) {
  for (const GraphNode* node : graph.nodes()) {
    if (const auto* child = node->as<ChildNode>()) note(*child->graph);
    if (const auto* conditional = node->as<ConditionalNode>())
      for (const Graph* body : conditional->bodies) note(*body);
    const auto* kernel = node->as<KernelNode>();
    if (!kernel) continue;
    const backend::Kernel::Calls calls = callsOf(*kernel);
    launchGraphs_ |= calls.launchesGraphs;
    if (calls.launchesKernels || calls.updatesNodes) atBeginning_.emplace(node->id(), calls);
  }
}

bool GraphFunctions::permits(const GraphNode& node, const KernelNode& other) const {
  const backend::Kernel::Calls now = callsOf(other);
  const auto found = atBeginning_.find(node.id());
  const backend::Kernel::Calls then = found != atBeginning_.end() ? found->second : backend::Kernel::Calls{};
  return (then.launchesKernels || !now.launchesKernels) && (then.updatesNodes || !now.updatesNodes) &&
         (launchGraphs_ || forKernels_ || !now.launchesGraphs);
}

}  // namespace vg::core
