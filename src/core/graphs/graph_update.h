// May an executable graph take over the parameters of a graph? Only when both have the same shape: nodes are paired
// from the last ones backwards along their dependencies, in the order in which these were added, as the vendor's driver
// pairs them. The data of edges may differ, and are taken over, too. All functions require graphs::Lock.
#pragma once

#include <cuda.h>

#include <functional>

#include "core/graphs/graph.h"

namespace vg::core::graph_update {

struct Verdict {
  CUgraphExecUpdateResult result = CU_GRAPH_EXEC_UPDATE_SUCCESS;
  GraphNode* node = nullptr;  // of the new graph
};

// `permits`: whether a node of `mine` may become one of `other` beyond what compare() asks.
using Permits = std::function<bool(const GraphNode& mine, const GraphNode& other)>;
Verdict check(const Graph& mine, const Graph& other, const Permits& permits);
// Requires: check() said yes.
void apply(Graph& mine, const Graph& other);

// Whether one node may change so. Kinds of memory and the dimensions of copies and fills stay.
CUgraphExecUpdateResult compare(const NodeParams& mine, const NodeParams& other);
// Takes the parameters over; a kernel's attributes stay.
void take(NodeParams& mine, NodeParams other);

}  // namespace vg::core::graph_update
