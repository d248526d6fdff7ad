// Nodes of graphs: added, asked for their parameters, given others. Three verbs for every kind of node; what the
// parameters must be is in core/graphs/graph_describe.
#include <cstring>

#include "api/entry/call.h"
#include "base/raw_enum.h"
#include "core/contexts/context.h"
#include "core/contexts/current_context.h"
#include "core/contexts/named_context.h"
#include "core/graphs/graph_attributes.h"
#include "core/graphs/graph_conditional.h"
#include "core/graphs/graph_describe.h"
#include "core/graphs/graph_memory.h"
#include "core/graphs/graph_params.h"

namespace vg::handlers {
namespace {

using namespace core;

struct Where {
  CUgraphNode* node;
  CUgraph graph;
  const CUgraphNode* dependencies;
  size_t count;
  const CUgraphEdgeData* data = nullptr;
};

using Dependencies = std::vector<Dependency>;

constexpr auto kAnyGraph = [](Graph&) { return CUDA_SUCCESS; };

// Adds the node that describe(graph, dependencies) yields; `type` is what it is going to be. prepare(graph) comes
// before the dependencies are looked at.
template <class Describe, class Prepare = decltype(kAnyGraph)>
CUresult add(const Where& where, Describe describe, int type = CU_GRAPH_NODE_TYPE_EMPTY, Prepare prepare = kAnyGraph) {
  if (!where.node) return missing("phGraphNode");
  const graphs::Lock lock;
  VG_TRY(Graph & graph, graphs::find(where.graph));
  VG_CHECK(prepare(graph));
  VG_TRY(const std::vector<Dependency> dependencies, graphs::dependencies(where.dependencies, where.data, where.count));
  VG_CHECK(graph.checkDependencies(dependencies));
  for (const Dependency& before : dependencies)
    if (!graphs::isDefault(before.data) && type != CU_GRAPH_NODE_TYPE_KERNEL)
      return fail(CUDA_ERROR_INVALID_VALUE, "a programmatic edge leads to a node that is not a kernel");
  VG_TRY(NodeParams params, describe(graph, dependencies));
  VG_TRY(GraphNode & node, graph.add(std::move(params), dependencies));
  *where.node = node.handle();
  return CUDA_SUCCESS;
}

template <class Kind>
Result<Kind&> find(CUgraphNode handle) {
  VG_TRY(GraphNode & node, graphs::findNode(handle));
  Kind* const kind = node.as<Kind>();
  if (!kind) return fail(CUDA_ERROR_INVALID_VALUE, "the node is of type %d", node.type());
  return *kind;
}

// give(kind): hands out what the node of this kind holds.
template <class Kind, class Out, class Give>
CUresult get(CUgraphNode handle, Out* out, Give give) {
  if (!out) return missing("the place for the parameters");
  const graphs::Lock lock;
  VG_TRY(Kind & kind, find<Kind>(handle));
  give(kind, *out);
  return CUDA_SUCCESS;
}

template <class Kind, class Describe>
CUresult set(CUgraphNode handle, Describe describe) {
  const graphs::Lock lock;
  VG_CHECK(find<Kind>(handle));
  VG_TRY(NodeParams params, describe());
  graphs::replace(*graphs::findNode(handle), std::move(params));
  return CUDA_SUCCESS;
}

CUDA_KERNEL_NODE_PARAMS widened(const CUDA_KERNEL_NODE_PARAMS_v1& old) {
  CUDA_KERNEL_NODE_PARAMS params{};
  std::memcpy(&params, &old, sizeof old);
  return params;
}

}  // namespace

CUresult cuGraphAddKernelNode_v2(const Call&, CUgraphNode* phGraphNode, CUgraph hGraph, const CUgraphNode* dependencies,
                                 size_t numDependencies, const CUDA_KERNEL_NODE_PARAMS* nodeParams) {
  return add({phGraphNode, hGraph, dependencies, numDependencies},
             [&](Graph&, const Dependencies&) { return graphs::describe(nodeParams); });
}

CUresult cuGraphAddKernelNode(const Call& call, CUgraphNode* phGraphNode, CUgraph hGraph,
                              const CUgraphNode* dependencies, size_t numDependencies,
                              const CUDA_KERNEL_NODE_PARAMS_v1* nodeParams) {
  if (!nodeParams) return missing("nodeParams");
  const CUDA_KERNEL_NODE_PARAMS params = widened(*nodeParams);
  return cuGraphAddKernelNode_v2(call, phGraphNode, hGraph, dependencies, numDependencies, &params);
}

CUresult cuGraphKernelNodeGetParams_v2(const Call&, CUgraphNode hNode, CUDA_KERNEL_NODE_PARAMS* nodeParams) {
  return get<KernelNode>(hNode, nodeParams,
                         [](const KernelNode& kernel, auto& out) { out = graphs::kernelParams(kernel); });
}

CUresult cuGraphKernelNodeGetParams(const Call&, CUgraphNode hNode, CUDA_KERNEL_NODE_PARAMS_v1* nodeParams) {
  return get<KernelNode>(hNode, nodeParams, [](const KernelNode& kernel, auto& out) {
    const CUDA_KERNEL_NODE_PARAMS params = graphs::kernelParams(kernel);
    std::memcpy(&out, &params, sizeof out);
  });
}

CUresult cuGraphKernelNodeSetParams_v2(const Call&, CUgraphNode hNode, const CUDA_KERNEL_NODE_PARAMS* nodeParams) {
  return set<KernelNode>(hNode, [&] { return graphs::describe(nodeParams); });
}

CUresult cuGraphKernelNodeSetParams(const Call& call, CUgraphNode hNode, const CUDA_KERNEL_NODE_PARAMS_v1* nodeParams) {
  if (!nodeParams) return missing("nodeParams");
  const CUDA_KERNEL_NODE_PARAMS params = widened(*nodeParams);
  return cuGraphKernelNodeSetParams_v2(call, hNode, &params);
}

CUresult cuGraphKernelNodeGetAttribute(const Call&, CUgraphNode hNode, CUkernelNodeAttrID attr,
                                       CUkernelNodeAttrValue* value_out) {
  if (!value_out) return missing("value_out");
  const graphs::Lock lock;
  VG_TRY(KernelNode & kernel, find<KernelNode>(hNode));
  return graphs::kernelAttribute(kernel, attr, *value_out);
}

CUresult cuGraphKernelNodeSetAttribute(const Call&, CUgraphNode hNode, CUkernelNodeAttrID attr,
                                       const CUkernelNodeAttrValue* value) {
  if (!value) return missing("value");
  const graphs::Lock lock;
  VG_TRY(KernelNode & kernel, find<KernelNode>(hNode));
  // The driver writes where it was asked to read: the handle of a node that kernels may change.
  return graphs::setKernelAttribute(kernel, attr, const_cast<CUkernelNodeAttrValue&>(*value));
}

CUresult cuGraphKernelNodeCopyAttributes(const Call&, CUgraphNode dst, CUgraphNode src) {
  const graphs::Lock lock;
  VG_TRY(KernelNode & to, find<KernelNode>(dst));
  VG_TRY(KernelNode & from, find<KernelNode>(src));
  if (to.updatable || from.updatable) return unsupported("attributes of a node that kernels may change");
  to.launch.attributes = from.launch.attributes;
  return CUDA_SUCCESS;
}

CUresult cuGraphAddMemcpyNode(const Call&, CUgraphNode* phGraphNode, CUgraph hGraph, const CUgraphNode* dependencies,
                              size_t numDependencies, const CUDA_MEMCPY3D* copyParams, CUcontext ctx) {
  return add({phGraphNode, hGraph, dependencies, numDependencies},
             [&](Graph&, const Dependencies&) { return graphs::describe(copyParams, ctx); });
}

CUresult cuGraphMemcpyNodeGetParams(const Call&, CUgraphNode hNode, CUDA_MEMCPY3D* nodeParams) {
  return get<work::Copy>(hNode, nodeParams, [](const work::Copy& node, auto& out) { out = node.box; });
}

CUresult cuGraphMemcpyNodeSetParams(const Call&, CUgraphNode hNode, const CUDA_MEMCPY3D* nodeParams) {
  const graphs::Lock lock;
  VG_TRY(work::Copy & node, find<work::Copy>(hNode));
  VG_TRY(NodeParams params, graphs::describe(nodeParams, handleOf(node.context)));
  node = std::get<work::Copy>(params);
  return CUDA_SUCCESS;
}

CUresult cuGraphAddMemsetNode(const Call&, CUgraphNode* phGraphNode, CUgraph hGraph, const CUgraphNode* dependencies,
                              size_t numDependencies, const CUDA_MEMSET_NODE_PARAMS* memsetParams, CUcontext ctx) {
  return add({phGraphNode, hGraph, dependencies, numDependencies},
             [&](Graph&, const Dependencies&) { return graphs::describe(memsetParams, ctx); });
}

CUresult cuGraphMemsetNodeGetParams(const Call&, CUgraphNode hNode, CUDA_MEMSET_NODE_PARAMS* nodeParams) {
  return get<work::Fill>(hNode, nodeParams,
                         [](const work::Fill& node, auto& out) { std::memcpy(&out, &node.rows, sizeof out); });
}

CUresult cuGraphMemsetNodeSetParams(const Call&, CUgraphNode hNode, const CUDA_MEMSET_NODE_PARAMS* nodeParams) {
  const graphs::Lock lock;
  VG_TRY(work::Fill & node, find<work::Fill>(hNode));
  VG_TRY(NodeParams params, graphs::describe(nodeParams, handleOf(node.context)));
  node = std::get<work::Fill>(params);
  return CUDA_SUCCESS;
}

CUresult cuGraphAddHostNode(const Call&, CUgraphNode* phGraphNode, CUgraph hGraph, const CUgraphNode* dependencies,
                            size_t numDependencies, const CUDA_HOST_NODE_PARAMS* nodeParams) {
  return add({phGraphNode, hGraph, dependencies, numDependencies},
             [&](Graph&, const Dependencies&) { return graphs::describe(nodeParams); });
}

CUresult cuGraphHostNodeGetParams(const Call&, CUgraphNode hNode, CUDA_HOST_NODE_PARAMS* nodeParams) {
  return get<work::HostCall>(hNode, nodeParams, [](const work::HostCall& node, auto& out) { out = node.call; });
}

CUresult cuGraphHostNodeSetParams(const Call&, CUgraphNode hNode, const CUDA_HOST_NODE_PARAMS* nodeParams) {
  return set<work::HostCall>(hNode, [&] { return graphs::describe(nodeParams); });
}

CUresult cuGraphAddChildGraphNode(const Call&, CUgraphNode* phGraphNode, CUgraph hGraph,
                                  const CUgraphNode* dependencies, size_t numDependencies, CUgraph childGraph) {
  return add({phGraphNode, hGraph, dependencies, numDependencies},
             [&](Graph& graph, const Dependencies&) { return graphs::describeChild(graph, childGraph); });
}

CUresult cuGraphChildGraphNodeGetGraph(const Call&, CUgraphNode hNode, CUgraph* phGraph) {
  return get<ChildNode>(hNode, phGraph, [](const ChildNode& node, CUgraph& out) { out = node.graph->handle(); });
}

CUresult cuGraphAddEmptyNode(const Call&, CUgraphNode* phGraphNode, CUgraph hGraph, const CUgraphNode* dependencies,
                             size_t numDependencies) {
  return add({phGraphNode, hGraph, dependencies, numDependencies},
             [](Graph&, const Dependencies&) -> Result<NodeParams> { return NodeParams(EmptyNode{}); });
}

CUresult cuGraphAddEventRecordNode(const Call&, CUgraphNode* phGraphNode, CUgraph hGraph,
                                   const CUgraphNode* dependencies, size_t numDependencies, CUevent event) {
  return add({phGraphNode, hGraph, dependencies, numDependencies},
             [&](Graph&, const Dependencies&) { return graphs::describeRecord(event); });
}

CUresult cuGraphEventRecordNodeGetEvent(const Call&, CUgraphNode hNode, CUevent* event_out) {
  return get<work::Record>(hNode, event_out, [](const work::Record& node, CUevent& out) { out = node.event; });
}

CUresult cuGraphEventRecordNodeSetEvent(const Call&, CUgraphNode hNode, CUevent event) {
  return set<work::Record>(hNode, [&] { return graphs::describeRecord(event); });
}

CUresult cuGraphAddEventWaitNode(const Call&, CUgraphNode* phGraphNode, CUgraph hGraph, const CUgraphNode* dependencies,
                                 size_t numDependencies, CUevent event) {
  return add({phGraphNode, hGraph, dependencies, numDependencies},
             [&](Graph&, const Dependencies&) { return graphs::describeWait(event); });
}

CUresult cuGraphEventWaitNodeGetEvent(const Call&, CUgraphNode hNode, CUevent* event_out) {
  return get<work::Wait>(hNode, event_out, [](const work::Wait& node, CUevent& out) { out = node.event; });
}

CUresult cuGraphEventWaitNodeSetEvent(const Call&, CUgraphNode hNode, CUevent event) {
  return set<work::Wait>(hNode, [&] { return graphs::describeWait(event); });
}

CUresult cuGraphAddBatchMemOpNode(const Call&, CUgraphNode* phGraphNode, CUgraph hGraph,
                                  const CUgraphNode* dependencies, size_t numDependencies,
                                  const CUDA_BATCH_MEM_OP_NODE_PARAMS* nodeParams) {
  return add({phGraphNode, hGraph, dependencies, numDependencies},
             [&](Graph&, const Dependencies&) { return graphs::describe(nodeParams); });
}

CUresult cuGraphBatchMemOpNodeGetParams(const Call&, CUgraphNode hNode, CUDA_BATCH_MEM_OP_NODE_PARAMS* nodeParams_out) {
  return get<work::MemoryOperations>(hNode, nodeParams_out, [](work::MemoryOperations& node, auto& out) {
    out = {node.handle, static_cast<unsigned>(node.operations.size()), node.operations.data(), node.flags};
  });
}

CUresult cuGraphBatchMemOpNodeSetParams(const Call&, CUgraphNode hNode,
                                        const CUDA_BATCH_MEM_OP_NODE_PARAMS* nodeParams) {
  return set<work::MemoryOperations>(hNode, [&] { return graphs::describe(nodeParams); });
}

CUresult cuGraphAddExternalSemaphoresSignalNode(const Call&, CUgraphNode* phGraphNode, CUgraph hGraph,
                                                const CUgraphNode* dependencies, size_t numDependencies,
                                                const CUDA_EXT_SEM_SIGNAL_NODE_PARAMS* nodeParams) {
  return add({phGraphNode, hGraph, dependencies, numDependencies},
             [&](Graph&, const Dependencies&) { return graphs::describe(nodeParams); });
}

CUresult cuGraphExternalSemaphoresSignalNodeGetParams(const Call&, CUgraphNode hNode,
                                                      CUDA_EXT_SEM_SIGNAL_NODE_PARAMS* params_out) {
  return get<SemaphoreSignalNode>(hNode, params_out, [](SemaphoreSignalNode& node, auto& out) {
    out = {node.semaphores.data(), node.params.data(), static_cast<unsigned>(node.params.size())};
  });
}

CUresult cuGraphExternalSemaphoresSignalNodeSetParams(const Call&, CUgraphNode hNode,
                                                      const CUDA_EXT_SEM_SIGNAL_NODE_PARAMS* nodeParams) {
  return set<SemaphoreSignalNode>(hNode, [&] { return graphs::describe(nodeParams); });
}

CUresult cuGraphAddExternalSemaphoresWaitNode(const Call&, CUgraphNode* phGraphNode, CUgraph hGraph,
                                              const CUgraphNode* dependencies, size_t numDependencies,
                                              const CUDA_EXT_SEM_WAIT_NODE_PARAMS* nodeParams) {
  return add({phGraphNode, hGraph, dependencies, numDependencies},
             [&](Graph&, const Dependencies&) { return graphs::describe(nodeParams); });
}

CUresult cuGraphExternalSemaphoresWaitNodeGetParams(const Call&, CUgraphNode hNode,
                                                    CUDA_EXT_SEM_WAIT_NODE_PARAMS* params_out) {
  return get<SemaphoreWaitNode>(hNode, params_out, [](SemaphoreWaitNode& node, auto& out) {
    out = {node.semaphores.data(), node.params.data(), static_cast<unsigned>(node.params.size())};
  });
}

CUresult cuGraphExternalSemaphoresWaitNodeSetParams(const Call&, CUgraphNode hNode,
                                                    const CUDA_EXT_SEM_WAIT_NODE_PARAMS* nodeParams) {
  return set<SemaphoreWaitNode>(hNode, [&] { return graphs::describe(nodeParams); });
}

CUresult cuGraphAddMemAllocNode(const Call&, CUgraphNode* phGraphNode, CUgraph hGraph, const CUgraphNode* dependencies,
                                size_t numDependencies, CUDA_MEM_ALLOC_NODE_PARAMS* nodeParams) {
  const auto describe = [&](Graph& graph, const Dependencies& before) {
    return graphs::describeAlloc(graph, nodeParams, before);
  };
  const auto prepare = [&](Graph& graph) {
    VG_CHECK(graphs::checkAlloc(nodeParams));
    graph.noteMemoryNodes();
    return CUDA_SUCCESS;
  };
  return add({phGraphNode, hGraph, dependencies, numDependencies}, describe, CU_GRAPH_NODE_TYPE_MEM_ALLOC, prepare);
}

CUresult cuGraphMemAllocNodeGetParams(const Call&, CUgraphNode hNode, CUDA_MEM_ALLOC_NODE_PARAMS* params_out) {
  return get<MemAllocNode>(hNode, params_out, [](const MemAllocNode& node, auto& out) {
    out = node.params;
    out.accessDescs = node.access.empty() ? nullptr : node.access.data();
    out.accessDescCount = node.access.size();
  });
}

CUresult cuGraphAddMemFreeNode(const Call&, CUgraphNode* phGraphNode, CUgraph hGraph, const CUgraphNode* dependencies,
                               size_t numDependencies, CUdeviceptr dptr) {
  const auto describe = [&](Graph& graph, const Dependencies& before) {
    return graphs::describeFree(graph, dptr, before);
  };
  const auto prepare = [](Graph& graph) {
    graph.noteMemoryNodes();
    return CUDA_SUCCESS;
  };
  return add({phGraphNode, hGraph, dependencies, numDependencies}, describe, CU_GRAPH_NODE_TYPE_MEM_FREE, prepare);
}

CUresult cuGraphMemFreeNodeGetParams(const Call&, CUgraphNode hNode, CUdeviceptr* dptr_out) {
  return get<work::Free>(hNode, dptr_out, [](const work::Free& node, CUdeviceptr& out) { out = node.address; });
}

CUresult cuGraphConditionalHandleCreate(const Call&, CUgraphConditionalHandle* pHandle_out, CUgraph hGraph,
                                        CUcontext ctx, unsigned int defaultLaunchValue, unsigned int flags) {
  if (!pHandle_out) return missing("pHandle_out");
  if (flags & ~unsigned{CU_GRAPH_COND_ASSIGN_DEFAULT}) return fail(CUDA_ERROR_INVALID_VALUE, "flags %#x", flags);
  const graphs::Lock lock;
  VG_TRY(Graph & graph, graphs::find(hGraph));
  if (!ctx) return fail(CUDA_ERROR_INVALID_CONTEXT, "ctx is null");
  VG_CHECK(contextOf(ctx));
  VG_TRY(*pHandle_out, graphs::createCondition(graph.id(), defaultLaunchValue, flags));
  return CUDA_SUCCESS;
}

CUresult cuGraphAddNode_v2(const Call&, CUgraphNode* phGraphNode, CUgraph hGraph, const CUgraphNode* dependencies,
                           const CUgraphEdgeData* dependencyData, size_t numDependencies,
                           CUgraphNodeParams* nodeParams) {
  if (!nodeParams) return missing("nodeParams");
  const auto describe = [&](Graph& graph, const Dependencies& before) {
    return graphs::describe(*nodeParams, graph, before);
  };
  VG_CHECK(
      add({phGraphNode, hGraph, dependencies, numDependencies, dependencyData}, describe, rawValue(nodeParams->type)));
  const graphs::Lock lock;
  Result<GraphNode&> node = graphs::findNode(*phGraphNode);
  if (node) graphs::giveBack(*node, *nodeParams);
  return CUDA_SUCCESS;
}

CUresult cuGraphAddNode_v3(const Call& call, CUgraphNode* phGraphNode, CUgraph hGraph, const CUgraphNode* dependencies,
                           const CUgraphEdgeData* dependencyData, size_t numDependencies,
                           CUgraphNodeParams* nodeParams) {
  if (!nodeParams) return missing("nodeParams");
  VG_CHECK(graphs::checkContexts(*nodeParams));
  return cuGraphAddNode_v2(call, phGraphNode, hGraph, dependencies, dependencyData, numDependencies, nodeParams);
}

CUresult cuGraphAddNode(const Call& call, CUgraphNode* phGraphNode, CUgraph hGraph, const CUgraphNode* dependencies,
                        size_t numDependencies, CUgraphNodeParams* nodeParams) {
  return cuGraphAddNode_v2(call, phGraphNode, hGraph, dependencies, nullptr, numDependencies, nodeParams);
}

CUresult cuGraphNodeSetParams(const Call&, CUgraphNode hNode, CUgraphNodeParams* nodeParams) {
  if (!nodeParams) return missing("nodeParams");
  const graphs::Lock lock;
  VG_TRY(GraphNode & node, graphs::findNode(hNode));
  VG_TRY(NodeParams params, graphs::describeForSet(*nodeParams, node));
  graphs::replace(node, std::move(params));
  return CUDA_SUCCESS;
}

CUresult cuGraphNodeSetParams_v2(const Call& call, CUgraphNode hNode, CUgraphNodeParams* nodeParams) {
  if (!nodeParams) return missing("nodeParams");
  VG_CHECK(graphs::checkContexts(*nodeParams));
  return cuGraphNodeSetParams(call, hNode, nodeParams);
}

CUresult cuGraphNodeGetParams(const Call&, CUgraphNode hNode, CUgraphNodeParams* nodeParams) {
  if (!nodeParams) return missing("nodeParams");
  const graphs::Lock lock;
  VG_TRY(GraphNode & node, graphs::findNode(hNode));
  *nodeParams = graphs::paramsOf(node);
  return CUDA_SUCCESS;
}

}  // namespace vg::handlers
