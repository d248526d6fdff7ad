#include "core/graphs/graph_conditional.h"

#include <optional>

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

// How many bodies of conditional nodes there are between the graph and the one with this id; nothing where that is not
// around it.
std::optional<unsigned> bodiesBetween(const Graph& graph, uint64_t id) {
  unsigned bodies = 0;
  for (const Graph* here = &graph; here->id() != id; here = &here->owner()->graph()) {
    if (!here->owner()) return std::nullopt;
    bodies += here->owner()->as<ConditionalNode>() != nullptr;
  }
  return bodies;
}

}  // namespace

GraphNode* misplacedInBody(const Graph& graph) { return misplaced(graph, false); }

Result<NodeParams> describeConditional(Graph& graph, const CUDA_CONDITIONAL_NODE_PARAMS& params) {
  constexpr unsigned kMost = 4096;  // bodies
  const int type = rawValue(params.type);
  if (!sizeFits(type, params.size) || params.size > kMost)
    return fail(CUDA_ERROR_INVALID_VALUE, "a conditional node of type %d with %u bodies", type, params.size);
  const Condition* const found = findCondition(params.handle);
  const std::optional<unsigned> inside = found ? bodiesBetween(graph, found->graph) : std::nullopt;
  if (!inside || found->used)
    return fail(CUDA_ERROR_INVALID_VALUE, "the conditional handle is used already or of another graph");
  VG_CHECK(contextOf(params.ctx));
  ConditionalNode node{.params = params, .initial = found->initial, .assigned = found->assigned, .inside = *inside};
  for (unsigned i = 0; i < params.size; ++i) node.bodies.push_back(&create());
  useCondition(params.handle);
  return NodeParams(std::move(node));
}

}  // namespace vg::core::graphs
