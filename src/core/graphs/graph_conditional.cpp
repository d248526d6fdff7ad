#include "core/graphs/graph_conditional.h"

#include <map>

#include "backend/condition_table.h"
#include "base/raw_enum.h"
#include "core/graphs/graph_describe.h"

namespace vg::core::graphs {
namespace {

std::map<CUgraphConditionalHandle, Condition>& conditions() {
  static auto* const map = new std::map<CUgraphConditionalHandle, Condition>;  // never destroyed
  return *map;
}
constinit CUgraphConditionalHandle lastHandle = 0;

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

Result<CUgraphConditionalHandle> createCondition(Graph& graph, unsigned initial, unsigned flags) {
  VG_CHECK(backend::conditions::add(lastHandle + 1));
  conditions().emplace(++lastHandle, Condition{graph.id(), initial, (flags & CU_GRAPH_COND_ASSIGN_DEFAULT) != 0});
  return lastHandle;
}

const Condition* findCondition(CUgraphConditionalHandle handle) {
  const auto found = conditions().find(handle);
  return found == conditions().end() ? nullptr : &found->second;
}

bool hasUnusedCondition(const Graph& graph) {
  for (const auto& [handle, condition] : conditions())
    if (condition.graph == graph.id() && !condition.used) return true;
  return false;
}

void releaseCondition(CUgraphConditionalHandle handle) {
  if (const auto found = conditions().find(handle); found != conditions().end()) found->second.used = false;
}

// Of a graph that goes, so nothing may fail here.
void dropConditions(const Graph& graph) {
  try {
    std::erase_if(conditions(), [&](const auto& entry) { return entry.second.graph == graph.id(); });
  } catch (const std::bad_alloc&) {  // not even the table was made before
  }
}

Result<NodeParams> describeConditional(Graph& graph, const CUDA_CONDITIONAL_NODE_PARAMS& params) {
  constexpr unsigned kMost = 4096;  // bodies
  const int type = rawValue(params.type);
  if (!sizeFits(type, params.size) || params.size > kMost)
    return fail(CUDA_ERROR_INVALID_VALUE, "a conditional node of type %d with %u bodies", type, params.size);
  const auto found = conditions().find(params.handle);
  if (found == conditions().end() || found->second.used || found->second.graph != graph.id())
    return fail(CUDA_ERROR_INVALID_VALUE, "the conditional handle is used already or of another graph");
  VG_CHECK(contextOf(params.ctx));
  ConditionalNode node{params, {}};
  for (unsigned i = 0; i < params.size; ++i) node.bodies.push_back(&create());
  found->second.used = true;
  return NodeParams(std::move(node));
}

}  // namespace vg::core::graphs
