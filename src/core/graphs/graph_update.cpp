#include "core/graphs/graph_update.h"

#include <algorithm>
#include <deque>
#include <tuple>
#include <unordered_map>

#include "base/raw_enum.h"
#include "core/graphs/graph_describe.h"
#include "core/memory/memory.h"

namespace vg::core::graph_update {
namespace {

using Pairs = std::unordered_map<const GraphNode*, GraphNode*>;  // mine -> other

// Nodes that nothing comes after, the newest first.
std::vector<GraphNode*> ends(const Graph& graph) {
  std::vector<GraphNode*> found;
  for (GraphNode* node : graph.nodes())
    if (node->dependents().empty()) found.push_back(node);
  std::reverse(found.begin(), found.end());
  return found;
}

struct Pairing {
  Verdict verdict;
  Pairs pairs;
  std::deque<std::pair<const GraphNode*, GraphNode*>> open;

  bool refuse(CUgraphExecUpdateResult result, GraphNode* node) {
    verdict = {result, node};
    return false;
  }
  bool pair(const GraphNode* mine, GraphNode* other) {
    const auto [known, fresh] = pairs.emplace(mine, other);
    if (!fresh) return known->second == other || refuse(CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, other);
    if (mine->type() != other->type()) return refuse(CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED, other);
    if (mine->dependencies().size() != other->dependencies().size())
      return refuse(CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, other);
    open.emplace_back(mine, other);
    return true;
  }
  bool walk() {
    while (!open.empty()) {
      const auto [mine, other] = open.front();
      open.pop_front();
      for (size_t i = 0; i < mine->dependencies().size(); ++i)
        if (!pair(mine->dependencies()[i].node, other->dependencies()[i].node)) return false;
    }
    return true;
  }
};

Pairing pairUp(const Graph& mine, const Graph& other) {
  Pairing pairing;
  if (mine.nodes().size() != other.nodes().size()) {
    pairing.refuse(CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, nullptr);
    return pairing;
  }
  const std::vector<GraphNode*> ours = ends(mine), theirs = ends(other);
  if (ours.size() != theirs.size()) {
    pairing.refuse(CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED,
                   theirs.size() > ours.size() ? theirs[ours.size()] : nullptr);
    return pairing;
  }
  for (size_t i = 0; i < ours.size(); ++i)
    if (!pairing.pair(ours[i], theirs[i])) return pairing;
  if (pairing.walk() && pairing.pairs.size() != mine.nodes().size())
    pairing.refuse(CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, nullptr);
  return pairing;
}

int kindOf(int type, CUdeviceptr address) {
  if (type != CU_MEMORYTYPE_UNIFIED) return type;
  const alloc::Record* record = memory::lookup(address);
  const bool host = !record || record->kind.load(std::memory_order_relaxed) == alloc::Kind::Pinned ||
                    record->kind.load(std::memory_order_relaxed) == alloc::Kind::Registered;
  return host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
}

bool oneRow(const CUDA_MEMCPY3D& copy) { return copy.Height <= 1 && copy.Depth <= 1; }

bool sameKind(const CUDA_MEMCPY3D& a, const CUDA_MEMCPY3D& b) {
  return kindOf(rawValue(a.srcMemoryType), a.srcDevice) == kindOf(rawValue(b.srcMemoryType), b.srcDevice) &&
         kindOf(rawValue(a.dstMemoryType), a.dstDevice) == kindOf(rawValue(b.dstMemoryType), b.dstDevice);
}

bool sameBox(const CUDA_MEMCPY3D& a, const CUDA_MEMCPY3D& b) {
  const auto fields = [](const CUDA_MEMCPY3D& c) {
    return std::tie(c.srcXInBytes, c.srcY, c.srcZ, c.srcLOD, c.srcHost, c.srcDevice, c.srcArray, c.srcPitch,
                    c.srcHeight, c.dstXInBytes, c.dstY, c.dstZ, c.dstLOD, c.dstHost, c.dstDevice, c.dstArray,
                    c.dstPitch, c.dstHeight, c.WidthInBytes, c.Height, c.Depth);
  };
  return fields(a) == fields(b);
}

// As the vendor's driver has it, rows copied by an executable graph stay what they were.
bool mayBecome(const CUDA_MEMCPY3D& mine, const CUDA_MEMCPY3D& other) {
  return sameKind(mine, other) && ((oneRow(mine) && oneRow(other)) || sameBox(mine, other));
}

// Of a fill of rows the value and the address may change.
bool mayBecome(const CUDA_MEMSET_NODE_PARAMS_v2& mine, const CUDA_MEMSET_NODE_PARAMS_v2& other) {
  if (mine.height <= 1 && other.height <= 1) return true;
  return mine.width == other.width && mine.height == other.height && mine.pitch == other.pitch &&
         mine.elementSize == other.elementSize;
}

Verdict checkPair(const GraphNode& mine, GraphNode& other, const Permits& permits) {
  if (const auto* child = mine.as<ChildNode>()) return check(*child->graph, *other.as<ChildNode>()->graph, permits);
  if (const auto* conditional = mine.as<ConditionalNode>()) {
    const auto& theirs = *other.as<ConditionalNode>();
    if (conditional->bodies.size() != theirs.bodies.size() || conditional->params.type != theirs.params.type)
      return {CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED, &other};
    for (size_t i = 0; i < theirs.bodies.size(); ++i) {
      const Verdict body = check(*conditional->bodies[i], *theirs.bodies[i], permits);
      if (body.result != CU_GRAPH_EXEC_UPDATE_SUCCESS) return body;
    }
    return {};
  }
  if (const auto* kernel = mine.as<KernelNode>();
      kernel && !kernel->launch.attributes.mayBecome(other.as<KernelNode>()->launch.attributes))
    return {CU_GRAPH_EXEC_UPDATE_ERROR_ATTRIBUTES_CHANGED, &other};
  CUgraphExecUpdateResult result = compare(mine.params, other.params);
  if (result == CU_GRAPH_EXEC_UPDATE_SUCCESS && !permits(mine, other))
    result = mine.as<KernelNode>() ? CU_GRAPH_EXEC_UPDATE_ERROR_UNSUPPORTED_FUNCTION_CHANGE
                                   : CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED;
  return {result, result == CU_GRAPH_EXEC_UPDATE_SUCCESS ? nullptr : &other};
}

}  // namespace

CUgraphExecUpdateResult compare(const NodeParams& mine, const NodeParams& other) {
  bool same = true;
  if (const auto* copy = std::get_if<work::Copy>(&mine)) same = mayBecome(copy->box, std::get<work::Copy>(other).box);
  if (const auto* set = std::get_if<work::Fill>(&mine)) same = mayBecome(set->rows, std::get<work::Fill>(other).rows);
  if (const auto* batch = std::get_if<work::CopyBatch>(&mine))
    same = batch->sizes.size() == std::get<work::CopyBatch>(other).sizes.size();
  if (const auto* alloc = std::get_if<MemAllocNode>(&mine))
    same = alloc->memory == std::get<MemAllocNode>(other).memory;
  if (const auto* free = std::get_if<work::Free>(&mine)) same = free->address == std::get<work::Free>(other).address;
  return same ? CU_GRAPH_EXEC_UPDATE_SUCCESS : CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED;
}

void take(NodeParams& mine, NodeParams other) {
  if (auto* kernel = std::get_if<KernelNode>(&mine)) {
    const LaunchAttributes attributes = kernel->launch.attributes;
    auto updatable = std::move(kernel->updatable);
    *kernel = std::move(std::get<KernelNode>(other));
    kernel->launch.attributes = attributes;
    kernel->updatable = std::move(updatable);
    kernel->argumentAddresses.clear();
    return;
  }
  mine = std::move(other);
}

Verdict check(const Graph& mine, const Graph& other, const Permits& permits) {
  Pairing pairing = pairUp(mine, other);
  if (pairing.verdict.result != CU_GRAPH_EXEC_UPDATE_SUCCESS) return pairing.verdict;
  for (GraphNode* node : mine.nodes()) {
    const Verdict verdict = checkPair(*node, *pairing.pairs.at(node), permits);
    if (verdict.result != CU_GRAPH_EXEC_UPDATE_SUCCESS) return verdict;
  }
  return {};
}

void apply(Graph& mine, const Graph& other) {
  const Pairing pairing = pairUp(mine, other);
  for (GraphNode* node : mine.nodes()) {
    const GraphNode& source = *pairing.pairs.at(node);
    Graph::takeEdgeData(*node, source);  // a plan looks at them: kernels may begin early
    if (auto* child = node->as<ChildNode>()) {
      apply(*child->graph, *source.as<ChildNode>()->graph);
    } else if (auto* conditional = node->as<ConditionalNode>()) {
      const auto& theirs = *source.as<ConditionalNode>();
      conditional->params.handle = theirs.params.handle;  // their kernels set it
      conditional->initial = theirs.initial, conditional->assigned = theirs.assigned;
      conditional->inside = theirs.inside;
      for (size_t i = 0; i < conditional->bodies.size(); ++i) apply(*conditional->bodies[i], *theirs.bodies[i]);
    } else {
      node->params = source.params;
      if (auto* kernel = node->as<KernelNode>()) kernel->argumentAddresses.clear();
    }
  }
}

}  // namespace vg::core::graph_update
