// Executable graphs: a graph as it was when it was instantiated, the plan that runs it, and what may still be changed.
//
// An executable graph has a copy of its graph, so neither changing nor destroying that matters; nodes are named by the
// original's handles. Launches of one executable graph follow each other, whatever their streams. Handles are slots of
// a slab. All functions require graphs::Lock.
#pragma once

#include <cuda.h>

#include <memory>
#include <unordered_map>

#include "core/executables/graph_functions.h"
#include "core/executables/graph_plan.h"
#include "core/graphs/graph_update.h"

namespace vg::core {

class GraphExec {
 public:
  GraphExec(Graph& image, uint64_t flags);
  GraphExec(const GraphExec&) = delete;
  ~GraphExec();

  CUgraphExec handle() { return reinterpret_cast<CUgraphExec>(this); }
  uint64_t flags() const { return flags_; }
  const Graph& image() const { return image_; }

  // Makes the plan, so that launching need not. On failure `culprit` is the node of the original that could not be
  // done.
  CUresult prepare(const Graph& original, GraphNode** culprit);
  // It is the one executable graph of a graph that may have no other: made of it when that held already, or brought up
  // to date from it at any time, if nothing was made of it since.
  void claim(Graph& original);
  bool hasClaimed(const Graph& original) const { return originId_ == original.id(); }
  CUresult launch(Stream& stream);
  // Makes kernels find the graph as it is now, in the stream's order.
  CUresult upload(Stream& stream);

  // CUDA_ERROR_INVALID_VALUE for a node that is not in it.
  Result<GraphNode&> find(const GraphNode& original);
  // Gives a node other parameters from the next launch on. CUDA_ERROR_INVALID_VALUE when they are of another type, of
  // other dimensions or kinds of memory; CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE for a child graph of another shape.
  CUresult set(GraphNode& node, NodeParams params);
  // Kernels, copies and fills can be switched off.
  static bool canDisable(const GraphNode& node);
  bool enabled(const GraphNode& node) const { return !disabled_.contains(node.id()); }
  CUresult setEnabled(GraphNode& node, bool on);

  // cuGraphExecUpdate: all parameters from a graph of the same shape, or none.
  graph_update::Verdict update(Graph& graph);

 private:
  static CUresult failLater(Stream& stream);
  bool permits(const GraphNode& node, const NodeParams& params) const;
  graph_update::Verdict check(const Graph& mine, const Graph& other) const;
  uint64_t name() { return reinterpret_cast<uint64_t>(handle()); }  // for kernels
  bool forKernels() const { return flags_ & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH; }
  Result<GraphPlan*> makePlan(GraphNode** culprit);
  // Makes a plan unless there is one. `*stale`: memory is gone that the last one named.
  CUresult renewPlan(bool* stale);
  void keepForKernels();
  void changed(const GraphNode& node);
  void discardPlan();
  struct MemoryChange {
    std::shared_ptr<GraphMemory> memory;
    bool live;  // after the launch
  };
  Result<std::vector<MemoryChange>> memoryChanges() const;
  void index(Graph& graph);

  Graph& image_;
  const uint64_t flags_;
  const GraphFunctions functions_;
  ContextReference context_;
  std::unordered_map<uint64_t, GraphNode*> nodes_;  // by the id of the original
  std::unordered_map<uint64_t, bool> disabled_;     // ids of nodes of the image
  GraphPlan* plan_ = nullptr;                       // null: to be made
  GraphPlan* uploaded_ = nullptr;                   // that kernels launch
  Point last_;                                      // the end of the last launch
  uint64_t originId_ = 0;                           // of the graph that it has claimed
};

namespace graph_execs {

struct Instantiated {
  GraphExec* exec = nullptr;
  CUgraphInstantiateResult result = CUDA_GRAPH_INSTANTIATE_SUCCESS;
  GraphNode* culprit = nullptr;
  CUresult error = CUDA_SUCCESS;
};
Instantiated instantiate(Graph& graph, uint64_t flags);
// Whether a graph of which there may be one executable graph only has one already: that which claimed it last.
bool taken(const Graph& graph);
// CUDA_ERROR_INVALID_VALUE for unknown and stale handles.
Result<GraphExec&> find(CUgraphExec handle);
// What is queued still runs.
void destroy(GraphExec& exec);

}  // namespace graph_execs
}  // namespace vg::core
