// Which kernels of a graph may run side by side: no edge orders them, and nothing else lies between them. Told in two
// ways. By level: kernels that all begin when all of the level before have ended. By chain: kernels of which each has
// no follower but the next, which follows nothing else. Chains of a section run side by side, and begin when all of the
// section before have ended. Kernels, and what goes as one, are a run when nothing else is between them; it has
// sections of its own.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "core/graphs/graph.h"

namespace vg::core {

struct ChainPlace {
  uint32_t run = 0;  // 0: neither a kernel nor what goes as one
  uint32_t section = 0, chain = 0;
  bool follows = false;  // another of its chain
};
struct PlacedNode {
  GraphNode* node = nullptr;
  uint32_t level = 0;  // of several kernels that may run side by side, which stand together; 0: of nothing else
  ChainPlace chain{};  // of a chain, each stands behind those that it follows
};
// What was given out last.
struct PlaceNumbers {
  uint32_t level = 0, run = 0;
};
// The nodes in an order that keeps every edge. Levels and runs are counted on. `goesAsKernel`: of nodes that are none.
// Requires: no cycle, and graphs::Lock.
std::vector<PlacedNode> inLevels(const Graph& graph, PlaceNumbers& last,
                                 const std::function<bool(const GraphNode&)>& goesAsKernel);

}  // namespace vg::core
