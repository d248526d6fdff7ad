#include "core/graphs/graph_describe.h"

#include <algorithm>
#include <cstring>

#include "base/raw_enum.h"
#include "core/contexts/context.h"
#include "core/contexts/current_context.h"
#include "core/contexts/green_context.h"
#include "core/contexts/named_context.h"
#include "core/graphs/graph_conditional.h"
#include "core/graphs/graph_memory.h"
#include "core/modules/kernel.h"
#include "core/modules/module.h"
#include "core/process/device.h"
#include "core/streams/event.h"
#include "core/work/copy.h"
#include "core/work/copy_batch.h"
#include "core/work/launch.h"
#include "core/work/memory_operations.h"

namespace vg::core::graphs {
namespace {

CUresult isNull(const char* what) { return fail(CUDA_ERROR_INVALID_VALUE, "%s is null", what); }

work::LaunchCall callOf(const CUDA_KERNEL_NODE_PARAMS_v2& params) {
  const CUfunction function = params.func ? params.func : reinterpret_cast<CUfunction>(params.kern);
  return {function,
          {{params.gridDimX, params.gridDimY, params.gridDimZ},
           {params.blockDimX, params.blockDimY, params.blockDimZ},
           {1, 1, 1},
           params.sharedMemBytes},
          {params.kernelParams, params.extra}};
}

// In a launch a buffer that is too long does no harm; in a node the driver refuses it.
CUresult checkExtra(const backend::Kernel& kernel, void** extra) {
  for (int i = 0; extra[i] != CU_LAUNCH_PARAM_END; i += 2) {
    if (extra[i] != CU_LAUNCH_PARAM_BUFFER_SIZE || !extra[i + 1]) continue;
    const size_t size = *static_cast<const size_t*>(extra[i + 1]);
    if (size > kernel.parameterBytes())
      return fail(CUDA_ERROR_INVALID_VALUE, "%zu bytes of arguments for %u", size, kernel.parameterBytes());
  }
  return CUDA_SUCCESS;
}

// Copies and fills say by their addresses what they mean: the context may be missing until they are instantiated.
Result<ContextReference> optionalContext(CUcontext handle) {
  if (handle) return contextOf(handle);
  Context* const current = threadState.current;
  return current ? referenceTo(*current) : ContextReference{};
}

}  // namespace

Result<NodeParams> describe(const CUDA_KERNEL_NODE_PARAMS_v2* params) {
  if (!params) return isNull("nodeParams");
  const work::LaunchCall call = callOf(*params);
  if (!call.function) return fail(CUDA_ERROR_INVALID_HANDLE, "func is null");
  // A function has its context; the one that is given counts for kernels of libraries.
  CUcontext owner = params->ctx;
  const bool kernelHandle = !params->func || findKernel(reinterpret_cast<CUkernel>(params->func)).ok();
  if (!kernelHandle) {
    VG_TRY(Function & found, findFunction(params->func));
    owner = found.context().handle();
  }
  VG_TRY(const ContextReference context, contextOf(owner));
  VG_TRY(backend::Kernel* const kernel, resolveKernel(call.function, *context.context));
  if (params->extra) VG_CHECK(checkExtra(*kernel, params->extra));
  KernelNode node;
  VG_TRY(node.launch, work::describe(*context.context, call));
  node.launch.function = params->func;
  node.launch.kernel = params->kern;
  node.launch.context = context;
  return NodeParams(std::move(node));
}

CUDA_KERNEL_NODE_PARAMS_v2 kernelParams(const KernelNode& node) {
  const work::Launch& launch = node.launch;
  const uint32_t(&grid)[3] = launch.shape.grid;
  const uint32_t(&block)[3] = launch.shape.block;
  CUDA_KERNEL_NODE_PARAMS_v2 params;
  std::memset(&params, 0, sizeof params);
  params.func = launch.function;
  params.kern = launch.kernel;
  params.gridDimX = grid[0];
  params.gridDimY = grid[1];
  params.gridDimZ = grid[2];
  params.blockDimX = block[0];
  params.blockDimY = block[1];
  params.blockDimZ = block[2];
  params.sharedMemBytes = launch.shape.dynamicShared;
  params.ctx = launch.context.context->handle();
  auto kernel = resolveKernel(launch.callee(), *launch.context.context);
  if (!kernel.ok()) return params;
  if (node.argumentAddresses.empty())
    for (const backend::Kernel::Parameter& parameter : kernel.value()->parameters())
      node.argumentAddresses.push_back(const_cast<std::byte*>(launch.arguments.data()) + parameter.offset);
  if (!node.argumentAddresses.empty()) params.kernelParams = node.argumentAddresses.data();
  return params;
}

Result<NodeParams> describe(const CUDA_MEMCPY3D* copy, CUcontext context) {
  if (!copy) return isNull("copyParams");
  work::Copy node{*copy, {}};
  VG_TRY(node.context, optionalContext(context));
  if (!copy->WidthInBytes || !copy->Height || !copy->Depth)
    return fail(CUDA_ERROR_INVALID_VALUE, "a copy of %zu x %zu x %zu", copy->WidthInBytes, copy->Height, copy->Depth);
  for (const auto& [type, host] : {std::pair(rawValue(copy->srcMemoryType), copy->srcHost),
                                   std::pair(rawValue(copy->dstMemoryType), static_cast<const void*>(copy->dstHost))})
    if (type == CU_MEMORYTYPE_HOST && !host) return isNull("a host address");
  VG_CHECK(memory::describe(*copy));
  return NodeParams(node);
}

Result<NodeParams> describe(const CUDA_MEMSET_NODE_PARAMS* fill, CUcontext context) {
  if (!fill) return isNull("memsetParams");
  work::Fill node{{fill->dst, fill->pitch, fill->value, fill->elementSize, fill->width, fill->height, context}, {}};
  VG_TRY(node.context, optionalContext(context));
  if (!fill->width || !fill->height)
    return fail(CUDA_ERROR_INVALID_VALUE, "a fill of %zu x %zu", fill->width, fill->height);
  if (fill->elementSize != 1 && fill->elementSize != 2 && fill->elementSize != 4)
    return fail(CUDA_ERROR_INVALID_VALUE, "element size %u is not 1, 2 or 4", fill->elementSize);
  VG_CHECK(memory::describe(node.context.context ? node.context.context->device() : deviceAt(0), node.rows));
  return NodeParams(node);
}

Result<NodeParams> describe(const CUDA_HOST_NODE_PARAMS* params) {
  if (!params) return isNull("nodeParams");
  if (!params->fn) return isNull("fn");
  return NodeParams(work::HostCall{*params});
}

Result<NodeParams> describe(const CUDA_MEMCPY_BATCH_NODE_PARAMS* params) {
  if (!params) return isNull("nodeParams");
  const memory::LinearBatch batch{params->dsts,  params->srcs,      params->sizes,   params->count,
                                  params->attrs, params->attrsIdxs, params->numAttrs};
  VG_CHECK(memory::checkBatch(batch));
  work::CopyBatch node;
  node.destinations.assign(batch.destinations, batch.destinations + batch.count);
  node.sources.assign(batch.sources, batch.sources + batch.count);
  node.sizes.assign(batch.sizes, batch.sizes + batch.count);
  node.attributes.assign(batch.attributes, batch.attributes + batch.attributeCount);
  node.starts.assign(batch.starts, batch.starts + batch.attributeCount);
  node.handle = params->ctx;
  for (size_t i = 0; i < batch.count; ++i) {
    if (!node.sizes[i]) return fail(CUDA_ERROR_INVALID_VALUE, "copy %zu of a batch has no bytes", i);
    VG_CHECK(memory::describe(work::rowOf(node, i).box));
  }
  return NodeParams(std::move(node));
}

Result<NodeParams> describe(const CUDA_BATCH_MEM_OP_NODE_PARAMS* params) {
  constexpr unsigned kMost = 255;
  if (!params) return isNull("nodeParams");
  if (!params->paramArray && params->count) return isNull("paramArray");
  if (!params->ctx) return isNull("ctx");
  if (params->count > kMost || params->flags)
    return fail(CUDA_ERROR_INVALID_VALUE, "%u memory operations, flags %#x", params->count, params->flags);
  work::MemoryOperations node{params->ctx, {}, params->flags, {}};
  VG_TRY(node.context, contextOf(params->ctx));
  VG_CHECK(describeMemoryOperations(*node.context.context, params->paramArray, params->count, memory::Addresses::Any));
  node.operations.assign(params->paramArray, params->paramArray + params->count);
  return NodeParams(std::move(node));
}

namespace {

template <class Node, class Params>
Result<NodeParams> describeSemaphores(const Params* params) {
  if (!params) return isNull("nodeParams");
  if (params->numExtSems && (!params->extSemArray || !params->paramsArray))
    return fail(CUDA_ERROR_INVALID_VALUE, "%u semaphores without their arrays", params->numExtSems);
  if (!params->numExtSems) return NodeParams(Node{});
  // No call can make a semaphore yet, so whatever it is, it is none.
  return fail(CUDA_ERROR_INVALID_HANDLE, "%p is no semaphore", static_cast<void*>(params->extSemArray[0]));
}

}  // namespace

Result<NodeParams> describe(const CUDA_EXT_SEM_SIGNAL_NODE_PARAMS* params) {
  return describeSemaphores<SemaphoreSignalNode>(params);
}
Result<NodeParams> describe(const CUDA_EXT_SEM_WAIT_NODE_PARAMS* params) {
  return describeSemaphores<SemaphoreWaitNode>(params);
}

Result<NodeParams> describeRecord(CUevent event) {
  if (!event) return isNull("event");
  VG_CHECK(events::find(event));
  return NodeParams(work::Record{event, 0});
}

Result<NodeParams> describeWait(CUevent event) {
  if (!event) return isNull("event");
  VG_CHECK(events::find(event));
  return NodeParams(work::Wait{event, 0});
}

Result<NodeParams> describeChild(Graph& parent, CUgraph handle, bool moved) {
  VG_TRY(Graph & child, find(handle));
  if (!moved && parent.isInside(child)) return unsupported("a graph as a child of its own");
  if (child.owner()) return unsupported("a graph of a node as the child of another");
  if (moved && parent.isInside(child)) return fail(CUDA_ERROR_INVALID_VALUE, "a graph cannot move into itself");
  if (moved && child.capturing()) return fail(CUDA_ERROR_ILLEGAL_STATE, "a stream captures into the child graph");
  if (!moved && child.hasMemoryNodes()) return unsupported("a child graph with memory nodes that is cloned");
  if (!moved && child.hasConditionals()) return unsupported("a child graph with conditional nodes that is cloned");
  if (!moved && hasUnusedCondition(child.id()))
    return unsupported("a child graph with a conditional handle of no node");
  return NodeParams(ChildNode{moved ? &child : &clone(child), moved});
}

namespace {

CUresult checkReserved(const CUgraphNodeParams& params) {
  const auto reserved = [&](auto& words) {
    return std::any_of(std::begin(words), std::end(words), [](auto word) { return word != 0; });
  };
  if (reserved(params.reserved0) || params.reserved2)
    return fail(CUDA_ERROR_INVALID_VALUE, "reserved members of the node's parameters are set");
  // What follows the longest structure in use.
  constexpr size_t kUsed = sizeof(CUDA_MEMCPY_NODE_PARAMS);
  const auto* words = reinterpret_cast<const std::byte*>(&params.reserved1);
  if (std::any_of(words + kUsed, words + sizeof params.reserved1, [](std::byte b) { return b != std::byte{}; }))
    return fail(CUDA_ERROR_INVALID_VALUE, "reserved members of the node's parameters are set");
  return CUDA_SUCCESS;
}

// All types that need no graph.
Result<NodeParams> describePlain(const CUgraphNodeParams& params) {
  switch (const int type = rawValue(params.type)) {
    case CU_GRAPH_NODE_TYPE_KERNEL: {
      CUDA_KERNEL_NODE_PARAMS_v2 kernel;
      std::memcpy(&kernel, &params.kernel, sizeof kernel);
      return describe(&kernel);
    }
    case CU_GRAPH_NODE_TYPE_MEMCPY:
      if (params.memcpy.flags || params.memcpy.reserved)
        return fail(CUDA_ERROR_INVALID_VALUE, "flags %#x", params.memcpy.flags);
      return describe(&params.memcpy.copyParams, params.memcpy.copyCtx);
    case CU_GRAPH_NODE_TYPE_MEMSET: {
      CUDA_MEMSET_NODE_PARAMS fill;
      std::memcpy(&fill, &params.memset, sizeof fill);
      return describe(&fill, params.memset.ctx);
    }
    case CU_GRAPH_NODE_TYPE_HOST: {
      const CUDA_HOST_NODE_PARAMS host{params.host.fn, params.host.userData};
      if (params.host.syncMode > CU_HOST_TASK_SPINWAIT)
        return fail(CUDA_ERROR_INVALID_VALUE, "synchronisation mode %u", params.host.syncMode);
      VG_TRY(NodeParams described, describe(&host));
      std::get<work::HostCall>(described).syncMode = params.host.syncMode;
      std::get<work::HostCall>(described).context = params.host.ctx;
      return described;
    }
    case CU_GRAPH_NODE_TYPE_EMPTY:
      return NodeParams(EmptyNode{});
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
      return describeWait(params.eventWait.event);
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD: {
      VG_TRY(NodeParams described, describeRecord(params.eventRecord.event));
      std::get<work::Record>(described).context = params.eventRecord.ctx;
      return described;
    }
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL: {
      const auto& s = params.extSemSignal;
      const CUDA_EXT_SEM_SIGNAL_NODE_PARAMS signal{s.extSemArray, s.paramsArray, s.numExtSems};
      return describe(&signal);
    }
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT: {
      const auto& s = params.extSemWait;
      const CUDA_EXT_SEM_WAIT_NODE_PARAMS wait{s.extSemArray, s.paramsArray, s.numExtSems};
      return describe(&wait);
    }
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP: {
      const auto& b = params.memOp;
      const CUDA_BATCH_MEM_OP_NODE_PARAMS batch{b.ctx, b.count, b.paramArray, b.flags};
      return describe(&batch);
    }
    case CU_GRAPH_NODE_TYPE_MEMCPY_BATCH:
      return describe(&params.memcpyBatch);
    case CU_GRAPH_NODE_TYPE_FABRIC_CPY_BATCH:
      if (!params.fabricCpyBatch.numOps || !params.fabricCpyBatch.opList || params.fabricCpyBatch.flags)
        return fail(CUDA_ERROR_INVALID_VALUE, "a batch without operations, or with flags");
      return fail(CUDA_ERROR_NOT_SUPPORTED, "no device has logical endpoints");
    default:
      return fail(CUDA_ERROR_INVALID_VALUE, "node type %d", type);
  }
}

CUresult checkAnyContext(CUcontext handle) {
  if (handle) VG_CHECK(findAnyContext(handle));
  return CUDA_SUCCESS;
}

}  // namespace

CUresult checkContexts(const CUgraphNodeParams& params) {
  switch (rawValue(params.type)) {
    case CU_GRAPH_NODE_TYPE_HOST:
      return checkAnyContext(params.host.ctx);
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
      return checkAnyContext(params.eventRecord.ctx);
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL:
      return checkAnyContext(params.extSemSignal.ctx);
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT:
      return checkAnyContext(params.extSemWait.ctx);
    case CU_GRAPH_NODE_TYPE_MEMCPY_BATCH:
      return checkAnyContext(params.memcpyBatch.ctx);
    case CU_GRAPH_NODE_TYPE_KERNEL: {
      if (!params.kernel.func || !params.kernel.ctx || findKernel(reinterpret_cast<CUkernel>(params.kernel.func)).ok())
        return CUDA_SUCCESS;
      VG_TRY(const ContextReference given, findAnyContext(params.kernel.ctx));
      VG_TRY(Function & function, findFunction(params.kernel.func));
      if (given.context == &function.context()) return CUDA_SUCCESS;
      return fail(CUDA_ERROR_INVALID_CONTEXT, "the function was loaded into another context than the node's");
    }
    default:
      return CUDA_SUCCESS;
  }
}

Result<NodeParams> describe(CUgraphNodeParams& params, Graph& parent, const std::vector<Dependency>& dependencies) {
  VG_CHECK(checkReserved(params));
  switch (rawValue(params.type)) {
    case CU_GRAPH_NODE_TYPE_GRAPH: {
      const int ownership = rawValue(params.graph.ownership);  // others than MOVE are as good as CLONE to the driver
      return describeChild(parent, params.graph.graph, ownership == CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE);
    }
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
      return describeAlloc(parent, reinterpret_cast<CUDA_MEM_ALLOC_NODE_PARAMS*>(&params.alloc), dependencies);
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
      return describeFree(parent, params.free.dptr, dependencies);
    case CU_GRAPH_NODE_TYPE_CONDITIONAL:
      return describeConditional(parent, params.conditional);
    default:
      return describePlain(params);
  }
}

Result<NodeParams> describeForSet(const CUgraphNodeParams& params, const GraphNode& node) {
  VG_CHECK(checkReserved(params));
  if (const int type = rawValue(params.type); type != node.type())
    return fail(CUDA_ERROR_INVALID_VALUE, "parameters of type %d for a node of type %d", type, node.type());
  switch (node.type()) {
    case CU_GRAPH_NODE_TYPE_GRAPH:
      return describeChild(node.graph(), params.graph.graph);
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
    case CU_GRAPH_NODE_TYPE_CONDITIONAL:
      return unsupported("setting the parameters of a node of type %d", node.type());
    default:
      return describePlain(params);
  }
}

void giveBack(const GraphNode& node, CUgraphNodeParams& params) {
  const auto* conditional = node.as<ConditionalNode>();
  if (!conditional) return;
  conditional->handles.clear();
  for (Graph* body : conditional->bodies) conditional->handles.push_back(body->handle());
  params.conditional.phGraph_out = conditional->handles.data();
}

void replace(GraphNode& node, NodeParams params) {
  if (auto* kernel = std::get_if<KernelNode>(&params)) {
    kernel->launch.attributes = node.as<KernelNode>()->launch.attributes;
    kernel->updatable = node.as<KernelNode>()->updatable;
  }
  if (auto* child = std::get_if<ChildNode>(&params)) child->graph->setOwner(&node);
  Graph* const ended = node.as<ChildNode>() ? node.as<ChildNode>()->graph : nullptr;
  node.params = std::move(params);
  if (ended) destroy(*ended);
}

}  // namespace vg::core::graphs
