// From CUDA's structures to the parameters of nodes: everything is checked here, once for adding a node, for setting
// its parameters, and for doing so in an executable graph.
//
// Errors: CUDA_ERROR_INVALID_VALUE for null structures and bad members, CUDA_ERROR_INVALID_CONTEXT for contexts that
// are none, and what the same work answers in a stream. All functions require graphs::Lock.
#pragma once

#include <cuda.h>

#include "core/graphs/graph.h"

namespace vg::core::graphs {

Result<NodeParams> describe(const CUDA_KERNEL_NODE_PARAMS_v2* params);
Result<NodeParams> describe(const CUDA_MEMCPY3D* copy, CUcontext context);
Result<NodeParams> describe(const CUDA_MEMSET_NODE_PARAMS* fill, CUcontext context);
Result<NodeParams> describe(const CUDA_HOST_NODE_PARAMS* params);
Result<NodeParams> describe(const CUDA_BATCH_MEM_OP_NODE_PARAMS* params);
Result<NodeParams> describe(const CUDA_EXT_SEM_SIGNAL_NODE_PARAMS* params);
Result<NodeParams> describe(const CUDA_EXT_SEM_WAIT_NODE_PARAMS* params);
// Copies between pointers, as cuMemcpyBatchAsync checks them.
Result<NodeParams> describe(const CUDA_MEMCPY_BATCH_NODE_PARAMS* params);
Result<NodeParams> describeRecord(CUevent event);
Result<NodeParams> describeWait(CUevent event);
// A copy of the graph; the graph itself with `moved`.
Result<NodeParams> describeChild(Graph& parent, CUgraph child, bool moved = false);
// Any type, for a node that is to be added with these dependencies; alloc.dptr is set.
Result<NodeParams> describe(CUgraphNodeParams& params, Graph& parent, const std::vector<Dependency>& dependencies);
// The same for a node that is there: CUDA_ERROR_INVALID_VALUE for another type, CUDA_ERROR_NOT_SUPPORTED for nodes with
// memory or bodies.
Result<NodeParams> describeForSet(const CUgraphNodeParams& params, const GraphNode& node);
// The version of these calls from 13.4 on: host functions, records and batches of copies name a context, green ones
// too, which must be there. CUDA_ERROR_INVALID_CONTEXT otherwise.
CUresult checkContexts(const CUgraphNodeParams& params);
// What the call that adds a node writes into the caller's structure.
void giveBack(const GraphNode& node, CUgraphNodeParams& params);
// Gives a node other parameters of its type; what it owned before ends.
void replace(GraphNode& node, NodeParams params);

// What get-params hands out: addresses into the node, which stay until it changes.
CUDA_KERNEL_NODE_PARAMS_v2 kernelParams(const KernelNode& node);

}  // namespace vg::core::graphs
