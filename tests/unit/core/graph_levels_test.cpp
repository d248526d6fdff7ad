#include "core/executables/graph_levels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>
#include <memory>
#include <random>
#include <set>
#include <utility>
#include <vector>

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
  void arrange() {
    order = inLevels(graph, last, [this](const GraphNode& node) { return node.as<EmptyNode>() && emptyIsKernel; });
  }

  const graphs::Lock lock;
  Graph& graph = graphs::create();
  PlaceNumbers last;
  bool emptyIsKernel = false;
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
  EXPECT_EQ(last.level, 0u);
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
  EXPECT_EQ(last.level, kLength);
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

// A fork into chains of different lengths that meet again, and a kernel behind them.
TEST_F(GraphLevels, ChainsBeginWhereThereIsMoreThanOneWay) {
  GraphNode* const top = kernel({kernel()});
  GraphNode* const left = kernel({kernel({kernel({top})})});
  GraphNode* const right = kernel({top});
  GraphNode* const bottom = kernel({left, right});
  GraphNode* const last = kernel({bottom});
  arrange();
  const auto chain = [&](const GraphNode* node) { return placed(node)->chain; };
  EXPECT_EQ(chain(top).section, 0u);
  EXPECT_TRUE(chain(top).follows);
  EXPECT_EQ(chain(left).section, 1u);
  EXPECT_EQ(chain(right).section, 1u);
  EXPECT_NE(chain(left).chain, chain(right).chain);
  EXPECT_TRUE(chain(left).follows);
  EXPECT_FALSE(chain(right).follows);
  EXPECT_EQ(chain(bottom).section, 2u);
  EXPECT_FALSE(chain(bottom).follows);
  EXPECT_TRUE(chain(last).follows);
  EXPECT_EQ(chain(last).chain, chain(bottom).chain);
  for (const PlacedNode& one : order) EXPECT_EQ(one.chain.run, 1u);
}

// Levels are of kernels alone; chains reach past what goes as one.
TEST_F(GraphLevels, ChainsReachPastWhatGoesAsAKernel) {
  GraphNode* const first = kernel();
  GraphNode* const fill = add(EmptyNode{}, {first});
  GraphNode* const second = kernel({fill});
  arrange();
  EXPECT_EQ(placed(fill)->chain.run, 0u);
  EXPECT_NE(placed(first)->chain.run, placed(second)->chain.run);
  emptyIsKernel = true;
  arrange();
  EXPECT_EQ(placed(first)->chain.run, placed(second)->chain.run);
  EXPECT_TRUE(placed(fill)->chain.follows);
  EXPECT_TRUE(placed(second)->chain.follows);
  EXPECT_EQ(level(first), 0u);
}

// Whatever the graph, those of a section follow none of it but by their chains, and all else that they follow is of an
// earlier one.
TEST_F(GraphLevels, ChainsKeepEveryEdge) {
  std::mt19937 random(3);
  for (int round = 0; round < 50; ++round) {
    std::vector<GraphNode*> nodes;
    for (int i = 0; i < 40; ++i) {
      std::set<GraphNode*> before;
      for (unsigned k = random() % 4; k && i; --k) before.insert(nodes[nodes.size() - 1 - random() % std::min(i, 6)]);
      std::vector<Dependency> edges;
      for (GraphNode* node : before) edges.push_back({node});
      nodes.push_back(&*graph.add(KernelNode{}, edges));
    }
    arrange();
    for (const PlacedNode& one : order) {
      std::set<const GraphNode*> before;
      for (const Dependency& edge : one.node->dependencies()) before.insert(edge.node);
      EXPECT_TRUE(!one.chain.follows || before.size() == 1);
      for (const GraphNode* node : before) {
        const ChainPlace other = placed(node)->chain;
        if (one.chain.follows) {
          EXPECT_EQ(std::pair(other.section, other.chain), std::pair(one.chain.section, one.chain.chain));
          EXPECT_LT(placed(node), placed(one.node));
        } else {
          EXPECT_LT(other.section, one.chain.section);
        }
      }
    }
    for (GraphNode* node : nodes) graph.remove(*node);
  }
}

}  // namespace
}  // namespace vg::core
