#include "core/graphs/graph_update.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <vector>

#include "core/graphs/graph.h"

namespace vg::core {
namespace {

constexpr CUgraphEdgeData kFull{};
constexpr CUgraphEdgeData kEarly{CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC, 0, CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC, {}};

// Kernels one behind the other, by these edges.
std::vector<GraphNode*> chain(Graph& graph, std::initializer_list<CUgraphEdgeData> edges) {
  std::vector<GraphNode*> nodes = {&*graph.add(KernelNode{}, {})};
  for (const CUgraphEdgeData& data : edges) {
    const Dependency before[] = {{nodes.back(), data}};
    nodes.push_back(&*graph.add(KernelNode{}, before));
  }
  return nodes;
}

// A plan looks at the edges: with data of the old graph a kernel would begin before the one before it has ended.
TEST(GraphUpdate, EdgesGetTheDataOfTheNewGraph) {
  const graphs::Lock lock;
  Graph &mine = graphs::create(), &other = graphs::create();
  const std::vector<GraphNode*> nodes = chain(mine, {kEarly, kFull, kEarly});
  chain(other, {kFull, kEarly, kEarly});
  graph_update::apply(mine, other);
  const uint8_t wanted[] = {kFull.type, kEarly.type, kEarly.type};
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(nodes[i + 1]->dependencies().front().data.type, wanted[i]) << i;
    EXPECT_EQ(nodes[i]->dependents().front().data.type, wanted[i]) << i;
    EXPECT_EQ(mine.findEdge(*nodes[i], *nodes[i + 1])->data.from_port,
              wanted[i] ? CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC : 0)
        << i;
  }
  graphs::destroy(mine);
  graphs::destroy(other);
}

}  // namespace
}  // namespace vg::core
