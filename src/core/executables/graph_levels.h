// Which kernels of a graph may run side by side: no edge orders them, and nothing else lies between them.
#pragma once

#include <cstdint>
#include <vector>

#include "core/graphs/graph.h"

namespace vg::core {

struct PlacedNode {
  GraphNode* node = nullptr;
  uint32_t level = 0;  // of several kernels that may run side by side, which stand together; 0: of nothing else
};
// The nodes in an order that keeps every edge. Levels are counted on from `last`. Requires: no cycle, and graphs::Lock.
std::vector<PlacedNode> inLevels(const Graph& graph, uint32_t& last);

}  // namespace vg::core
