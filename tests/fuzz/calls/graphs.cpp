// Graphs: their nodes and edges, clones, user objects, and what is asked about them.
#include "graphs.h"

#include <algorithm>

#include "families.h"

namespace calls {

Slots<CUgraph, 4> graphs{"graph"};
Slots<CUgraphExec, 3> executables{"executable"};

namespace {

constexpr size_t kMostNodes = 128;  // more than a sequence makes

std::vector<CUgraphNode> nodesOfSlot[4];
CUdeviceptr allocations[4];
CUuserObject userObject;

void createGraph() {
  const int slot = graphs.unused();
  if (slot < 0) return;
  CUgraph graph = nullptr;
  if (RECORD(cuGraphCreate, &graph, given("flags", mostly(95, {0u}, {1u}))) == CUDA_SUCCESS) keepGraph(slot, graph, {});
}

void destroyGraph(const Named<CUgraph>& graph) {
  if (chance(80)) return;
  if (RECORD(cuGraphDestroy, given("graph", graph)) == CUDA_SUCCESS) graphs.remove(graph);
}

void cloneGraph(const Named<CUgraph>& graph) {
  const int slot = graphs.unused();
  if (slot < 0) return;
  CUgraph clone = nullptr;
  if (RECORD(cuGraphClone, &clone, given("graph", graph))) return;
  std::vector<CUgraphNode> nodes;
  for (CUgraphNode node : NodesOf(graph).all()) {
    CUgraphNode found = nullptr;
    if (CALL(cuGraphNodeFindInClone, &found, node, clone) == CUDA_SUCCESS) nodes.push_back(found);
  }
  output("found", nodes.size());
  keepGraph(slot, clone, std::move(nodes));
}

void changeEdges(const Named<CUgraph>& graph) {
  const NodesOf nodes(graph);
  if (nodes.all().size() < 2) return;
  const size_t count = 1 + below(2);
  CUgraphNode from[2], to[2];
  CUgraphEdgeData data[2]{};
  std::string drawn;
  for (size_t i = 0; i < count; ++i) {
    const Node first = nodes.any(), second = nodes.any();
    from[i] = first.object;
    to[i] = second.object;
    drawn += first.name + ">" + second.name + ";";
  }
  const bool withData = chance(20);
  if (withData) {
    data[0].type = static_cast<unsigned char>(below(3));
    data[0].from_port = static_cast<unsigned char>(below(4));
    data[0].to_port = mostly<unsigned char>(90, {0}, {1});
    drawn += list(int{data[0].type}, int{data[0].from_port}, int{data[0].to_port});
  }
  describe("edges", drawn);
  const CUgraphEdgeData* const edges = withData ? data : nullptr;
  if (chance(40))
    RECORD(cuGraphRemoveDependencies, graph.object, from, to, edges, count);
  else
    RECORD(cuGraphAddDependencies, graph.object, from, to, edges, count);
}

void askNodes(const Named<CUgraph>& graph) {
  CUgraphNode found[kMostNodes];
  size_t count = kMostNodes;
  CUresult result;
  if (chance(50))
    result = RECORD(cuGraphGetNodes, given("graph", graph), found, &count);
  else
    result = RECORD(cuGraphGetRootNodes, given("graph", graph), found, &count);
  if (result == CUDA_SUCCESS) output("nodes", NodesOf(graph).namesOf(found, std::min(count, kMostNodes)));
}

void askEdges(const Named<CUgraph>& graph) {
  CUgraphNode from[kMostNodes] = {}, to[kMostNodes] = {};
  CUgraphEdgeData data[kMostNodes] = {};
  size_t count = given("room", chance(80) ? kMostNodes : below(5));
  const size_t room = count;
  if (RECORD(cuGraphGetEdges, given("graph", graph), from, to, out("data", data, 30), &count)) return;
  std::vector<std::string> edges;
  const NodesOf nodes(graph);
  for (size_t i = 0; i < std::min(count, room); ++i)
    edges.push_back(nodes.nameOf(from[i]) + ">" + nodes.nameOf(to[i]) + ":" + text(int{data[i].type}));
  std::sort(edges.begin(), edges.end());
  std::string all;
  for (const std::string& edge : edges) all += edge + ";";
  output("count", count);
  output("edges", all);
}

void askNeighbours(const Named<CUgraph>& graph) {
  const NodesOf nodes(graph);
  const Node node = nodes.any();
  if (!node) return;
  CUgraphNode found[kMostNodes] = {};
  CUgraphEdgeData data[kMostNodes];
  size_t count = given("room", chance(70) ? kMostNodes : below(3));
  const size_t room = count;
  CUresult result;
  if (chance(50))
    result = RECORD(cuGraphNodeGetDependencies, given("node", node), found, data, &count);
  else
    result = RECORD(cuGraphNodeGetDependentNodes, given("node", node), found, data, &count);
  output("count", count);
  if (result == CUDA_SUCCESS) output("nodes", nodes.namesOf(found, std::min(count, room)));
}

void destroyNode(const Named<CUgraph>& graph) {
  const Node node = NodesOf(graph).any();
  if (!node || chance(50)) return;
  if (RECORD(cuGraphDestroyNode, given("node", node)) == CUDA_SUCCESS) forgetNode(graph, node.object);
}

// References that are never all given up: what is destroyed ends.
void useUserObject(const Named<CUgraph>& graph) {
  constexpr unsigned kHeld = 100;
  const auto count = given("count", mostly(90, {1u, 2u}, {0u}));
  if (!userObject) {
    RECORD(cuUserObjectCreate, &userObject, static_cast<void*>(nullptr), wrong("no function", 5) ? nullptr : doNothing,
           count, given("flags", mostly(85, {1u}, {0u, 2u})));
    if (userObject) CALL(cuUserObjectRetain, userObject, kHeld);
    return;
  }
  switch (below(4)) {
    case 0:
      RECORD(cuUserObjectRetain, userObject, count);
      return;
    case 1:
      RECORD(cuUserObjectRelease, userObject, count);
      return;
    case 2:
      RECORD(cuGraphRetainUserObject, given("graph", graph), userObject, count,
             given("flags", mostly(80, {0u}, {1u, 2u})));
      return;
    default:
      RECORD(cuGraphReleaseUserObject, given("graph", graph), userObject, count);
  }
}

void useGraphMemory(const Named<CUgraph>&) {
  const auto device = given("device", mostly(95, {0}, {1}));
  cuuint64_t value = 0;
  switch (below(3)) {
    case 0:  // how much is the library's affair
      RECORD(cuDeviceGetGraphMemAttribute, device,
             givenAs<CUgraphMem_attribute>("attribute", mostly(93, {0, 1, 2, 3}, {4})), static_cast<void*>(&value));
      return;
    case 1:
      value = given("value", below(3));
      RECORD(cuDeviceSetGraphMemAttribute, device,
             givenAs<CUgraphMem_attribute>("attribute", mostly(93, {0, 1, 2, 3}, {4})), static_cast<void*>(&value));
      return;
    default:
      RECORD(cuDeviceGraphMemTrim, device);
  }
}

}  // namespace

void CUDA_CB doNothing(void*) {}

CUgraphNode given(const char* name, const Node& node) {
  describe(name, node.name);
  describe("type", text(node.type));
  return node.object;
}

Node NodesOf::any() const {
  if (all().empty()) return {};
  Node node{all()[below(all().size())], {}, {}};
  node.name = nameOf(node.object);
  CALL(cuGraphNodeGetType, node.object, &node.type);
  return node;
}

Node NodesOf::likely(CUgraphNodeType type) const {
  Node node = any();
  for (int tries = chance(80) ? 8 : 0; tries > 0 && node && node.type != type; --tries) node = any();
  return node;
}

std::vector<CUgraphNode>& NodesOf::all() const { return nodesOfSlot[graph_.slot]; }

std::string NodesOf::nameOf(CUgraphNode node) const {
  const auto found = std::find(all().begin(), all().end(), node);
  if (!node) return "none";
  return found == all().end() ? "another" : graph_.name + "." + std::to_string(found - all().begin());
}

std::string NodesOf::namesOf(const CUgraphNode* nodes, size_t count) const {
  std::string names;
  for (size_t i = 0; i < count; ++i) names += nameOf(nodes[i]) + ",";
  return names;
}

Dependencies givenDependencies(const NodesOf& nodes) {
  Dependencies dependencies;
  std::string drawn;
  dependencies.count = nodes.all().empty() ? 0 : below(3);
  for (size_t i = 0; i < dependencies.count; ++i) {
    const Node node = nodes.any();
    dependencies.nodes[i] = node.object;
    drawn += node.name + ",";
  }
  describe("after", drawn);
  return dependencies;
}

void keepGraph(int slot, CUgraph graph, std::vector<CUgraphNode> nodes) {
  graphs.put(slot, graph);
  nodesOfSlot[slot] = std::move(nodes);
  allocations[slot] = 0;
}

void forgetNode(const Named<CUgraph>& graph, CUgraphNode node) { std::erase(nodesOfSlot[graph.slot], node); }

CUdeviceptr& allocationOf(const Named<CUgraph>& graph) { return allocations[graph.slot]; }

void callGraphs() {
  const Named<CUgraph> graph = graphs.any();
  if (!graph || chance(4)) return createGraph();
  using Ask = void (*)(const Named<CUgraph>&);
  const Ask ask = oneOf<Ask>({destroyGraph, cloneGraph, changeEdges, changeEdges, askNodes, askEdges, askNeighbours,
                              destroyNode, useUserObject, useGraphMemory, nullptr, nullptr, nullptr, nullptr, nullptr});
  if (ask)
    ask(graph);
  else
    callGraphNodes();
}

void releaseGraphs() {
  executables.releaseAll([](CUgraphExec executable) { CALL(cuGraphExecDestroy, executable); });
  graphs.releaseAll([](CUgraph graph) { CALL(cuGraphDestroy, graph); });
  if (userObject) CALL(cuUserObjectRelease, userObject, 1);
  userObject = nullptr;
  CALL(cuDeviceGraphMemTrim, 0);
}

}  // namespace calls
