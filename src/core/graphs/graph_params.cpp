#include "core/graphs/graph_params.h"

#include <algorithm>
#include <cstring>
#include <tuple>

#include "base/raw_enum.h"
#include "core/contexts/current_context.h"
#include "core/graphs/graph_describe.h"

namespace vg::core::graphs {
namespace {

// One for each kind: writes the member of the union that is its.
void put(CUgraphNodeParams& out, KernelNode& node) {
  const CUDA_KERNEL_NODE_PARAMS_v2 params = kernelParams(node);
  std::memcpy(&out.kernel, &params, sizeof params);
}
void put(CUgraphNodeParams& out, work::Copy& node) { out.memcpy = {0, 0, handleOf(node.context), node.box}; }
void put(CUgraphNodeParams& out, work::Fill& node) { out.memset = node.rows; }
void put(CUgraphNodeParams& out, work::HostCall& node) {
  out.host.fn = node.call.fn;
  out.host.userData = node.call.userData;
  out.host.syncMode = node.syncMode;
  out.host.ctx = node.context;
}
void put(CUgraphNodeParams& out, ChildNode& node) {
  out.graph = {node.graph->handle(), CU_GRAPH_CHILD_GRAPH_OWNERSHIP_INVALID};
}
void put(CUgraphNodeParams&, EmptyNode&) {}
void put(CUgraphNodeParams& out, work::Wait& node) { out.eventWait.event = node.event; }
void put(CUgraphNodeParams& out, work::Record& node) {
  out.eventRecord.event = node.event;
  out.eventRecord.ctx = node.context;
}
void put(CUgraphNodeParams& out, SemaphoreSignalNode& node) {
  out.extSemSignal.extSemArray = node.semaphores.data();
  out.extSemSignal.paramsArray = node.params.data();
  out.extSemSignal.numExtSems = static_cast<unsigned>(node.params.size());
}
void put(CUgraphNodeParams& out, SemaphoreWaitNode& node) {
  out.extSemWait.extSemArray = node.semaphores.data();
  out.extSemWait.paramsArray = node.params.data();
  out.extSemWait.numExtSems = static_cast<unsigned>(node.params.size());
}
void put(CUgraphNodeParams& out, MemAllocNode& node) {
  std::memcpy(&out.alloc, &node.params, sizeof node.params);
  out.alloc.accessDescs = node.access.empty() ? nullptr : node.access.data();
  out.alloc.accessDescCount = node.access.size();
}
void put(CUgraphNodeParams& out, work::Free& node) { out.free.dptr = node.address; }
void put(CUgraphNodeParams& out, work::MemoryOperations& node) {
  out.memOp = {node.handle, static_cast<unsigned>(node.operations.size()), node.operations.data(), node.flags};
}
void put(CUgraphNodeParams& out, ConditionalNode& node) {
  out.conditional = node.params;
  node.handles.clear();
  for (Graph* body : node.bodies) node.handles.push_back(body->handle());
  out.conditional.phGraph_out = node.handles.data();
}
void put(CUgraphNodeParams& out, work::CopyBatch& node) {
  CUDA_MEMCPY_BATCH_NODE_PARAMS& batch = out.memcpyBatch;
  batch.count = node.sizes.size();
  batch.dsts = node.destinations.data();
  batch.srcs = node.sources.data();
  batch.sizes = node.sizes.data();
  batch.attrs = node.attributes.data();
  batch.attrsIdxs = node.starts.data();
  batch.numAttrs = node.attributes.size();
  batch.ctx = node.handle;
}

// Plain structures whose padding is not the application's: copied member by member, zeroed before.
template <class T>
bool sameBytes(const T& a, const T& b) {
  return !std::memcmp(static_cast<const void*>(&a), static_cast<const void*>(&b), sizeof a);
}
template <class T>
bool sameArrays(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && (a.empty() || !std::memcmp(a.data(), b.data(), a.size() * sizeof(T)));
}

bool sameNumbers(const uint32_t (&a)[3], const uint32_t (&b)[3]) { return std::equal(a, a + 3, b); }
bool sameNode(const KernelNode& x, const KernelNode& y) {
  const work::Launch &a = x.launch, &b = y.launch;
  return a.function == b.function && a.kernel == b.kernel && sameNumbers(a.shape.grid, b.shape.grid) &&
         sameNumbers(a.shape.block, b.shape.block) && a.shape.dynamicShared == b.shape.dynamicShared &&
         a.context.context == b.context.context && a.arguments == b.arguments && a.attributes == b.attributes;
}
// The context says who copies, not what.
bool sameNode(const work::Copy& a, const work::Copy& b) {
  const auto members = [](const CUDA_MEMCPY3D& c) {
    return std::tuple(c.srcXInBytes, c.srcY, c.srcZ, c.srcLOD, rawValue(c.srcMemoryType), c.srcHost, c.srcDevice,
                      c.srcArray, c.srcPitch, c.srcHeight, c.dstXInBytes, c.dstY, c.dstZ, c.dstLOD,
                      rawValue(c.dstMemoryType), c.dstHost, c.dstDevice, c.dstArray, c.dstPitch, c.dstHeight,
                      c.WidthInBytes, c.Height, c.Depth);
  };
  return members(a.box) == members(b.box);
}
bool sameNode(const work::Fill& a, const work::Fill& b) {
  const auto &x = a.rows, &y = b.rows;
  return x.dst == y.dst && x.pitch == y.pitch && x.value == y.value && x.elementSize == y.elementSize &&
         x.width == y.width && x.height == y.height;
}
bool sameNode(const work::HostCall& a, const work::HostCall& b) {
  return sameBytes(a.call, b.call) && a.syncMode == b.syncMode && a.context == b.context;
}
bool sameNode(const ChildNode& a, const ChildNode& b) {
  const auto &x = a.graph->nodes(), &y = b.graph->nodes();
  bool all = x.size() == y.size();
  for (size_t i = 0; all && i < x.size(); ++i) all = same(x[i]->params, y[i]->params);
  return all;
}
bool sameNode(const EmptyNode&, const EmptyNode&) { return true; }
bool sameNode(const work::Wait& a, const work::Wait& b) { return a.event == b.event && a.flags == b.flags; }
bool sameNode(const work::Record& a, const work::Record& b) {
  return a.event == b.event && a.flags == b.flags && a.context == b.context;
}
template <class Semaphores>
bool sameSemaphores(const Semaphores& a, const Semaphores& b) {
  return a.semaphores == b.semaphores && sameArrays(a.params, b.params);
}
bool sameNode(const SemaphoreSignalNode& a, const SemaphoreSignalNode& b) { return sameSemaphores(a, b); }
bool sameNode(const SemaphoreWaitNode& a, const SemaphoreWaitNode& b) { return sameSemaphores(a, b); }
// The address is the node's own, whatever the other one has.
bool sameNode(const MemAllocNode& a, const MemAllocNode& b) {
  return a.params.bytesize == b.params.bytesize && sameBytes(a.params.poolProps, b.params.poolProps) &&
         sameArrays(a.access, b.access);
}
bool sameNode(const work::Free& a, const work::Free& b) { return a.address == b.address; }
bool sameNode(const work::MemoryOperations& a, const work::MemoryOperations& b) {
  return a.handle == b.handle && a.flags == b.flags && sameArrays(a.operations, b.operations);
}
bool sameNode(const ConditionalNode& a, const ConditionalNode& b) { return a.params.handle == b.params.handle; }
bool sameNode(const work::CopyBatch& a, const work::CopyBatch& b) {
  return a.destinations == b.destinations && a.sources == b.sources && a.sizes == b.sizes && a.starts == b.starts &&
         sameArrays(a.attributes, b.attributes) && a.handle == b.handle;
}

}  // namespace

CUgraphNodeParams paramsOf(NodeParams& params) {
  CUgraphNodeParams out;
  std::memset(&out, 0, sizeof out);
  out.type = static_cast<CUgraphNodeType>(params.index());
  std::visit([&](auto& node) { put(out, node); }, params);
  return out;
}

CUgraphNodeParams paramsOf(GraphNode& node) { return paramsOf(node.params); }

bool same(const NodeParams& a, const NodeParams& b) {
  if (a.index() != b.index()) return false;
  return std::visit([&](const auto& node) { return sameNode(node, std::get<std::decay_t<decltype(node)>>(b)); }, a);
}

}  // namespace vg::core::graphs
