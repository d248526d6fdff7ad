// Conditional nodes: graphs that run, or run again, depending on a value. Its handle is of the graph with the node or
// of one around that. It starts as the default of its handle in every run of the graph that the handle was made for, or
// as what it was before; kernels set it on the way.
//
// All functions require graphs::Lock.
#pragma once

#include <cuda.h>

#include "core/graphs/graph.h"
#include "core/graphs/graph_conditions.h"

namespace vg::core::graphs {

// A node, in the graph at any depth, that bodies of conditional nodes cannot have and that one has; null when there is
// none. Such graphs cannot be instantiated.
GraphNode* misplacedInBody(const Graph& graph);

// A node with empty bodies.
Result<NodeParams> describeConditional(Graph& graph, const CUDA_CONDITIONAL_NODE_PARAMS& params);

}  // namespace vg::core::graphs
