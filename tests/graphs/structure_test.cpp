// Random changes of nodes and edges against a plain model of a graph: what every query says, what a clone has, and
// whether there is a cycle.
#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "fixture.h"

namespace {

class GraphStructure : public GraphTest, public testing::WithParamInterface<unsigned> {
 protected:
  using Edge = std::pair<CUgraphNode, CUgraphNode>;

  size_t pick(size_t below) { return random() % below; }
  CUgraphNode anyNode() { return nodes[pick(nodes.size())]; }

  void addNode() {
    std::set<CUgraphNode> before;
    for (size_t i = nodes.empty() ? 0 : pick(4); i > 0; --i) before.insert(anyNode());
    const Nodes list(before.begin(), before.end());
    CUgraphNode node = nullptr;
    ASSERT_OK(cuGraphAddEmptyNode(&node, graph, list.data(), list.size()));
    nodes.push_back(node);
    for (CUgraphNode from : before) edges.insert({from, node});
  }
  // A few edges in one call. None where one is from a node to itself; otherwise those before the first that is there
  // already, as with the vendor's driver.
  void addEdges() {
    Nodes from, to;
    std::set<Edge> after = edges;
    bool good = true, possible = true;
    for (size_t i = 1 + pick(3); i > 0; --i) {
      from.push_back(anyNode()), to.push_back(anyNode());
      possible = possible && from.back() != to.back();
      good = good && after.insert({from.back(), to.back()}).second;
    }
    const CUresult result = cuGraphAddDependencies(graph, from.data(), to.data(), nullptr, from.size());
    EXPECT_EQ(result, good && possible ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
    if (possible) edges = after;
  }
  void removeEdge() {
    Edge edge{anyNode(), anyNode()};
    if (pick(4) && !edges.empty()) edge = *std::next(edges.begin(), static_cast<long>(pick(edges.size())));
    const CUresult result = cuGraphRemoveDependencies(graph, &edge.first, &edge.second, nullptr, 1);
    EXPECT_EQ(result, edges.erase(edge) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
  }
  void removeNode() {
    const CUgraphNode node = anyNode();
    EXPECT_OK(cuGraphDestroyNode(node));
    nodes.erase(std::find(nodes.begin(), nodes.end(), node));
    std::erase_if(edges, [&](const Edge& edge) { return edge.first == node || edge.second == node; });
  }

  bool cyclic() const {
    std::map<CUgraphNode, size_t> open;
    for (const Edge& edge : edges) ++open[edge.second];
    Nodes ready;
    for (CUgraphNode node : nodes)
      if (!open.contains(node)) ready.push_back(node);
    size_t seen = 0;
    for (; seen < ready.size(); ++seen)
      for (const Edge& edge : edges)
        if (edge.first == ready[seen] && --open[edge.second] == 0) ready.push_back(edge.second);
    return seen != nodes.size();
  }

  static Nodes all(CUgraph of) {
    size_t count = 0;
    EXPECT_OK(cuGraphGetNodes(of, nullptr, &count));
    Nodes list(count);
    if (count) {
      EXPECT_OK(cuGraphGetNodes(of, list.data(), &count));
    }
    return list;
  }
  static std::set<Edge> allEdges(CUgraph of) {
    size_t count = 0;
    EXPECT_OK(cuGraphGetEdges(of, nullptr, nullptr, nullptr, &count));
    Nodes from(count), to(count);
    if (count) {
      EXPECT_OK(cuGraphGetEdges(of, from.data(), to.data(), nullptr, &count));
    }
    std::set<Edge> found;
    for (size_t i = 0; i < count; ++i) found.insert({from[i], to[i]});
    EXPECT_EQ(found.size(), count);
    return found;
  }
  template <class Query>
  static std::set<CUgraphNode> ends(Query query, CUgraphNode node) {
    size_t count = 0;
    EXPECT_OK(query(node, nullptr, nullptr, &count));
    Nodes list(count);
    if (count) {
      EXPECT_OK(query(node, list.data(), nullptr, &count));
    }
    return {list.begin(), list.end()};
  }

  void expectModel() {
    ASSERT_EQ(all(graph), nodes);
    ASSERT_EQ(allEdges(graph), edges);
    size_t roots = 0, expected = 0;
    EXPECT_OK(cuGraphGetRootNodes(graph, nullptr, &roots));
    for (CUgraphNode node : nodes) {
      std::set<CUgraphNode> before, after;
      for (const Edge& edge : edges) {
        if (edge.second == node) before.insert(edge.first);
        if (edge.first == node) after.insert(edge.second);
      }
      expected += before.empty();
      ASSERT_EQ(ends(cuGraphNodeGetDependencies, node), before);
      ASSERT_EQ(ends(cuGraphNodeGetDependentNodes, node), after);
    }
    EXPECT_EQ(roots, expected);
  }
  void expectClone() {
    CUgraph clone;
    ASSERT_OK(cuGraphClone(&clone, graph));
    std::set<Edge> translated;
    const auto inClone = [&](CUgraphNode node) {
      CUgraphNode found = nullptr;
      EXPECT_OK(cuGraphNodeFindInClone(&found, node, clone));
      return found;
    };
    for (const Edge& edge : edges) translated.insert({inClone(edge.first), inClone(edge.second)});
    EXPECT_EQ(all(clone).size(), nodes.size());
    EXPECT_EQ(allEdges(clone), translated);
    EXPECT_OK(cuGraphDestroy(clone));
  }
  void expectInstance() {
    CUgraphExec exec = nullptr;
    const CUresult result = cuGraphInstantiate(&exec, graph, 0);
    EXPECT_EQ(result, cyclic() ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS);
    if (result == CUDA_SUCCESS) {
      EXPECT_OK(cuGraphExecDestroy(exec));
    }
  }

  std::mt19937 random{GetParam()};
  Nodes nodes;
  std::set<Edge> edges;
};

TEST_P(GraphStructure, IsAsTheModelSays) {
  for (int step = 0; step < 300; ++step) {
    const size_t what = pick(10);
    if (what < 4 || nodes.empty())
      addNode();
    else if (what < 6)
      addEdges();
    else if (what < 8)
      removeEdge();
    else if (what < 9 && nodes.size() > 10)
      removeNode();
    if (step % 50 == 49) {
      expectModel();
      expectClone();
      expectInstance();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, GraphStructure, testing::Range(1u, 41u));

}  // namespace
