#include "core/graphs/graph.h"

#include <algorithm>
#include <atomic>
#include <queue>
#include <utility>

#include "backend/device_side/updatable_node.h"
#include "base/memory/slab.h"
#include "base/sync/mutex.h"
#include "core/graphs/graph_conditions.h"
#include "core/graphs/user_object.h"

namespace vg::core {
namespace {

constinit Mutex mutex;
constinit Slab<Graph> graphSlab;
constinit Slab<GraphNode, size_t{1} << 22> nodeSlab;
constinit uint64_t lastId = 0, lastGraph = 0, lastMark = 0;  // guarded by the mutex
constinit std::atomic<uint64_t> lastVersion{0};

uint64_t nextId() { return ++lastId; }

bool sameData(const CUgraphEdgeData& a, const CUgraphEdgeData& b) {
  return a.from_port == b.from_port && a.to_port == b.to_port && a.type == b.type;
}

auto findEnd(std::vector<Dependency>& edges, const GraphNode& node) {
  return std::find_if(edges.begin(), edges.end(), [&](const Dependency& edge) { return edge.node == &node; });
}

// For one more, growing as push_back does.
template <class Item>
void makeRoom(std::vector<Item>& items) {
  if (items.size() == items.capacity()) items.reserve(std::max<size_t>(4, 2 * items.size()));
}

// Graphs that a node owns.
template <class Visit>
void forOwned(const NodeParams& params, Visit visit) {
  if (const auto* child = std::get_if<ChildNode>(&params); child && child->graph) visit(*child->graph);
  if (const auto* conditional = std::get_if<ConditionalNode>(&params))
    for (Graph* body : conditional->bodies) visit(*body);
}

}  // namespace

struct GraphLife {
  static void setOrigin(Graph& graph, uint64_t origin) { graph.origin_ = origin; }
  static void destroyNode(GraphNode* node) {
    forOwned(node->params, [](Graph& graph) { graphs::destroy(graph); });
    nodeSlab.destroy(node);
  }
};

Graph::~Graph() {
  graphs::dropConditions(id_);
  for (GraphNode* node : nodes_) GraphLife::destroyNode(node);
  for (auto [object, count] : userObjects) object->letGo(count);
}

// Programmatic edges lead from kernels to kernels; the other end is looked at where it is known.
CUresult checkFrom(const Dependency& edge) {
  if (graphs::isDefault(edge.data) || edge.node->as<KernelNode>()) return CUDA_SUCCESS;
  return fail(CUDA_ERROR_INVALID_VALUE, "a programmatic edge from a node of type %d", edge.node->type());
}

CUresult Graph::checkDependencies(std::span<const Dependency> dependencies) const {
  for (const Dependency& before : dependencies) {
    if (&before.node->graph() != this)
      return fail(CUDA_ERROR_INVALID_VALUE, "a dependency on node %p of another graph",
                  static_cast<void*>(before.node));
    VG_CHECK(checkFrom(before));
  }
  std::vector<const GraphNode*> named;
  for (const Dependency& before : dependencies) named.push_back(before.node);
  std::sort(named.begin(), named.end());
  if (std::adjacent_find(named.begin(), named.end()) != named.end())
    return fail(CUDA_ERROR_INVALID_VALUE, "a dependency is named twice");
  return CUDA_SUCCESS;
}

Result<GraphNode&> Graph::add(NodeParams params, std::span<const Dependency> dependencies) {
  VG_CHECK(checkDependencies(dependencies));
  // All room first: nothing may fail once the node is known to others.
  makeRoom(nodes_);
  for (const Dependency& before : dependencies) makeRoom(before.node->dependents_);
  std::vector<Dependency> own(dependencies.begin(), dependencies.end());
  GraphNode& node = *nodeSlab.create(*this, nextId(), std::move(params));
  forOwned(node.params, [&](Graph& graph) { graph.setOwner(&node); });
  nodes_.push_back(&node);
  node.dependencies_ = std::move(own);
  for (const Dependency& before : dependencies) before.node->dependents_.push_back({&node, before.data});
  return node;
}

void Graph::remove(GraphNode& node) {
  for (const Dependency& before : node.dependencies_)
    before.node->dependents_.erase(findEnd(before.node->dependents_, node));
  for (const Dependency& after : node.dependents_)
    after.node->dependencies_.erase(findEnd(after.node->dependencies_, node));
  nodes_.erase(std::find(nodes_.begin(), nodes_.end(), &node));
  GraphLife::destroyNode(&node);
}

CUresult Graph::checkEdge(GraphNode& from, GraphNode& to, const CUgraphEdgeData& data) {
  if (&from.graph() != this || &to.graph() != this || &from == &to)
    return fail(CUDA_ERROR_INVALID_VALUE, "an edge between %p and %p, which are not two nodes of the graph",
                static_cast<void*>(&from), static_cast<void*>(&to));
  VG_CHECK(checkFrom({&from, data}));
  if (!graphs::isDefault(data) && !to.as<KernelNode>())
    return fail(CUDA_ERROR_INVALID_VALUE, "a programmatic edge to a node of type %d", to.type());
  return CUDA_SUCCESS;
}

CUresult Graph::connect(GraphNode& from, GraphNode& to, const CUgraphEdgeData& data) {
  VG_CHECK(checkEdge(from, to, data));
  if (findEdge(from, to)) return fail(CUDA_ERROR_INVALID_VALUE, "the edge exists");
  makeRoom(from.dependents_);
  to.dependencies_.push_back({&from, data});
  from.dependents_.push_back({&to, data});
  return CUDA_SUCCESS;
}

CUresult Graph::disconnect(GraphNode& from, GraphNode& to) {
  const bool ours = &from.graph() == this && &to.graph() == this;
  if (!ours || !findEdge(from, to)) return fail(CUDA_ERROR_INVALID_VALUE, "there is no such edge");
  to.dependencies_.erase(findEnd(to.dependencies_, from));
  from.dependents_.erase(findEnd(from.dependents_, to));
  return CUDA_SUCCESS;
}

const Dependency* Graph::findEdge(const GraphNode& from, const GraphNode& to) const {
  for (const Dependency& edge : to.dependencies_)
    if (edge.node == &from) return &edge;
  return nullptr;
}

void Graph::takeEdgeData(GraphNode& node, const GraphNode& other) {
  for (size_t i = 0; i < node.dependencies_.size(); ++i) {
    Dependency& before = node.dependencies_[i];
    before.data = other.dependencies_[i].data;
    findEnd(before.node->dependents_, node)->data = before.data;
  }
}

size_t Graph::edgeCount() const {
  size_t count = 0;
  for (const GraphNode* node : nodes_) count += node->dependencies_.size();
  return count;
}

std::vector<GraphNode*> Graph::sorted() const {
  // What waits for an event or a word of memory may wait for something that a node beside it does.
  const auto waits = [](const GraphNode* node) { return node->as<work::Wait>() || node->as<work::MemoryOperations>(); };
  const auto later = [&](const GraphNode* a, const GraphNode* b) {
    return std::pair(waits(a), a->id()) > std::pair(waits(b), b->id());
  };
  std::priority_queue<GraphNode*, std::vector<GraphNode*>, decltype(later)> ready(later);
  for (GraphNode* node : nodes_)
    if (!(node->scratch_ = node->dependencies_.size())) ready.push(node);
  std::vector<GraphNode*> order;
  order.reserve(nodes_.size());
  while (!ready.empty()) {
    GraphNode* const node = ready.top();
    ready.pop();
    order.push_back(node);
    for (const Dependency& after : node->dependents_)
      if (!--after.node->scratch_) ready.push(after.node);
  }
  return order;
}

void Graph::markBefore(std::span<const Dependency> dependencies) {
  ++lastMark;
  std::vector<const GraphNode*> next;
  const auto visit = [&](const Dependency& before) {
    if (std::exchange(before.node->mark_, lastMark) != lastMark) next.push_back(before.node);
  };
  std::for_each(dependencies.begin(), dependencies.end(), visit);
  while (!next.empty()) {
    const GraphNode* const node = next.back();
    next.pop_back();
    std::for_each(node->dependencies_.begin(), node->dependencies_.end(), visit);
  }
}

uint64_t nextVersion() { return lastVersion.fetch_add(1, std::memory_order_relaxed) + 1; }

bool GraphNode::marked() const { return mark_ == lastMark; }

GraphNode* Graph::findClone(uint64_t origin) const {
  for (GraphNode* node : nodes_)
    if (node->origin_ == origin) return node;
  return nullptr;
}

namespace {

// Whether a node of the graph, or of one that a node of it owns, is one of these.
template <class Is>
bool anyNode(const Graph& graph, Is is) {
  return std::any_of(graph.nodes().begin(), graph.nodes().end(), [&](const GraphNode* node) {
    bool found = is(*node);
    forOwned(node->params, [&](const Graph& owned) { found = found || anyNode(owned, is); });
    return found;
  });
}

}  // namespace

bool Graph::hasMemoryNodes() const {
  return memoryAsked_ ||
         anyNode(*this, [](const GraphNode& node) { return node.as<MemAllocNode>() || node.as<work::Free>(); });
}

bool Graph::hasUpdatableNodes() const {
  return std::any_of(nodes_.begin(), nodes_.end(), [](const GraphNode* node) { return graphs::updatable(*node); });
}
bool Graph::hasUpdatableNodesInside() const { return anyNode(*this, graphs::updatable); }

bool Graph::isInside(const Graph& other) const {
  for (const Graph* graph = this; graph; graph = graph->owner_ ? &graph->owner_->graph() : nullptr)
    if (graph == &other) return true;
  return false;
}

bool Graph::hasConditionals() const {
  return std::any_of(nodes_.begin(), nodes_.end(), [](const GraphNode* node) { return node->as<ConditionalNode>(); });
}

namespace {

// The parameters with copies of the graphs that they own.
NodeParams cloneParams(const NodeParams& source) {
  NodeParams params = source;
  if (auto* child = std::get_if<ChildNode>(&params); child && child->graph)
    child->graph = &graphs::clone(*child->graph);
  if (auto* conditional = std::get_if<ConditionalNode>(&params))
    for (Graph*& body : conditional->bodies) body = &graphs::clone(*body);
  if (auto* kernel = std::get_if<KernelNode>(&params)) {
    kernel->argumentAddresses.clear();
    kernel->version = nextVersion();
  }
  return params;
}

}  // namespace

void Graph::copyFrom(const Graph& source) {
  const size_t first = nodes_.size();
  nodes_.reserve(first + source.nodes_.size());
  for (const GraphNode* node : source.nodes_) {
    node->scratch_ = nodes_.size();
    GraphNode& copy = *nodeSlab.create(*this, nextId(), cloneParams(node->params));
    forOwned(copy.params, [&](Graph& graph) { graph.setOwner(&copy); });
    copy.origin_ = node->id();
    nodes_.push_back(&copy);
  }
  const auto translate = [&](std::vector<Dependency> edges) {
    for (Dependency& edge : edges) edge.node = nodes_[edge.node->scratch_];
    return edges;
  };
  for (size_t i = 0; i < source.nodes_.size(); ++i) {
    GraphNode& copy = *nodes_[first + i];
    copy.dependencies_ = translate(source.nodes_[i]->dependencies_);
    copy.dependents_ = translate(source.nodes_[i]->dependents_);
  }
  for (auto [object, count] : source.userObjects) {
    object->hold(count, false);
    userObjects[object] += count;
  }
}

namespace graphs {

Lock::Lock() { mutex.lock(); }
Lock::~Lock() {
  UserObject* const ended = user_objects::takeEnded();
  mutex.unlock();
  if (ended) user_objects::finish(ended);
}

Graph& create() { return *graphSlab.create(nextId(), ++lastGraph); }

Result<Graph&> find(CUgraph handle) {
  if (Graph* graph = graphSlab.find(handle)) return *graph;
  return fail(CUDA_ERROR_INVALID_VALUE, "%p is no graph", static_cast<void*>(handle));
}

Result<GraphNode&> findNode(CUgraphNode handle) {
  if (GraphNode* node = nodeSlab.find(handle)) return *node;
  return fail(CUDA_ERROR_INVALID_VALUE, "%p is no node of a graph", static_cast<void*>(handle));
}

void releaseUserObjects(Graph& graph) {
  for (auto [object, count] : graph.userObjects) object->letGo(count);
  graph.userObjects.clear();
}

void destroy(Graph& graph) { graphSlab.destroy(&graph); }

Graph& clone(const Graph& source) {
  Graph& copy = create();
  try {
    copy.copyFrom(source);
  } catch (...) {
    destroy(copy);
    throw;
  }
  GraphLife::setOrigin(copy, source.id());
  return copy;
}

bool updatable(const GraphNode& node) {
  const auto* kernel = node.as<KernelNode>();
  return kernel && kernel->updatable;
}

bool isDefault(const CUgraphEdgeData& data) { return sameData(data, {}); }

CUresult checkEdgeData(const CUgraphEdgeData& data) {
  const bool reserved = std::any_of(std::begin(data.reserved), std::end(data.reserved), [](auto b) { return b; });
  const bool programmatic =
      data.type == CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC && (data.from_port == CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC ||
                                                             data.from_port == CU_GRAPH_KERNEL_NODE_PORT_LAUNCH_ORDER);
  const bool known = !data.to_port && (programmatic || isDefault(data));
  if (reserved || !known)
    return fail(CUDA_ERROR_INVALID_VALUE, "edge data: ports %u and %u, type %u", data.from_port, data.to_port,
                data.type);
  return CUDA_SUCCESS;
}

Result<std::vector<Dependency>> dependencies(const CUgraphNode* nodes, const CUgraphEdgeData* data, size_t count) {
  if (count && !nodes) return fail(CUDA_ERROR_INVALID_VALUE, "%zu dependencies, and no array of them", count);
  std::vector<Dependency> found;
  for (size_t i = 0; i < count; ++i) {
    VG_TRY(GraphNode & node, findNode(nodes[i]));
    if (data) VG_CHECK(checkEdgeData(data[i]));
    found.push_back({&node, data ? data[i] : CUgraphEdgeData{}});
  }
  return found;
}

}  // namespace graphs
}  // namespace vg::core
