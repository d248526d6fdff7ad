#include "core/executables/graph_levels.h"

#include <algorithm>
#include <span>
#include <unordered_map>

namespace vg::core {
namespace {

// How many of the run's nodes stand one behind the other up to each of it.
std::unordered_map<const GraphNode*, uint32_t> depthsOf(std::span<GraphNode* const> run) {
  std::unordered_map<const GraphNode*, uint32_t> depths;
  for (const GraphNode* node : run) {
    uint32_t depth = 0;
    for (const Dependency& before : node->dependencies())
      if (const auto found = depths.find(before.node); found != depths.end())
        depth = std::max(depth, found->second + 1);
    depths.emplace(node, depth);
  }
  return depths;
}

// Kernels alone, one behind the other in an order that keeps every edge.
void placeRun(std::span<GraphNode*> run, uint32_t& last, std::vector<PlacedNode>& placed) {
  const auto depths = depthsOf(run);
  const auto depth = [&](const GraphNode* node) { return depths.at(node); };
  std::stable_sort(run.begin(), run.end(), [&](const GraphNode* a, const GraphNode* b) { return depth(a) < depth(b); });
  for (size_t i = 0; i < run.size();) {
    size_t end = i + 1;
    while (end < run.size() && depth(run[end]) == depth(run[i])) ++end;
    const uint32_t level = end - i > 1 ? ++last : 0;
    for (; i < end; ++i) placed.push_back({run[i], level});
  }
}

}  // namespace

std::vector<PlacedNode> inLevels(const Graph& graph, uint32_t& last) {
  std::vector<GraphNode*> order = graph.sorted();
  std::vector<PlacedNode> placed;
  placed.reserve(order.size());
  for (size_t i = 0; i < order.size();) {
    size_t end = i;
    while (end < order.size() && order[end]->as<KernelNode>()) ++end;
    placeRun(std::span(order).subspan(i, end - i), last, placed);
    if (end < order.size()) placed.push_back({order[end++]});
    i = end;
  }
  return placed;
}

}  // namespace vg::core
