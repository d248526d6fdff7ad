// What the nodes of a graph do, as data: the work of streams (core/work/work.h), and what only graphs have. A node owns
// all it needs; `NodeParams` has its alternatives in the order of CUgraphNodeType, so the index is the type.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.h"
#include "core/process/thread_state.h"
#include "core/work/work.h"

namespace vg::backend {
class UpdatableNode;
}

namespace vg::core {

class Graph;

// Each number once in the process, from 1.
uint64_t nextVersion();

// A launch as a node.
struct KernelNode {
  work::Launch launch;
  // Of a node that kernels may change; shared with its counterpart in the executable graph.
  std::shared_ptr<backend::UpdatableNode> updatable;
  uint64_t version = nextVersion();  // of what the host has made of it
  // What get-params hands out: the address of each argument. Made by whoever asks first.
  mutable std::vector<void*> argumentAddresses;
};

// Another graph as one node; the node owns it.
struct ChildNode {
  Graph* graph = nullptr;
  bool moved = false;  // CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE
};

struct EmptyNode {};

struct SemaphoreSignalNode {
  std::vector<CUexternalSemaphore> semaphores;
  std::vector<CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS> params;
};

struct SemaphoreWaitNode {
  std::vector<CUexternalSemaphore> semaphores;
  std::vector<CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS> params;
};

class GraphMemory;  // core/graphs/graph_memory.h

struct MemAllocNode {
  CUDA_MEM_ALLOC_NODE_PARAMS params{};  // accessDescs unused
  std::vector<CUmemAccessDesc> access;
  std::shared_ptr<GraphMemory> memory;
};

struct ConditionalNode {
  CUDA_CONDITIONAL_NODE_PARAMS params{};  // phGraph_out is set by who hands it out
  std::vector<Graph*> bodies;             // owned by the node
  unsigned initial = 0;                   // value of the handle when the graph that it was made for begins,
  bool assigned = false;                  // if it has one
  unsigned inside = 0;                    // bodies of conditional nodes between that graph and the node
  mutable std::vector<CUgraph> handles;   // of the bodies, as phGraph_out shows them
};

using NodeParams = std::variant<KernelNode, work::Copy, work::Fill, work::HostCall, ChildNode, EmptyNode, work::Wait,
                                work::Record, SemaphoreSignalNode, SemaphoreWaitNode, MemAllocNode, work::Free,
                                work::MemoryOperations, ConditionalNode, work::CopyBatch>;
static_assert(std::variant_size_v<NodeParams> == CU_GRAPH_NODE_TYPE_MEMCPY_BATCH + 1);
static_assert(
    std::is_same_v<std::variant_alternative_t<CU_GRAPH_NODE_TYPE_BATCH_MEM_OP, NodeParams>, work::MemoryOperations>);

class GraphNode;

// One end of an edge and what the edge says.
struct Dependency {
  GraphNode* node = nullptr;
  CUgraphEdgeData data{};
};

class GraphNode {
 public:
  GraphNode(Graph& graph, uint64_t id, NodeParams params) : graph_(&graph), id_(id), params(std::move(params)) {}
  GraphNode(const GraphNode&) = delete;

  CUgraphNode handle() { return reinterpret_cast<CUgraphNode>(this); }
  Graph& graph() const { return *graph_; }
  CUgraphNodeType type() const { return static_cast<CUgraphNodeType>(params.index()); }
  template <class Node>
  Node* as() {
    return std::get_if<Node>(&params);
  }
  template <class Node>
  const Node* as() const {
    return std::get_if<Node>(&params);
  }

  // Unique in the process, never used twice.
  uint64_t id() const { return id_; }
  // In a clone: the id of the node that this one was copied from; 0 otherwise.
  uint64_t origin() const { return origin_; }

  bool marked() const;  // by Graph::markBefore

  const std::vector<Dependency>& dependencies() const { return dependencies_; }  // nodes that come before
  const std::vector<Dependency>& dependents() const { return dependents_; }      // nodes that come after

 private:
  friend class Graph;

  Graph* const graph_;
  const uint64_t id_;
  uint64_t origin_ = 0;
  std::vector<Dependency> dependencies_, dependents_;
  // While nodes are being sorted: dependencies not seen yet. While they are copied: the copy's place.
  mutable size_t scratch_ = 0;
  mutable uint64_t mark_ = 0;  // the last round of markBefore() that met it

 public:
  NodeParams params;
  uint64_t capture = 0;  // the capture that it is work of; 0: the application added it
};

}  // namespace vg::core
