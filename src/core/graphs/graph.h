// Graphs: nodes and the edges between them, as the application or a stream capture builds them. What a graph does when
// it is launched is core/executables/graph_exec.h.
//
// Handles of graphs and nodes are slots of slabs; stale and foreign handles are found out. One lock guards all graphs
// of the process (`graphs::Lock`): building graphs is no hot path, and nodes of several graphs meet in clones, child
// graphs and updates. It is taken after the locks of contexts, streams and captures; the application is never called
// while it is held.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "core/graphs/graph_node.h"

namespace vg::core {

class UserObject;

// All functions require graphs::Lock.
class Graph {
 public:
  Graph(uint64_t id, uint64_t number) : id_(id), number_(number) {}
  Graph(const Graph&) = delete;
  ~Graph();

  CUgraph handle() { return reinterpret_cast<CUgraph>(this); }
  uint64_t id() const { return id_; }          // unique in the process
  uint64_t number() const { return number_; }  // counts graphs from 1, for DOT files
  uint64_t origin() const { return origin_; }  // in a clone: the id of the original

  // Appends a node that comes after `dependencies`. CUDA_ERROR_INVALID_VALUE as of checkDependencies. The parameters
  // are taken as they are: who calls has checked them.
  Result<GraphNode&> add(NodeParams params, std::span<const Dependency> dependencies);
  // CUDA_ERROR_INVALID_VALUE for a node of another graph, for one that is named twice, and for edge data that does not
  // go with the node.
  CUresult checkDependencies(std::span<const Dependency> dependencies) const;
  // Takes a node and its edges away; a child graph of it ends too. Requires: the node is of this graph.
  void remove(GraphNode& node);

  // CUDA_ERROR_INVALID_VALUE when both are one node, when a node is not of this graph, or for edge data that does not
  // go with the nodes.
  CUresult checkEdge(GraphNode& from, GraphNode& to, const CUgraphEdgeData& data);
  // Adds the edge from -> to. The same errors, and CUDA_ERROR_INVALID_VALUE when it exists.
  CUresult connect(GraphNode& from, GraphNode& to, const CUgraphEdgeData& data = {});
  // Takes the edge away, whatever its data. CUDA_ERROR_INVALID_VALUE when there is none.
  CUresult disconnect(GraphNode& from, GraphNode& to);
  const Dependency* findEdge(const GraphNode& from, const GraphNode& to) const;
  // The node's edges to those before it get the data of the other's. Requires: as many, in the same order.
  static void takeEdgeData(GraphNode& node, const GraphNode& other);

  const std::vector<GraphNode*>& nodes() const { return nodes_; }  // in the order in which they were added
  size_t edgeCount() const;
  // Nodes so that every node comes after those it depends on; among equals in the order of adding, but those that wait
  // for something outside as late as may be. Fewer than all when there is a cycle.
  std::vector<GraphNode*> sorted() const;
  // Marks all nodes that come before one with these dependencies, until the next call (GraphNode::marked()).
  static void markBefore(std::span<const Dependency> dependencies);
  // The node that was copied from the one with this id, or null.
  GraphNode* findClone(uint64_t origin) const;

  // The node that owns this graph, as a child or as the body of a conditional; null for a graph of the application.
  GraphNode* owner() const { return owner_; }
  void setOwner(GraphNode* node) { owner_ = node; }
  // Whether this is the other graph or one that nodes of it own, at any depth.
  bool isInside(const Graph& other) const;

  // While a stream captures into the graph it must not be destroyed or instantiated.
  bool capturing() const { return capturing_; }
  void setCapturing(bool on) { capturing_ = on; }

  // True when it or a child graph has nodes that allocate or free; and, as the vendor's driver has it, from the first
  // attempt to add one, unless that was of memory that no graph can have.
  bool hasMemoryNodes() const;
  void noteMemoryNodes() { memoryAsked_ = true; }
  bool hasConditionals() const;
  // True when it has kernel nodes that kernels may change; or it or a graph that a node of it owns.
  bool hasUpdatableNodes() const;
  bool hasUpdatableNodesInside() const;

  // Copies nodes and edges of `source` into this empty graph, child graphs too; user objects are referenced again.
  // Nodes that kernels may change are the same ones for them.
  void copyFrom(const Graph& source);

  // References to user objects (core/graphs/user_object.h).
  std::unordered_map<UserObject*, uint64_t> userObjects;
  // True when there may be no more than one executable graph of it at a time.
  bool sole() const { return hasMemoryNodes() || hasUpdatableNodes() || hasConditionals(); }
  // The last that claimed it (GraphExec::claim); it may have ended since, or belong to another graph.
  CUgraphExec latest = nullptr;
  void forgetLatest() { latest = nullptr; }

 private:
  friend struct GraphLife;
  const uint64_t id_, number_;
  uint64_t origin_ = 0;
  std::vector<GraphNode*> nodes_;
  GraphNode* owner_ = nullptr;
  bool capturing_ = false;
  bool memoryAsked_ = false;
};

// All functions but Lock's require graphs::Lock.
namespace graphs {

// The one lock of all graphs. User objects whose last reference went away meanwhile are destroyed after it is given up:
// that calls the application.
class Lock {
 public:
  Lock();
  ~Lock();
  Lock(const Lock&) = delete;
};

// A new empty graph. Throws std::bad_alloc.
Graph& create();
// CUDA_ERROR_INVALID_VALUE for null, foreign and stale handles.
Result<Graph&> find(CUgraph handle);
Result<GraphNode&> findNode(CUgraphNode handle);
// Gives up what the graph holds of user objects.
void releaseUserObjects(Graph& graph);
// Ends a graph with its nodes and child graphs.
void destroy(Graph& graph);
// A copy of the graph and its child graphs whose nodes know their originals.
Graph& clone(const Graph& source);
// Whether it is a kernel node that kernels may change.
bool updatable(const GraphNode& node);

// The dependencies that a call named: `nodes` has `count` handles, `data` as many or is null. CUDA_ERROR_INVALID_VALUE
// for null arrays, unknown nodes and unknown edge data.
Result<std::vector<Dependency>> dependencies(const CUgraphNode* nodes, const CUgraphEdgeData* data, size_t count);
// CUDA_ERROR_INVALID_VALUE for ports, types and reserved bytes that mean nothing.
CUresult checkEdgeData(const CUgraphEdgeData& data);
bool isDefault(const CUgraphEdgeData& data);

}  // namespace graphs
}  // namespace vg::core
