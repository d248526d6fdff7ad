// Executable graphs: made, launched, changed.
#include "core/executables/graph_exec.h"

#include <algorithm>
#include <cstring>

#include "api/entry/call.h"
#include "base/raw_enum.h"
#include "core/graphs/graph_describe.h"
#include "core/process/device.h"

namespace vg::handlers {
namespace {

using namespace core;

constexpr uint64_t kFlags = CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH | CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD |
                            CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH | CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY;

CUresult instantiate(CUgraphExec* out, CUgraph handle, uint64_t flags) {
  if (!out) return missing("phGraphExec");
  if (flags & ~(kFlags & ~uint64_t{CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD}))
    return fail(CUDA_ERROR_INVALID_VALUE, "flags %#llx", static_cast<unsigned long long>(flags));
  const graphs::Lock lock;
  VG_TRY(Graph & graph, graphs::find(handle));
  const graph_execs::Instantiated made = graph_execs::instantiate(graph, flags);
  if (made.exec) *out = made.exec->handle();
  return made.error;
}

struct Found {
  GraphExec* exec;
  GraphNode* node;  // of its image
};
Result<Found> find(CUgraphExec exec, CUgraphNode node) {
  VG_TRY(GraphExec & found, graph_execs::find(exec));
  VG_TRY(GraphNode & original, graphs::findNode(node));
  VG_TRY(GraphNode & mine, found.find(original));
  return Found{&found, &mine};
}

// describe(node): the new parameters.
template <class Kind, class Describe>
CUresult set(CUgraphExec exec, CUgraphNode handle, Describe describe) {
  const graphs::Lock lock;
  VG_TRY(const Found found, find(exec, handle));
  if (!found.node->as<Kind>()) return fail(CUDA_ERROR_INVALID_VALUE, "the node is of type %d", found.node->type());
  VG_TRY(NodeParams params, describe(*found.node));
  return found.exec->set(*found.node, std::move(params));
}

}  // namespace

CUresult cuGraphInstantiateWithFlags(const Call&, CUgraphExec* phGraphExec, CUgraph hGraph, unsigned long long flags) {
  return instantiate(phGraphExec, hGraph, flags);
}

CUresult cuGraphInstantiate_v2(const Call&, CUgraphExec* phGraphExec, CUgraph hGraph, CUgraphNode* phErrorNode,
                               char* logBuffer, size_t bufferSize) {
  if (!phGraphExec) return missing("phGraphExec");
  if (logBuffer && bufferSize) *logBuffer = '\0';
  if (phErrorNode) *phErrorNode = nullptr;
  const graphs::Lock lock;
  VG_TRY(Graph & graph, graphs::find(hGraph));
  const graph_execs::Instantiated made = graph_execs::instantiate(graph, 0);
  if (made.exec) *phGraphExec = made.exec->handle();
  if (phErrorNode && made.culprit) *phErrorNode = made.culprit->handle();
  return made.error;
}

CUresult cuGraphInstantiate(const Call& call, CUgraphExec* phGraphExec, CUgraph hGraph, CUgraphNode* phErrorNode,
                            char* logBuffer, size_t bufferSize) {
  return cuGraphInstantiate_v2(call, phGraphExec, hGraph, phErrorNode, logBuffer, bufferSize);
}

CUresult cuGraphInstantiateWithParams(const Call& call, CUgraphExec* phGraphExec, CUgraph hGraph,
                                      CUDA_GRAPH_INSTANTIATE_PARAMS* instantiateParams) {
  if (!instantiateParams) return missing("instantiateParams");
  instantiateParams->result_out = CUDA_GRAPH_INSTANTIATE_ERROR;
  instantiateParams->hErrNode_out = nullptr;
  if (!phGraphExec) return missing("phGraphExec");
  if (instantiateParams->flags & ~kFlags)
    return fail(CUDA_ERROR_INVALID_VALUE, "flags %#llx", static_cast<unsigned long long>(instantiateParams->flags));
  Stream* upload = nullptr;
  if (instantiateParams->flags & CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD) {
    VG_TRY(Stream & stream, call.resolve(instantiateParams->hUploadStream));
    upload = &stream;
  }
  const graphs::Lock lock;
  VG_TRY(Graph & graph, graphs::find(hGraph));
  const graph_execs::Instantiated made = graph_execs::instantiate(graph, instantiateParams->flags);
  instantiateParams->result_out = made.result;
  if (made.culprit) instantiateParams->hErrNode_out = made.culprit->handle();
  if (!made.exec) return made.error;
  *phGraphExec = made.exec->handle();
  return upload ? made.exec->upload(*upload) : CUDA_SUCCESS;
}

CUresult cuGraphExecDestroy(const Call&, CUgraphExec hGraphExec) {
  const graphs::Lock lock;
  VG_TRY(GraphExec & exec, graph_execs::find(hGraphExec));
  graph_execs::destroy(exec);
  return CUDA_SUCCESS;
}

// The driver keeps the priorities of nodes to itself.
CUresult cuGraphExecGetId(const Call&, CUgraphExec hGraphExec, unsigned int* graphId) {
  if (!graphId) return missing("graphId");
  const graphs::Lock lock;
  VG_TRY(GraphExec & exec, graph_execs::find(hGraphExec));
  *graphId = static_cast<unsigned>(exec.image().number());
  return CUDA_SUCCESS;
}

CUresult cuGraphExecGetFlags(const Call&, CUgraphExec hGraphExec, cuuint64_t* flags) {
  if (!flags) return missing("flags");
  const graphs::Lock lock;
  VG_TRY(GraphExec & exec, graph_execs::find(hGraphExec));
  *flags = exec.flags() & ~uint64_t{CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY | CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD};
  return CUDA_SUCCESS;
}

CUresult cuGraphUpload(const Call& call, CUgraphExec hGraph, CUstream hStream) {
  VG_TRY(Stream & stream, call.resolve(hStream));
  VG_CHECK(stream.mustRun("cuGraphUpload"));
  const graphs::Lock lock;
  VG_TRY(GraphExec & exec, graph_execs::find(hGraph));
  return exec.upload(stream);
}

// The vendor's driver makes no child graph of a launch that is captured, but ends the capture, whatever is launched.
CUresult cuGraphLaunch(const Call& call, CUgraphExec hGraph, CUstream hStream) {
  VG_TRY(Stream & stream, call.resolve(hStream));
  VG_CHECK(stream.mustRun("cuGraphLaunch"));
  const graphs::Lock lock;
  VG_TRY(GraphExec & exec, graph_execs::find(hGraph));
  return exec.launch(stream);
}

CUresult cuGraphExecUpdate_v2(const Call&, CUgraphExec hGraphExec, CUgraph hGraph,
                              CUgraphExecUpdateResultInfo* resultInfo) {
  const graphs::Lock lock;
  if (resultInfo) *resultInfo = {CU_GRAPH_EXEC_UPDATE_ERROR, nullptr, nullptr};
  VG_TRY(GraphExec & exec, graph_execs::find(hGraphExec));
  VG_TRY(Graph & graph, graphs::find(hGraph));
  if (graph.hasUpdatableNodesInside() || exec.image().hasUpdatableNodesInside()) {
    if (resultInfo) *resultInfo = {};
    return unsupported("an update of a graph with nodes that kernels may change");
  }
  if (graph_execs::taken(graph) && graph.latest != exec.handle()) {
    if (resultInfo) *resultInfo = {};
    return unsupported("an update from a graph of which there may be one executable graph, which is another");
  }
  const graph_update::Verdict verdict = exec.update(graph);
  if (resultInfo) {
    resultInfo->result = verdict.result;
    resultInfo->errorNode = verdict.node ? verdict.node->handle() : nullptr;
  }
  if (verdict.result == CU_GRAPH_EXEC_UPDATE_SUCCESS) return CUDA_SUCCESS;
  return fail(CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE, "the graph does not fit: result %d", verdict.result);
}

CUresult cuGraphExecUpdate(const Call& call, CUgraphExec hGraphExec, CUgraph hGraph, CUgraphNode* hErrorNode_out,
                           CUgraphExecUpdateResult* updateResult_out) {
  CUgraphExecUpdateResultInfo info{};
  const CUresult result = cuGraphExecUpdate_v2(call, hGraphExec, hGraph, &info);
  if (hErrorNode_out) *hErrorNode_out = info.errorNode;
  // The first form's name for graphs of different sizes.
  const bool sizes = info.result == CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED && !info.errorNode;
  if (updateResult_out) *updateResult_out = sizes ? CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED : info.result;
  return result;
}

CUresult cuGraphNodeGetEnabled(const Call&, CUgraphExec hGraphExec, CUgraphNode hNode, unsigned int* isEnabled) {
  if (!isEnabled) return missing("isEnabled");
  const graphs::Lock lock;
  VG_TRY(const Found found, find(hGraphExec, hNode));
  if (!GraphExec::canDisable(*found.node))
    return fail(CUDA_ERROR_INVALID_VALUE, "a node of type %d is always enabled", found.node->type());
  *isEnabled = found.exec->enabled(*found.node);
  return CUDA_SUCCESS;
}

CUresult cuGraphNodeSetEnabled(const Call&, CUgraphExec hGraphExec, CUgraphNode hNode, unsigned int isEnabled) {
  const graphs::Lock lock;
  VG_TRY(const Found found, find(hGraphExec, hNode));
  return found.exec->setEnabled(*found.node, isEnabled != 0);
}

CUresult cuGraphExecKernelNodeSetParams_v2(const Call&, CUgraphExec hGraphExec, CUgraphNode hNode,
                                           const CUDA_KERNEL_NODE_PARAMS* nodeParams) {
  return set<KernelNode>(hGraphExec, hNode, [&](GraphNode&) { return graphs::describe(nodeParams); });
}

CUresult cuGraphExecKernelNodeSetParams(const Call& call, CUgraphExec hGraphExec, CUgraphNode hNode,
                                        const CUDA_KERNEL_NODE_PARAMS_v1* nodeParams) {
  if (!nodeParams) return missing("nodeParams");
  CUDA_KERNEL_NODE_PARAMS params{};
  std::memcpy(&params, nodeParams, sizeof *nodeParams);
  return cuGraphExecKernelNodeSetParams_v2(call, hGraphExec, hNode, &params);
}

CUresult cuGraphExecMemcpyNodeSetParams(const Call&, CUgraphExec hGraphExec, CUgraphNode hNode,
                                        const CUDA_MEMCPY3D* copyParams, CUcontext ctx) {
  return set<work::Copy>(hGraphExec, hNode, [&](GraphNode&) { return graphs::describe(copyParams, ctx); });
}

CUresult cuGraphExecMemsetNodeSetParams(const Call&, CUgraphExec hGraphExec, CUgraphNode hNode,
                                        const CUDA_MEMSET_NODE_PARAMS* memsetParams, CUcontext ctx) {
  return set<work::Fill>(hGraphExec, hNode, [&](GraphNode&) { return graphs::describe(memsetParams, ctx); });
}

CUresult cuGraphExecHostNodeSetParams(const Call&, CUgraphExec hGraphExec, CUgraphNode hNode,
                                      const CUDA_HOST_NODE_PARAMS* nodeParams) {
  return set<work::HostCall>(hGraphExec, hNode, [&](GraphNode&) { return graphs::describe(nodeParams); });
}

CUresult cuGraphExecChildGraphNodeSetParams(const Call&, CUgraphExec hGraphExec, CUgraphNode hNode,
                                            CUgraph childGraph) {
  return set<ChildNode>(hGraphExec, hNode,
                        [&](GraphNode& node) { return graphs::describeChild(node.graph(), childGraph); });
}

CUresult cuGraphExecEventRecordNodeSetEvent(const Call&, CUgraphExec hGraphExec, CUgraphNode hNode, CUevent event) {
  return set<work::Record>(hGraphExec, hNode, [&](GraphNode&) { return graphs::describeRecord(event); });
}

CUresult cuGraphExecEventWaitNodeSetEvent(const Call&, CUgraphExec hGraphExec, CUgraphNode hNode, CUevent event) {
  return set<work::Wait>(hGraphExec, hNode, [&](GraphNode&) { return graphs::describeWait(event); });
}

CUresult cuGraphExecBatchMemOpNodeSetParams(const Call&, CUgraphExec hGraphExec, CUgraphNode hNode,
                                            const CUDA_BATCH_MEM_OP_NODE_PARAMS* nodeParams) {
  return set<work::MemoryOperations>(hGraphExec, hNode, [&](GraphNode&) { return graphs::describe(nodeParams); });
}

CUresult cuGraphExecExternalSemaphoresSignalNodeSetParams(const Call&, CUgraphExec hGraphExec, CUgraphNode hNode,
                                                          const CUDA_EXT_SEM_SIGNAL_NODE_PARAMS* nodeParams) {
  return set<SemaphoreSignalNode>(hGraphExec, hNode, [&](GraphNode&) { return graphs::describe(nodeParams); });
}

CUresult cuGraphExecExternalSemaphoresWaitNodeSetParams(const Call&, CUgraphExec hGraphExec, CUgraphNode hNode,
                                                        const CUDA_EXT_SEM_WAIT_NODE_PARAMS* nodeParams) {
  return set<SemaphoreWaitNode>(hGraphExec, hNode, [&](GraphNode&) { return graphs::describe(nodeParams); });
}

// The parameters of an empty node are none, in whichever executable graph it is.
static CUresult setNothing(CUgraphExec exec, CUgraphNode node, const CUgraphNodeParams& params) {
  if (std::any_of(std::begin(params.reserved1), std::end(params.reserved1), [](long long word) { return word != 0; }))
    return fail(CUDA_ERROR_INVALID_VALUE, "an empty node has no parameters");
  VG_CHECK(graph_execs::find(exec));
  VG_TRY(GraphNode & empty, graphs::findNode(node));
  if (!empty.as<EmptyNode>()) return fail(CUDA_ERROR_INVALID_VALUE, "a node of type %d is not empty", empty.type());
  return CUDA_SUCCESS;
}

CUresult cuGraphExecNodeSetParams(const Call&, CUgraphExec hGraphExec, CUgraphNode hNode,
                                  CUgraphNodeParams* nodeParams) {
  if (!nodeParams) return missing("nodeParams");
  const graphs::Lock lock;
  if (rawValue(nodeParams->type) == CU_GRAPH_NODE_TYPE_EMPTY) return setNothing(hGraphExec, hNode, *nodeParams);
  VG_TRY(const Found found, find(hGraphExec, hNode));
  VG_TRY(NodeParams params, graphs::describeForSet(*nodeParams, *found.node));
  return found.exec->set(*found.node, std::move(params));
}

}  // namespace vg::handlers
