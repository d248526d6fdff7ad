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

using ChainPlaces = std::unordered_map<const GraphNode*, ChainPlace>;

// Those of the run that a node follows, once each.
std::vector<const GraphNode*> followedBy(const GraphNode& node, const ChainPlaces& places) {
  std::vector<const GraphNode*> all;
  for (const Dependency& before : node.dependencies())
    if (places.contains(before.node) && std::find(all.begin(), all.end(), before.node) == all.end())
      all.push_back(before.node);
  return all;
}

// Adds those of a run.
void addChains(std::span<GraphNode* const> run, uint32_t number, ChainPlaces& all) {
  ChainPlaces places;
  std::unordered_map<const GraphNode*, uint32_t> followers;
  for (const GraphNode* node : run) places.emplace(node, ChainPlace{number});
  for (const GraphNode* node : run)
    for (const GraphNode* before : followedBy(*node, places)) ++followers[before];
  uint32_t chains = 0;
  for (const GraphNode* node : run) {
    const std::vector<const GraphNode*> before = followedBy(*node, places);
    ChainPlace& place = places.at(node);
    if (before.size() == 1 && followers.at(before[0]) == 1) {
      place = places.at(before[0]);
      place.follows = true;
      continue;
    }
    for (const GraphNode* one : before) place.section = std::max(place.section, places.at(one).section + 1);
    place.chain = chains++;
  }
  all.merge(places);
}

// What `is` says of neighbours, in pieces of those that are alike: visit(piece, is).
template <class Is, class Visit>
void eachPiece(std::span<GraphNode*> order, Is is, Visit visit) {
  for (size_t i = 0; i < order.size();) {
    size_t end = i + 1;
    const bool first = is(*order[i]);
    while (end < order.size() && is(*order[end]) == first) ++end;
    visit(order.subspan(i, end - i), first);
    i = end;
  }
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

std::vector<PlacedNode> inLevels(const Graph& graph, PlaceNumbers& last,
                                 const std::function<bool(const GraphNode&)>& goesAsKernel) {
  std::vector<GraphNode*> order = graph.sorted();
  const auto isKernel = [](const GraphNode& node) { return node.as<KernelNode>() != nullptr; };
  ChainPlaces chains;
  eachPiece(
      order, [&](const GraphNode& node) { return isKernel(node) || goesAsKernel(node); },
      [&](std::span<GraphNode*> run, bool are) {
        if (are) addChains(run, ++last.run, chains);
      });
  std::vector<PlacedNode> placed;
  placed.reserve(order.size());
  eachPiece(order, isKernel, [&](std::span<GraphNode*> run, bool are) {
    if (are) return placeRun(run, last.level, placed);
    for (GraphNode* node : run) placed.push_back({node});
  });
  for (PlacedNode& one : placed)
    if (const auto found = chains.find(one.node); found != chains.end()) one.chain = found->second;
  return placed;
}

}  // namespace vg::core
