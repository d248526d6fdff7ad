#include "core/executables/graph_exec.h"

#include <algorithm>

#include "base/memory/slab.h"
#include "core/contexts/context.h"
#include "core/contexts/current_context.h"
#include "core/executables/graph_device_launch.h"
#include "core/graphs/graph_conditional.h"
#include "core/graphs/graph_memory.h"
#include "core/graphs/graph_update.h"
#include "core/process/device.h"
#include "core/work/work_activity.h"

namespace vg::core {
namespace {

constinit Slab<GraphExec> slab;

}  // namespace

GraphExec::GraphExec(Graph& image, uint64_t flags) : image_(image), flags_(flags), functions_(image, forKernels()) {
  if (Result<Context&> current = currentContext()) context_ = {&*current, current->generation()};
  index(image);
}

bool GraphExec::canDisable(const GraphNode& node) {
  return node.as<KernelNode>() || node.as<work::Copy>() || node.as<work::Fill>();
}

GraphExec::~GraphExec() {
  discardPlan();
  if (uploaded_) {
    GraphEnvironment::setLaunchable(name(), nullptr);
    uploaded_->drop();
  }
  for (const auto& [id, node] : nodes_)
    if (const auto* kernel = node->as<KernelNode>(); kernel && kernel->updatable) kernel->updatable->end();
  graphs::destroy(image_);
}

void GraphExec::index(Graph& graph) {
  nodes_.reserve(nodes_.size() + graph.nodes().size());
  for (GraphNode* node : graph.nodes()) {
    nodes_.emplace(node->origin(), node);
    if (auto* child = node->as<ChildNode>()) index(*child->graph);
    if (auto* conditional = node->as<ConditionalNode>())
      for (Graph* body : conditional->bodies) index(*body);
  }
}

Result<GraphNode&> GraphExec::find(const GraphNode& original) {
  const auto found = nodes_.find(original.id());
  if (found == nodes_.end())
    return fail(CUDA_ERROR_INVALID_VALUE, "the node was not in the graph when it was instantiated");
  return *found->second;
}

void GraphExec::discardPlan() {
  if (plan_) plan_->drop();
  plan_ = nullptr;
}

// In place when no launch is under way, else in a new plan.
void GraphExec::changed(const GraphNode& node) {
  if (plan_ && !plan_->shared() && plan_->patch(node, !enabled(node)) == CUDA_SUCCESS) return;
  discardPlan();
}

namespace {

GraphNode* findNode(const Graph& graph, uint64_t id) {
  for (GraphNode* node : graph.nodes()) {
    if (node->id() == id) return node;
    const auto* child = node->as<ChildNode>();
    if (GraphNode* inside = child ? findNode(*child->graph, id) : nullptr) return inside;
  }
  return nullptr;
}

}  // namespace

Result<GraphPlan*> GraphExec::makePlan(GraphNode** culprit) {
  const bool ownPriorities = flags_ & CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY;
  return GraphPlan::make(image_, *context_.context, disabled_, forKernels() ? name() : 0, ownPriorities, culprit);
}

CUresult GraphExec::prepare(const Graph& original, GraphNode** culprit) {
  GraphNode* node = nullptr;
  auto plan = makePlan(&node);
  if (!plan.ok()) {
    *culprit = node ? findNode(original, node->origin()) : nullptr;
    return plan.error();
  }
  plan_ = plan.value();
  return CUDA_SUCCESS;
}

void GraphExec::claim(Graph& original) {
  originId_ = original.id();
  original.latest = handle();
}

CUresult GraphExec::set(GraphNode& node, NodeParams params) {
  if (params.index() != static_cast<size_t>(node.type()))
    return fail(CUDA_ERROR_INVALID_VALUE, "parameters of another type");
  if (auto* child = std::get_if<ChildNode>(&params)) {
    if (child->graph->hasUpdatableNodesInside() || node.as<ChildNode>()->graph->hasUpdatableNodesInside()) {
      graphs::destroy(*child->graph);
      return unsupported("setting a child graph with nodes that kernels may change");
    }
    const graph_update::Verdict result = check(*node.as<ChildNode>()->graph, *child->graph);
    if (result.result == CU_GRAPH_EXEC_UPDATE_SUCCESS) graph_update::apply(*node.as<ChildNode>()->graph, *child->graph);
    graphs::destroy(*child->graph);
    if (result.result != CU_GRAPH_EXEC_UPDATE_SUCCESS)
      return fail(CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE, "the child graph has another shape");
    discardPlan();
    return CUDA_SUCCESS;
  }
  if (graph_update::compare(node.params, params) != CU_GRAPH_EXEC_UPDATE_SUCCESS || !permits(node, params))
    return fail(CUDA_ERROR_INVALID_VALUE, "the node may not change in this way");
  graph_update::take(node.params, std::move(params));
  changed(node);
  return CUDA_SUCCESS;
}

CUresult GraphExec::setEnabled(GraphNode& node, bool on) {
  if (!canDisable(node)) return fail(CUDA_ERROR_INVALID_VALUE, "a node of type %d is always enabled", node.type());
  if (enabled(node) == on && !graphs::updatable(node)) return CUDA_SUCCESS;  // kernels may have switched it since
  if (on)
    disabled_.erase(node.id());
  else
    disabled_.emplace(node.id(), true);
  if (auto* kernel = node.as<KernelNode>()) kernel->version = nextVersion();
  changed(node);
  return CUDA_SUCCESS;
}

bool GraphExec::permits(const GraphNode& node, const NodeParams& params) const {
  if (const auto* kernel = std::get_if<KernelNode>(&params)) return functions_.permits(node, *kernel);
  const auto* const copy = std::get_if<work::Copy>(&params);
  return !copy || !forKernels() || device_launch::reachable(copy->box);
}

graph_update::Verdict GraphExec::check(const Graph& mine, const Graph& other) const {
  return graph_update::check(
      mine, other, [this](const GraphNode& node, const GraphNode& source) { return permits(node, source.params); });
}

graph_update::Verdict GraphExec::update(Graph& graph) {
  const graph_update::Verdict result = check(image_, graph);
  if (result.result != CU_GRAPH_EXEC_UPDATE_SUCCESS) {
    if (!graph.sole()) graph.forgetLatest();
    return result;
  }
  graph_update::apply(image_, graph);
  discardPlan();
  claim(graph);
  return result;
}

// What memory nodes do to the memory of graphs: checked whole before anything changes. Memory that is live for part of
// the launch only counts as used by it.
Result<std::vector<GraphExec::MemoryChange>> GraphExec::memoryChanges() const {
  std::vector<MemoryChange> changes;
  std::unordered_map<const GraphMemory*, size_t> known;
  const auto changeOf = [&](const std::shared_ptr<GraphMemory>& memory) -> MemoryChange& {
    const auto [found, fresh] = known.emplace(memory.get(), changes.size());
    if (fresh) changes.push_back({memory, memory->live()});
    return changes[found->second];
  };
  if (flags_ & CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH)
    for (const MemoryEnd& end : plan_->memoryEnds())
      if (end.memory) changeOf(end.memory).live = false;
  for (const MemoryEnd& end : plan_->memoryEnds()) {
    const auto memory = end.memory ? end.memory : graphs::findMemory(end.address);
    if (end.memory && changeOf(memory).live)
      return fail(CUDA_ERROR_INVALID_VALUE, "memory of the last launch has not been freed");
    if (!end.memory && (!memory || !changeOf(memory).live))
      return fail(CUDA_ERROR_INVALID_VALUE, "%#llx is not live when it is to be freed", end.address);
    changeOf(memory).live = !changeOf(memory).live;
  }
  return changes;
}

// As on a GPU, nodes fault that name memory which is gone.
CUresult GraphExec::failLater(Stream& stream) {
  const auto report = [](void* data) {
    static_cast<Context*>(data)->report(CUDA_ERROR_LAUNCH_FAILED, "memory of a graph's node was freed");
  };
  return stream.hostCall(report, &stream.context());
}

CUresult GraphExec::renewPlan(bool* stale) {
  *stale = plan_ && !plan_->intact();
  if (*stale) discardPlan();  // other memory may have taken the addresses over, which is as good
  if (plan_) return CUDA_SUCCESS;
  GraphNode* culprit = nullptr;
  VG_TRY(plan_, makePlan(&culprit));
  return CUDA_SUCCESS;
}

void GraphExec::keepForKernels() {
  if (!forKernels() || uploaded_ == plan_) return;
  plan_->reference();
  plan_->prepare();
  GraphEnvironment::setLaunchable(name(), plan_);
  if (uploaded_) uploaded_->drop();
  uploaded_ = plan_;
}

CUresult GraphExec::upload(Stream& stream) {
  VG_CHECK(stream.context().state());
  bool stale = false;
  if (const CUresult bad = renewPlan(&stale)) return stale ? CUDA_SUCCESS : bad;  // launching says so
  keepForKernels();
  return plan_->upload(stream);
}

CUresult GraphExec::launch(Stream& stream) {
  VG_CHECK(stream.context().state());
  bool stale = false;
  if (const CUresult bad = renewPlan(&stale)) return stale ? failLater(stream) : bad;
  if (!plan_->operationsReach())
    return fail(CUDA_ERROR_INVALID_VALUE, "a node waits for or writes a word at an address without memory");
  keepForKernels();
  VG_TRY(const std::vector<MemoryChange> changes, memoryChanges());
  stream.context().device().backend().flushOutput();
  const work_activity::OfGraph belongs(static_cast<uint32_t>(image_.number()));
  VG_CHECK(plan_->submit(stream, last_));
  last_ = stream.tail();
  for (const MemoryChange& change : changes) {
    graphs::setLive(change.memory, true, {});  // at some time of the launch
    if (!change.live) graphs::setLive(change.memory, false, last_);
  }
  return CUDA_SUCCESS;
}

namespace graph_execs {
namespace {

Instantiated refused(CUgraphInstantiateResult result, GraphNode* culprit, CUresult error, const char* why) {
  return {nullptr, result, culprit, fail(error, "%s", why)};
}

// A node of a cycle, in the graph or a child of it; null when there is none.
GraphNode* cyclic(const Graph& graph) {
  const std::vector<GraphNode*> order = graph.sorted();
  if (order.size() != graph.nodes().size()) {
    GraphNode* last = nullptr;
    for (GraphNode* node : graph.nodes())
      if (std::find(order.begin(), order.end(), node) == order.end()) last = node;
    return last;
  }
  for (GraphNode* node : graph.nodes())
    if (const auto* child = node->as<ChildNode>())
      if (GraphNode* inside = cyclic(*child->graph)) return inside;
  return nullptr;
}

bool hasUnusedCondition(const Graph& graph) {
  if (graphs::hasUnusedCondition(graph.id())) return true;
  return std::any_of(graph.nodes().begin(), graph.nodes().end(), [](const GraphNode* node) {
    const auto* child = node->as<ChildNode>();
    return child && hasUnusedCondition(*child->graph);
  });
}

}  // namespace

bool taken(const Graph& graph) {
  const GraphExec* const latest = graph.sole() ? slab.find(graph.latest) : nullptr;
  return latest && latest->hasClaimed(graph);
}

Instantiated instantiate(Graph& graph, uint64_t flags) {
  if (auto current = currentContext(); !current.ok())
    return {nullptr, CUDA_GRAPH_INSTANTIATE_ERROR, nullptr, current.error()};
  if (graph.owner())
    return refused(CUDA_GRAPH_INSTANTIATE_ERROR, nullptr, CUDA_ERROR_NOT_SUPPORTED, "the graph belongs to a node");
  if (graph.capturing())
    return refused(CUDA_GRAPH_INSTANTIATE_ERROR, nullptr, CUDA_ERROR_ILLEGAL_STATE, "a stream captures into the graph");
  if (GraphNode* node = cyclic(graph))
    return refused(CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE, node, CUDA_ERROR_INVALID_VALUE, "the graph has a cycle");
  if (hasUnusedCondition(graph))
    return refused(CUDA_GRAPH_INSTANTIATE_CONDITIONAL_HANDLE_UNUSED, nullptr, CUDA_ERROR_INVALID_VALUE,
                   "a conditional handle has no node");
  if (GraphNode* node = graphs::misplacedInBody(graph))
    return refused(CUDA_GRAPH_INSTANTIATE_NODE_OPERATION_NOT_SUPPORTED, node, CUDA_ERROR_INVALID_VALUE,
                   "bodies of conditional nodes have kernels, copies, fills, child graphs and conditional nodes only");
  const device_launch::Verdict verdict = device_launch::check(graph, flags);
  if (verdict.error != CUDA_SUCCESS) return {nullptr, verdict.result, verdict.culprit, verdict.error};
  if (taken(graph))
    return refused(CUDA_GRAPH_INSTANTIATE_ERROR, nullptr, CUDA_ERROR_NOT_SUPPORTED,
                   "a graph with memory or conditional nodes, or with nodes that kernels may change, is instantiated");
  GraphExec* const exec = slab.create(graphs::clone(graph), flags);
  GraphNode* culprit = nullptr;
  if (const CUresult bad = exec->prepare(graph, &culprit)) {
    slab.destroy(exec);
    return {nullptr, CUDA_GRAPH_INSTANTIATE_ERROR, culprit, bad};
  }
  graph.sole() ? exec->claim(graph) : graph.forgetLatest();
  return {exec};
}

Result<GraphExec&> find(CUgraphExec handle) {
  if (GraphExec* exec = slab.find(handle)) return *exec;
  return fail(CUDA_ERROR_INVALID_VALUE, "%p is no executable graph", static_cast<void*>(handle));
}

void destroy(GraphExec& exec) { slab.destroy(&exec); }

}  // namespace graph_execs
}  // namespace vg::core
