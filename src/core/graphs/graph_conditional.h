// Conditional nodes: graphs that run, or run again, depending on a value. It starts as the default of its handle in
// every run of the graph that the handle was made for, or as what it was before; kernels set it on the way.
//
// All functions require graphs::Lock.
#pragma once

#include <cuda.h>

#include "core/graphs/graph.h"

namespace vg::core::graphs {

struct Condition {
  uint64_t graph;     // id of the graph it was made for
  unsigned initial;   // at launch, with `assigned`
  bool assigned;      // CU_GRAPH_COND_ASSIGN_DEFAULT
  bool used = false;  // a node has it
};

Result<CUgraphConditionalHandle> createCondition(Graph& graph, unsigned initial, unsigned flags);
// Null for what is no handle.
const Condition* findCondition(CUgraphConditionalHandle handle);
// True when a handle of the graph has no node: such a graph cannot be instantiated.
bool hasUnusedCondition(const Graph& graph);
void dropConditions(const Graph& graph);
// The node that has the handle is destroyed.
void releaseCondition(CUgraphConditionalHandle handle);

// A node, in the graph at any depth, that bodies of conditional nodes cannot have and that one has; null when there is
// none. Such graphs cannot be instantiated.
GraphNode* misplacedInBody(const Graph& graph);

// A node with empty bodies.
Result<NodeParams> describeConditional(Graph& graph, const CUDA_CONDITIONAL_NODE_PARAMS& params);

}  // namespace vg::core::graphs
