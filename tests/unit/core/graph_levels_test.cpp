#include "core/executables/graph_levels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>
#include <memory>

namespace vg::core {
namespace {

struct GraphLevels : ::testing::Test {
  ~GraphLevels() override { graphs::destroy(graph); }

  GraphNode* add(NodeParams params, std::initializer_list<GraphNode*> before) {
    std::vector<Dependency> edges;
    for (GraphNode* node : before) edges.push_back({node});
    return &*graph.add(std::move(params), edges);
  }
  GraphNode* kernel(std::initializer_list<GraphNode*> before = {}) { return add(KernelNode{}, before); }
  // Where the node stands, and its level.
  PlacedNode* placed(const GraphNode* node) {
    const auto found =
        std::find_if(order.begin(), order.end(), [&](const PlacedNode& one) { return one.node == node; });
    return found == order.end() ? nullptr : &*found;
  }
  uint32_t level(const GraphNode* node) { return placed(node)->level; }
  void arrange() { order = inLevels(graph, last); }

  const graphs::Lock lock;
  Graph& graph = graphs::create();
  uint32_t last = 0;
  std::vector<PlacedNode> order;
};

TEST_F(GraphLevels, OfADiamondIsOneOfItsTwoSides) {
  GraphNode* const top = kernel();
  GraphNode* const left = kernel({top});
  GraphNode* const right = kernel({top});
  GraphNode* const bottom = kernel({left, right});
  arrange();
  EXPECT_EQ(level(top), 0u);
  EXPECT_NE(level(left), 0u);
  EXPECT_EQ(level(left), level(right));
  EXPECT_EQ(level(bottom), 0u);
  EXPECT_EQ(placed(bottom), &order.back());
}

TEST_F(GraphLevels, AreNoneInAChain) {
  GraphNode* before = kernel();
  for (int i = 0; i < 10; ++i) before = kernel({before});
  arrange();
  EXPECT_EQ(order.size(), 11u);
  for (const PlacedNode& one : order) EXPECT_EQ(one.level, 0u);
  EXPECT_EQ(last, 0u);
}

TEST_F(GraphLevels, BringKernelsOfSeveralChainsTogether) {
  constexpr size_t kChains = 3, kLength = 4;
  GraphNode* nodes[kChains][kLength];
  for (auto& chain : nodes)
    for (size_t i = 0; i < kLength; ++i) chain[i] = i ? kernel({chain[i - 1]}) : kernel();
  arrange();
  for (size_t i = 0; i < kLength; ++i)
    for (const auto& chain : nodes) {
      EXPECT_EQ(level(chain[i]), level(nodes[0][i]));
      EXPECT_EQ(static_cast<size_t>(placed(chain[i]) - order.data()) / kChains, i);
    }
  EXPECT_EQ(last, kLength);
}

TEST_F(GraphLevels, DoNotReachPastWhatIsNoKernel) {
  GraphNode* const first = kernel();
  GraphNode* const empty = add(EmptyNode{}, {});
  GraphNode* const second = kernel();
  GraphNode* const third = kernel();
  arrange();
  EXPECT_EQ(level(first), 0u);
  EXPECT_EQ(level(empty), 0u);
  EXPECT_NE(level(second), 0u);
  EXPECT_EQ(level(second), level(third));
}

TEST_F(GraphLevels, AreCountedOn) {
  kernel();
  kernel();
  arrange();
  EXPECT_EQ(order[0].level, 1u);
  arrange();
  EXPECT_EQ(order[0].level, 2u);
}

}  // namespace
}  // namespace vg::core
