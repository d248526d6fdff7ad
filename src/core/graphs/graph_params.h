// From nodes back to CUDA's structures, and whether two nodes do the same. All functions require graphs::Lock.
#pragma once

#include <cuda.h>

#include "core/graphs/graph.h"

namespace vg::core::graphs {

// What cuGraphNodeGetParams hands out: pointers go into the node, and stay until it changes or ends. What is only said
// when a node is made, such as who owns a child graph, is not told again.
CUgraphNodeParams paramsOf(GraphNode& node);
CUgraphNodeParams paramsOf(NodeParams& params);
// Whether nodes with these parameters do the same; of two types, never.
bool same(const NodeParams& a, const NodeParams& b);

}  // namespace vg::core::graphs
