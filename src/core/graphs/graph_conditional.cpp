#include "core/graphs/graph_conditional.h"

#include "base/raw_enum.h"
#include "core/contexts/named_context.h"

namespace vg::core::graphs {
namespace {

bool sizeFits(int type, unsigned size) {
  switch (type) {
    case CU_GRAPH_COND_TYPE_IF:
      return size == 1 || size == 2;  // the second body is the other branch
    case CU_GRAPH_COND_TYPE_WHILE:
      return size == 1;
    case CU_GRAPH_COND_TYPE_SWITCH:
      return size >= 1;
    default:
      return false;
  }
}

bool fitsBody(const GraphNode& node) {
  switch (node.type()) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
    case CU_GRAPH_NODE_TYPE_MEMCPY:
    case CU_GRAPH_NODE_TYPE_MEMSET:
    case CU_GRAPH_NODE_TYPE_GRAPH:
    case CU_GRAPH_NODE_TYPE_EMPTY:
    case CU_GRAPH_NODE_TYPE_CONDITIONAL:
      return true;
    default:
      return false;
  }
}

GraphNode* misplaced(const Graph& graph, bool inBody) {
  for (GraphNode* node : graph.nodes()) {
    if (inBody && !fitsBody(*node)) return node;
    if (const auto* child = node->as<ChildNode>())
      if (GraphNode* inside = misplaced(*child->graph, inBody)) return inside;
    if (const auto* conditional = node->as<ConditionalNode>())
      for (const Graph* body : conditional->bodies)
        if (GraphNode* inside = misplaced(*body, true)) return inside;
  }
  return nullptr;
}

}  // namespace

GraphNode* misplacedInBody(const Graph& graph) { return misplaced(graph, false); }

Result<NodeParams> describeConditional(Graph& graph, const CUDA_CONDITIONAL_NODE_PARAMS& params) {
  constexpr unsigned kMost = 4096;  // bodies
  const int type = rawValue(params.type);
  if (!sizeFits(type, params.size) || params.size > kMost)
    return fail(CUDA_ERROR_INVALID_VALUE, "a conditional node of type %d with %u bodies", type, params.size);
  const Condition* const found = findCondition(params.handle);
  if (!found || found->used || found->graph != graph.id())
    return fail(CUDA_ERROR_INVALID_VALUE, "the conditional handle is used already or of another graph");
  VG_CHECK(contextOf(params.ctx));
  ConditionalNode node{params, {}};
  for (unsigned i = 0; i < params.size; ++i) node.bodies.push_back(&create());
  useCondition(params.handle);
  return NodeParams(std::move(node));
}

}  // namespace vg::core::graphs
