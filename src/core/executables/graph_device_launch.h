// What CUDA asks of graphs with a view to launches from kernels, when they are instantiated. Requires graphs::Lock.
#pragma once

#include <cuda.h>

#include "core/graphs/graph.h"

namespace vg::core::device_launch {

struct Verdict {
  CUresult error = CUDA_SUCCESS;
  CUgraphInstantiateResult result = CUDA_GRAPH_INSTANTIATE_SUCCESS;
  GraphNode* culprit = nullptr;
};
// Whether such a graph may have this copy: of memory that the device reaches, in no array.
bool reachable(const CUDA_MEMCPY3D& copy);
// `flags` of cuGraphInstantiate; with CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH kernels are to launch the graph.
Verdict check(const Graph& graph, uint64_t flags);

}  // namespace vg::core::device_launch
