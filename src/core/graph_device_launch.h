// What CUDA asks of a graph that kernels may launch, beyond what it asks of every graph. Requires graphs::Lock.
#pragma once

#include <cuda.h>

#include "core/graph.h"

namespace vg::core::device_launch {

struct Verdict {
  CUresult error = CUDA_SUCCESS;
  CUgraphInstantiateResult result = CUDA_GRAPH_INSTANTIATE_SUCCESS;
  GraphNode* culprit = nullptr;
};
// For cuGraphInstantiate with CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH.
Verdict check(const Graph& graph, uint64_t flags);

}  // namespace vg::core::device_launch
