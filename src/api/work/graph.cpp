// Graphs as structures: made, copied, asked about, connected.
#include "core/graphs/graph.h"

#include <algorithm>
#include <cstdio>

#include "api/entry/call.h"
#include "core/graphs/graph_conditional.h"
#include "core/graphs/graph_dot.h"

namespace vg::handlers {
namespace {

using core::Dependency;
using core::Graph;
using core::GraphNode;
namespace graphs = core::graphs;

// The convention of all queries: without an array the number of items; with one, the first `*count` items, the rest of
// the array zero, and how many there are of those.
template <class At>
CUresult give(size_t available, size_t* count, At at) {
  const size_t room = *count;
  if (!room) return fail(CUDA_ERROR_INVALID_VALUE, "an array without room");
  for (size_t i = 0; i < room; ++i) at(i, i < available);
  if (available < room) *count = available;
  return CUDA_SUCCESS;
}

CUresult giveNodes(const std::vector<GraphNode*>& found, CUgraphNode* nodes, size_t* count) {
  if (!nodes) {
    *count = found.size();
    return CUDA_SUCCESS;
  }
  return give(found.size(), count, [&](size_t i, bool there) { nodes[i] = there ? found[i]->handle() : nullptr; });
}

// Edge data that would be lost is an error, as the driver has it.
CUresult giveEnds(const std::vector<Dependency>& found, CUgraphNode* nodes, CUgraphEdgeData* data, size_t* count) {
  if (!nodes) {
    if (data) return fail(CUDA_ERROR_INVALID_VALUE, "edge data is wanted without the nodes");
    *count = found.size();
    return CUDA_SUCCESS;
  }
  if (!data)
    for (const Dependency& end : found)
      if (!graphs::isDefault(end.data)) return fail(CUDA_ERROR_LOSSY_QUERY, "edges have data that was not asked for");
  return give(found.size(), count, [&](size_t i, bool there) {
    nodes[i] = there ? found[i].node->handle() : nullptr;
    if (data) data[i] = there ? found[i].data : CUgraphEdgeData{};
  });
}

struct Edge {
  GraphNode* from;
  GraphNode* to;
  CUgraphEdgeData data;
};

std::vector<Edge> edgesOf(const Graph& graph) {
  std::vector<Edge> edges;
  for (GraphNode* node : graph.nodes())
    for (const Dependency& after : node->dependents()) edges.push_back({node, after.node, after.data});
  return edges;
}

}  // namespace

CUresult cuGraphCreate(const Call&, CUgraph* phGraph, unsigned int flags) {
  if (!phGraph) return missing("phGraph");
  if (flags) return fail(CUDA_ERROR_INVALID_VALUE, "flags %#x", flags);
  const graphs::Lock lock;
  *phGraph = graphs::create().handle();
  return CUDA_SUCCESS;
}

CUresult cuGraphDestroy(const Call&, CUgraph hGraph) {
  const graphs::Lock lock;
  VG_TRY(Graph & graph, graphs::find(hGraph));
  if (graph.owner()) return fail(CUDA_ERROR_INVALID_VALUE, "the graph belongs to a node");
  if (graph.capturing()) return fail(CUDA_ERROR_ILLEGAL_STATE, "a stream is capturing into the graph");
  graphs::destroy(graph);
  return CUDA_SUCCESS;
}

CUresult cuGraphClone(const Call&, CUgraph* phGraphClone, CUgraph originalGraph) {
  if (!phGraphClone) return missing("phGraphClone");
  const graphs::Lock lock;
  VG_TRY(Graph & graph, graphs::find(originalGraph));
  if (graph.hasMemoryNodes()) return unsupported("a clone of a graph with memory nodes");
  if (graph.hasConditionals()) return unsupported("a clone of a graph with conditional nodes");
  if (graphs::hasUnusedCondition(graph.id()))
    return unsupported("a clone of a graph with a conditional handle of no node");
  if (graph.hasUpdatableNodes()) return unsupported("a clone of a graph with nodes that kernels may change");
  *phGraphClone = graphs::clone(graph).handle();
  return CUDA_SUCCESS;
}

CUresult cuGraphNodeFindInClone(const Call&, CUgraphNode* phNode, CUgraphNode hOriginalNode, CUgraph hClonedGraph) {
  if (!phNode) return missing("phNode");
  const graphs::Lock lock;
  *phNode = nullptr;
  VG_TRY(GraphNode & original, graphs::findNode(hOriginalNode));
  VG_TRY(Graph & clone, graphs::find(hClonedGraph));
  GraphNode* const found = clone.findClone(original.id());
  if (!found) return fail(CUDA_ERROR_INVALID_VALUE, "the graph has no clone of this node");
  *phNode = found->handle();
  return CUDA_SUCCESS;
}

CUresult cuGraphDestroyNode(const Call&, CUgraphNode hNode) {
  const graphs::Lock lock;
  VG_TRY(GraphNode & node, graphs::findNode(hNode));
  if (node.graph().hasMemoryNodes()) return unsupported("a node of a graph with memory nodes cannot be removed");
  if (graphs::updatable(node)) return unsupported("a node that kernels may change cannot be removed");
  if (const auto* conditional = node.as<core::ConditionalNode>()) graphs::releaseCondition(conditional->params.handle);
  node.graph().remove(node);
  return CUDA_SUCCESS;
}

CUresult cuGraphNodeGetType(const Call&, CUgraphNode hNode, CUgraphNodeType* type) {
  if (!type) return missing("type");
  const graphs::Lock lock;
  VG_TRY(GraphNode & node, graphs::findNode(hNode));
  *type = node.type();
  return CUDA_SUCCESS;
}

CUresult cuGraphNodeGetContainingGraph(const Call&, CUgraphNode hNode, CUgraph* phGraph) {
  if (!phGraph) return missing("phGraph");
  const graphs::Lock lock;
  VG_TRY(GraphNode & node, graphs::findNode(hNode));
  *phGraph = node.graph().handle();
  return CUDA_SUCCESS;
}

// The numbers of DOT files (core/graphs/graph_dot.cpp), where a node's is its place among those of its graph.
CUresult cuGraphNodeGetLocalId(const Call&, CUgraphNode hNode, unsigned int* nodeId) {
  if (!nodeId) return missing("nodeId");
  const graphs::Lock lock;
  VG_TRY(GraphNode & node, graphs::findNode(hNode));
  const std::vector<GraphNode*>& all = node.graph().nodes();
  *nodeId = static_cast<unsigned>(std::find(all.begin(), all.end(), &node) - all.begin());
  return CUDA_SUCCESS;
}

CUresult cuGraphNodeGetToolsId(const Call&, CUgraphNode hNode, unsigned long long* toolsNodeId) {
  if (!toolsNodeId) return missing("toolsNodeId");
  const graphs::Lock lock;
  VG_TRY(GraphNode & node, graphs::findNode(hNode));
  *toolsNodeId = node.id();
  return CUDA_SUCCESS;
}

CUresult cuGraphGetId(const Call&, CUgraph hGraph, unsigned int* graphId) {
  if (!graphId) return missing("graphId");
  const graphs::Lock lock;
  VG_TRY(Graph & graph, graphs::find(hGraph));
  *graphId = static_cast<unsigned>(graph.number());
  return CUDA_SUCCESS;
}

CUresult cuGraphGetNodes(const Call&, CUgraph hGraph, CUgraphNode* nodes, size_t* numNodes) {
  if (!numNodes) return missing("numNodes");
  const graphs::Lock lock;
  VG_TRY(Graph & graph, graphs::find(hGraph));
  return giveNodes(graph.nodes(), nodes, numNodes);
}

CUresult cuGraphGetRootNodes(const Call&, CUgraph hGraph, CUgraphNode* rootNodes, size_t* numRootNodes) {
  if (!numRootNodes) return missing("numRootNodes");
  const graphs::Lock lock;
  VG_TRY(Graph & graph, graphs::find(hGraph));
  std::vector<GraphNode*> roots;
  for (GraphNode* node : graph.nodes())
    if (node->dependencies().empty()) roots.push_back(node);
  std::reverse(roots.begin(), roots.end());  // the driver gives the newest first
  return giveNodes(roots, rootNodes, numRootNodes);
}

CUresult cuGraphGetEdges_v2(const Call&, CUgraph hGraph, CUgraphNode* from, CUgraphNode* to, CUgraphEdgeData* edgeData,
                            size_t* numEdges) {
  if (!numEdges) return missing("numEdges");
  if (!from != !to) return fail(CUDA_ERROR_INVALID_VALUE, "only one of from and to is given");
  if (!from && edgeData) return fail(CUDA_ERROR_INVALID_VALUE, "edge data is wanted without the nodes");
  const graphs::Lock lock;
  VG_TRY(Graph & graph, graphs::find(hGraph));
  if (!from) {
    *numEdges = graph.edgeCount();
    return CUDA_SUCCESS;
  }
  const std::vector<Edge> edges = edgesOf(graph);
  if (!edgeData)
    for (const Edge& edge : edges)
      if (!graphs::isDefault(edge.data)) return fail(CUDA_ERROR_LOSSY_QUERY, "edges have data that was not asked for");
  return give(edges.size(), numEdges, [&](size_t i, bool there) {
    from[i] = there ? edges[i].from->handle() : nullptr;
    to[i] = there ? edges[i].to->handle() : nullptr;
    if (edgeData) edgeData[i] = there ? edges[i].data : CUgraphEdgeData{};
  });
}

CUresult cuGraphGetEdges(const Call& call, CUgraph hGraph, CUgraphNode* from, CUgraphNode* to, size_t* numEdges) {
  return cuGraphGetEdges_v2(call, hGraph, from, to, nullptr, numEdges);
}

CUresult cuGraphNodeGetDependencies_v2(const Call&, CUgraphNode hNode, CUgraphNode* dependencies,
                                       CUgraphEdgeData* edgeData, size_t* numDependencies) {
  if (!numDependencies) return missing("numDependencies");
  const graphs::Lock lock;
  VG_TRY(GraphNode & node, graphs::findNode(hNode));
  return giveEnds(node.dependencies(), dependencies, edgeData, numDependencies);
}

CUresult cuGraphNodeGetDependencies(const Call& call, CUgraphNode hNode, CUgraphNode* dependencies,
                                    size_t* numDependencies) {
  return cuGraphNodeGetDependencies_v2(call, hNode, dependencies, nullptr, numDependencies);
}

CUresult cuGraphNodeGetDependentNodes_v2(const Call&, CUgraphNode hNode, CUgraphNode* dependentNodes,
                                         CUgraphEdgeData* edgeData, size_t* numDependentNodes) {
  if (!numDependentNodes) return missing("numDependentNodes");
  const graphs::Lock lock;
  VG_TRY(GraphNode & node, graphs::findNode(hNode));
  return giveEnds(node.dependents(), dependentNodes, edgeData, numDependentNodes);
}

CUresult cuGraphNodeGetDependentNodes(const Call& call, CUgraphNode hNode, CUgraphNode* dependentNodes,
                                      size_t* numDependentNodes) {
  return cuGraphNodeGetDependentNodes_v2(call, hNode, dependentNodes, nullptr, numDependentNodes);
}

CUresult cuGraphAddDependencies_v2(const Call&, CUgraph hGraph, const CUgraphNode* from, const CUgraphNode* to,
                                   const CUgraphEdgeData* edgeData, size_t numDependencies) {
  const graphs::Lock lock;
  VG_TRY(Graph & graph, graphs::find(hGraph));
  VG_TRY(const std::vector<Dependency> before, graphs::dependencies(from, edgeData, numDependencies));
  VG_TRY(const std::vector<Dependency> after, graphs::dependencies(to, nullptr, numDependencies));
  // As the vendor's driver does: edges that cannot be are refused with all others, one that is there already ends the
  // call, and those before it stay.
  for (size_t i = 0; i < numDependencies; ++i)
    VG_CHECK(graph.checkEdge(*before[i].node, *after[i].node, before[i].data));
  for (size_t i = 0; i < numDependencies; ++i) VG_CHECK(graph.connect(*before[i].node, *after[i].node, before[i].data));
  return CUDA_SUCCESS;
}

CUresult cuGraphAddDependencies(const Call& call, CUgraph hGraph, const CUgraphNode* from, const CUgraphNode* to,
                                size_t numDependencies) {
  return cuGraphAddDependencies_v2(call, hGraph, from, to, nullptr, numDependencies);
}

CUresult cuGraphRemoveDependencies_v2(const Call&, CUgraph hGraph, const CUgraphNode* from, const CUgraphNode* to,
                                      const CUgraphEdgeData* edgeData, size_t numDependencies) {
  const graphs::Lock lock;
  VG_TRY(Graph & graph, graphs::find(hGraph));
  if (numDependencies && graph.hasMemoryNodes())
    return unsupported("edges of a graph with memory nodes cannot be removed");
  VG_TRY(const std::vector<Dependency> before, graphs::dependencies(from, edgeData, numDependencies));
  VG_TRY(const std::vector<Dependency> after, graphs::dependencies(to, nullptr, numDependencies));
  for (size_t i = 0; i < numDependencies; ++i) VG_CHECK(graph.checkEdge(*before[i].node, *after[i].node, {}));
  // Stops at the first edge that is not there, as the driver does.
  for (size_t i = 0; i < numDependencies; ++i) VG_CHECK(graph.disconnect(*before[i].node, *after[i].node));
  return CUDA_SUCCESS;
}

CUresult cuGraphRemoveDependencies(const Call& call, CUgraph hGraph, const CUgraphNode* from, const CUgraphNode* to,
                                   size_t numDependencies) {
  return cuGraphRemoveDependencies_v2(call, hGraph, from, to, nullptr, numDependencies);
}

CUresult cuGraphDebugDotPrint(const Call&, CUgraph hGraph, const char* path, unsigned int flags) {
  if (!path) return missing("path");
  std::string text;
  {
    const graphs::Lock lock;
    VG_TRY(Graph & graph, graphs::find(hGraph));
    text = graphs::dot(graph, flags);
  }
  std::FILE* const file = std::fopen(path, "we");
  if (!file) return fail(CUDA_ERROR_OPERATING_SYSTEM, "cannot write %s", path);
  const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  const bool closed = std::fclose(file) == 0;
  return written && closed ? CUDA_SUCCESS : fail(CUDA_ERROR_OPERATING_SYSTEM, "cannot write all of %s", path);
}

}  // namespace vg::handlers
