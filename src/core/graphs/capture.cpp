#include "core/graphs/capture.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/raw_enum.h"
#include "base/sync/mutex.h"
#include "base/undying.h"
#include "core/contexts/context.h"
#include "core/graphs/graph.h"
#include "core/graphs/graph_attributes.h"
#include "core/graphs/graph_describe.h"
#include "core/graphs/graph_memory.h"
#include "core/graphs/graph_params.h"
#include "core/graphs/graph_update.h"
#include "core/process/device.h"
#include "core/process/thread_state.h"
#include "core/streams/event.h"
#include "core/streams/stream.h"
#include "core/work/work.h"

namespace vg::core {
namespace {

// Nodes that later work comes after.
struct Tail {
  std::vector<CUgraphNode> nodes;
  std::vector<CUgraphEdgeData> edges;  // as many

  // So that set() takes no memory: a node that was added must be followed.
  void prepare() {
    nodes.reserve(1);
    edges.reserve(1);
  }
  void set(CUgraphNode node) {
    nodes.assign(1, node);
    edges.assign(1, {});
  }
  void add(CUgraphNode node, const CUgraphEdgeData& edge) {
    if (std::find(nodes.begin(), nodes.end(), node) != nodes.end()) return;
    edges.reserve(edges.size() + 1);
    nodes.push_back(node);
    edges.push_back(edge);
  }
};

const void* thisThread() { return &threadState; }

constinit Mutex captureMutex;
// What events know of captures; a lock of its own, under all others, because events are recorded under graphs::Lock
// too.
constinit Mutex eventMutex;

}  // namespace

// One capture: a graph that grows, and the streams that feed it.
struct Capture {
  uint64_t id;
  CUgraph graph;
  CUstreamCaptureMode mode;
  const void* thread;  // that began it
  Stream* origin;
  std::vector<Stream*> streams VG_GUARDED_BY(captureMutex);
  std::vector<CUgraphNode> orphans VG_GUARDED_BY(captureMutex);  // last nodes of streams that were destroyed meanwhile
  bool given VG_GUARDED_BY(captureMutex) = false;                // the graph is the application's
  std::optional<capture::Recapture> again VG_GUARDED_BY(captureMutex) = {};
  std::vector<CUgraphNode> expected VG_GUARDED_BY(captureMutex) = {};  // by that: the nodes of the graph
  size_t met VG_GUARDED_BY(captureMutex) = 0;                          // how many of those have been captured again
  bool ended VG_GUARDED_BY(captureMutex) = false;
  bool invalidated VG_GUARDED_BY(captureMutex) = false;
};

struct StreamCapture {
  std::shared_ptr<Capture> capture;  // null: the mark of a legacy stream beside captures
  Tail tail VG_GUARDED_BY(captureMutex);
};

struct EventCapture {
  std::shared_ptr<Capture> capture;
  Tail tail;
};

// What captures may do with streams and events.
struct CaptureAccess {
  static StreamCapture* of(const Stream& stream) VG_REQUIRES(captureMutex) {
    return stream.capture_.load(std::memory_order_relaxed);
  }
  static void set(Stream& stream, StreamCapture* state) VG_REQUIRES(captureMutex) {
    stream.capture_.store(state, std::memory_order_release);
  }
  static std::optional<EventCapture> of(const Event& event) {
    const MutexLock lock(eventMutex);
    const EventCapture* const known = event.capture_.load(std::memory_order_relaxed);
    return known ? std::optional(*known) : std::nullopt;
  }
  static void set(Event& event, EventCapture* state) {
    const MutexLock lock(eventMutex);
    delete event.capture_.exchange(state, std::memory_order_acq_rel);
  }
  static bool everRecorded(const Event& event) { return event.sharing() || event.recorded().valid; }
  // In green contexts captures do not get in the way of the default stream.
  static bool blocking(const Stream& stream) { return stream.blocking() && !stream.set().green; }
};

namespace capture {

namespace {

// Programmatic: after kernels it may begin when they say so (the edge's type), not only when they are over.
enum class Order : uint8_t { Full, Programmatic };
// What becomes the node, in the graph and after the nodes that the stream has captured so far. Called under
// graphs::Lock; must not add to the graph itself.
using Describe = std::function<Result<NodeParams>(Graph& graph, const std::vector<Dependency>& before)>;

constinit std::atomic<uint32_t> running{0};  // captures that have not ended
constinit uint64_t lastId VG_GUARDED_BY(captureMutex) = 0;
constinit StreamCapture* legacyMark VG_GUARDED_BY(captureMutex) = nullptr;  // never destroyed

std::vector<std::shared_ptr<Capture>>& captures() VG_REQUIRES(captureMutex) {
  return undying<std::vector<std::shared_ptr<Capture>>, Capture>();
}

bool isLegacyMark(const StreamCapture* state) { return state && !state->capture; }

void invalidate(Capture& capture) VG_REQUIRES(captureMutex) { capture.invalidated = true; }

CUresult invalidated() {
  return fail(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, "the capture was invalidated by an earlier call");
}

// Keeps the legacy stream's mark: set while a blocking stream beside it captures.
void markLegacy(StreamSet& set) VG_REQUIRES(captureMutex) {
  bool any = false;
  for (const auto& capture : captures())
    for (const Stream* stream : capture->streams) any |= &stream->set() == &set && CaptureAccess::blocking(*stream);
  if (Stream* legacy = set.legacy.load(std::memory_order_acquire))
    CaptureAccess::set(*legacy, any ? legacyMark : nullptr);
}

// What a stream needs to join the capture, and room for it there: enter() takes no memory.
std::unique_ptr<StreamCapture> prepare(const std::shared_ptr<Capture>& capture, const Stream& stream, Tail tail)
    VG_REQUIRES(captureMutex) {
  if (!legacyMark) legacyMark = new StreamCapture;
  (void)streams::legacy(stream.set());  // exists, to be marked
  capture->streams.reserve(capture->streams.size() + 1);
  return std::unique_ptr<StreamCapture>(new StreamCapture{capture, std::move(tail)});
}

void enter(Stream& stream, std::unique_ptr<StreamCapture> state) noexcept VG_REQUIRES(captureMutex) {
  state->capture->streams.push_back(&stream);
  CaptureAccess::set(stream, state.release());
  markLegacy(stream.set());
}

void leave(Stream& stream) VG_REQUIRES(captureMutex) {
  const std::unique_ptr<StreamCapture> state(CaptureAccess::of(stream));
  std::erase(state->capture->streams, &stream);
  CaptureAccess::set(stream, nullptr);
  markLegacy(stream.set());
}

// Takes the capture apart; what becomes of its graph is the caller's.
void finish(const std::shared_ptr<Capture>& capture) VG_REQUIRES(captureMutex) {
  while (!capture->streams.empty()) leave(*capture->streams.back());
  capture->ended = true;
  if (capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED) guarded.fetch_sub(1, std::memory_order_relaxed);
  running.fetch_sub(1, std::memory_order_relaxed);
  std::erase(captures(), capture);
  const graphs::Lock lock;
  if (auto graph = graphs::find(capture->graph)) graph->setCapturing(false);
}

// As the vendor's driver does it, a graph of the application goes too; not so a node's, which the node still needs.
void dropGraph(const Capture& capture) {
  const graphs::Lock lock;
  if (auto graph = graphs::find(capture.graph); graph && !graph->owner()) graphs::destroy(*graph);
}

// Every blocking capture beside it is over: somebody used the legacy stream.
CUresult refuseLegacy(const StreamSet& set, const char* what) VG_REQUIRES(captureMutex) {
  for (const auto& capture : captures())
    for (const Stream* stream : capture->streams)
      if (&stream->set() == &set && CaptureAccess::blocking(*stream)) invalidate(*capture);
  return fail(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, "%s in the legacy stream while a blocking stream captures", what);
}

// The state of a stream that captures and may go on.
Result<StreamCapture&> active(const Stream& stream, const char* what) VG_REQUIRES(captureMutex) {
  StreamCapture* const state = CaptureAccess::of(stream);
  if (!state) return fail(CUDA_ERROR_ILLEGAL_STATE, "the stream does not capture any more");
  if (isLegacyMark(state)) return refuseLegacy(stream.set(), what);
  if (state->capture->invalidated) return invalidated();
  return *state;
}

void makeProgrammatic(std::vector<Dependency>& dependencies) {
  for (Dependency& dependency : dependencies)
    if (dependency.node->as<KernelNode>())
      dependency.data = {CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC, 0, CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC, {}};
}

CUresult mismatch(Capture& capture, const char* what) VG_REQUIRES(captureMutex) {
  invalidate(capture);
  return fail(CUDA_ERROR_GRAPH_RECAPTURE_FAILURE, "node %zu of the graph: %s", capture.met, what);
}

bool sameEdges(const std::vector<Dependency>& a, const std::vector<Dependency>& b) {
  return a.size() == b.size() && std::all_of(a.begin(), a.end(), [&](const Dependency& edge) {
           return std::any_of(b.begin(), b.end(), [&](const Dependency& other) {
             return other.node == edge.node && !std::memcmp(&other.data, &edge.data, sizeof edge.data);
           });
         });
}

// Of the node that is captured behind this tail.
Result<std::vector<Dependency>> dependenciesOf(const Tail& tail, Order order) {
  VG_TRY(std::vector<Dependency> dependencies,
         graphs::dependencies(tail.nodes.data(), tail.edges.data(), tail.nodes.size()));
  if (order == Order::Programmatic) makeProgrammatic(dependencies);
  return dependencies;
}

bool ownsMemory(const NodeParams& params) {
  return std::holds_alternative<MemAllocNode>(params) || std::holds_alternative<work::Free>(params);
}

// What the application is asked, without any lock: it may call the API, but for this capture.
struct Question {
  Recapture again;
  GraphNode* node;
  NodeParams wanted;
};

// The next node of the graph that is captured again; a question where it was something else.
CUresult meetLocked(StreamCapture& state, const Describe& describe, Order order, std::optional<Question>& question)
    VG_REQUIRES(captureMutex) {
  Capture& capture = *state.capture;
  const graphs::Lock lock;
  state.tail.prepare();
  VG_TRY(Graph & graph, graphs::find(capture.graph));
  VG_TRY(std::vector<Dependency> dependencies, dependenciesOf(state.tail, order));
  if (capture.met == capture.expected.size()) return mismatch(capture, "there is none");
  Result<GraphNode&> found = graphs::findNode(capture.expected[capture.met]);
  if (!found) return mismatch(capture, "it is not there any more");
  GraphNode& node = *found;
  if (!sameEdges(node.dependencies(), dependencies)) return mismatch(capture, "it comes after other nodes");
  if (ownsMemory(node.params)) return mismatch(capture, "memory of a graph cannot be captured again");
  VG_TRY(NodeParams wanted, describe(graph, dependencies));
  if (wanted.index() != node.params.index()) return mismatch(capture, "it is of another type");
  ++capture.met;
  node.capture = capture.id;
  state.tail.set(node.handle());
  if (!graphs::same(node.params, wanted)) question.emplace(Question{*capture.again, &node, std::move(wanted)});
  return CUDA_SUCCESS;
}

// Asks, and changes the node if that is right.
CUresult answer(Question& question) {
  CUgraphNodeParams before, after;
  bool eligible = false;
  {
    const graphs::Lock lock;
    before = graphs::paramsOf(*question.node);
    after = graphs::paramsOf(question.wanted);
    eligible = graph_update::compare(question.node->params, question.wanted) == CU_GRAPH_EXEC_UPDATE_SUCCESS;
  }
  const CUgraphRecaptureStatus status =
      eligible ? CU_GRAPH_RECAPTURE_ELIGIBLE_FOR_UPDATE : CU_GRAPH_RECAPTURE_INELIGIBLE_FOR_UPDATE;
  if (question.again.ask &&
      question.again.ask(question.again.data, question.node->handle(), &before, &after, status) != CUDA_SUCCESS)
    return fail(CUDA_ERROR_GRAPH_RECAPTURE_FAILURE, "the application refuses the change");
  const graphs::Lock lock;
  graphs::replace(*question.node, std::move(question.wanted));
  return CUDA_SUCCESS;
}

CUresult addLocked(StreamCapture& state, const Describe& describe, Order order) VG_REQUIRES(captureMutex) {
  const graphs::Lock lock;
  state.tail.prepare();
  VG_TRY(Graph & graph, graphs::find(state.capture->graph));
  VG_TRY(std::vector<Dependency> dependencies, dependenciesOf(state.tail, order));
  VG_TRY(NodeParams params, describe(graph, dependencies));
  VG_TRY(GraphNode & node, graph.add(std::move(params), dependencies));
  node.capture = state.capture->id;
  state.tail.set(node.handle());
  return CUDA_SUCCESS;
}

class Sink final : public CaptureSink {
 public:
  CUresult ready(Stream& stream) override;
  CUresult take(Stream& stream, Work&& work) override;
  CUresult refuse(const Stream& stream, const char* what) override;
  CUresult refuse(const Event& event) override;
  void spoil(const Stream& stream) override;
  void forget(Stream& stream) override;
  void forget(Event& event) override;
  CUresult permitUnsafe() override;
  CUresult permitContextWait(Context& context) override;
};
constinit Sink ours;

CUresult beginLocked(Stream& stream, CUstreamCaptureMode mode, std::optional<CUgraph> given, Tail tail)
    VG_REQUIRES(captureMutex) {
  StreamCapture* const present = CaptureAccess::of(stream);
  if (present && isLegacyMark(present)) return refuseLegacy(stream.set(), "a capture");
  if (stream.kind() == Stream::Kind::Legacy)
    return fail(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "the legacy stream cannot capture");
  if (present) return fail(CUDA_ERROR_ILLEGAL_STATE, "the stream captures already");
  const auto capture =
      std::make_shared<Capture>(Capture{0, nullptr, mode, thisThread(), &stream, {}, {}, given.has_value()});
  std::unique_ptr<StreamCapture> state = prepare(capture, stream, tail);
  captures().reserve(captures().size() + 1);
  {
    const graphs::Lock lock;
    if (given) {
      VG_TRY(Graph & target, graphs::find(*given));
      if (target.capturing()) return fail(CUDA_ERROR_ILLEGAL_STATE, "another stream captures into this graph");
      VG_TRY(const auto dependencies, graphs::dependencies(tail.nodes.data(), tail.edges.data(), tail.nodes.size()));
      for (const Dependency& dependency : dependencies)
        if (&dependency.node->graph() != &target)
          return fail(CUDA_ERROR_INVALID_VALUE, "a dependency is a node of another graph");
      target.setCapturing(true);
      capture->graph = target.handle();
    } else {
      Graph& made = graphs::create();
      made.setCapturing(true);
      capture->graph = made.handle();
    }
  }
  sink.store(&ours, std::memory_order_release);
  capture->id = ++lastId;
  captures().push_back(capture);
  running.fetch_add(1, std::memory_order_relaxed);
  if (mode != CU_STREAM_CAPTURE_MODE_RELAXED) guarded.fetch_add(1, std::memory_order_relaxed);
  enter(stream, std::move(state));
  return CUDA_SUCCESS;
}

CUresult checkMode(CUstreamCaptureMode mode) {
  if (const int raw = rawValue(mode); raw < 0 || raw > CU_STREAM_CAPTURE_MODE_RELAXED)
    return fail(CUDA_ERROR_INVALID_VALUE, "capture mode %d", raw);
  return CUDA_SUCCESS;
}

Result<Tail> tailOf(const CUgraphNode* nodes, const CUgraphEdgeData* edges, size_t count) {
  {
    const graphs::Lock lock;
    VG_CHECK(graphs::dependencies(nodes, edges, count));
  }
  Tail tail;
  for (size_t i = 0; i < count; ++i) tail.add(nodes[i], edges ? edges[i] : CUgraphEdgeData{});
  return tail;
}

// True when each stream's last captured work comes before the origin's. Nodes that the application added to the graph
// itself and named as dependencies need not: NCCL leaves such a node behind in a stream of its own.
bool joined(const Capture& capture) VG_REQUIRES(captureMutex) {
  const graphs::Lock lock;
  std::unordered_set<const GraphNode*> before;
  std::vector<const GraphNode*> open;
  const auto visit = [&](const GraphNode* node) {
    if (before.insert(node).second) open.push_back(node);
  };
  for (CUgraphNode handle : CaptureAccess::of(*capture.origin)->tail.nodes)
    if (auto node = graphs::findNode(handle)) visit(&*node);
  while (!open.empty()) {
    const GraphNode* const node = open.back();
    open.pop_back();
    for (const Dependency& dependency : node->dependencies()) visit(dependency.node);
  }
  std::vector<CUgraphNode> last = capture.orphans;
  for (const Stream* stream : capture.streams) {
    const Tail& tail = CaptureAccess::of(*stream)->tail;
    last.insert(last.end(), tail.nodes.begin(), tail.nodes.end());
  }
  return std::all_of(last.begin(), last.end(), [&](CUgraphNode handle) {
    const auto node = graphs::findNode(handle);
    return !node.ok() || node.value().capture != capture.id || before.count(&node.value());
  });
}

// Why the capture cannot end with a graph, or CUDA_SUCCESS.
CUresult problemOf(const Capture& capture) VG_REQUIRES(captureMutex) {
  if (capture.invalidated) return invalidated();
  if (capture.mode != CU_STREAM_CAPTURE_MODE_RELAXED && capture.thread != thisThread())
    return fail(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD, "the capture was begun by another thread");
  if (capture.met < capture.expected.size())
    return fail(CUDA_ERROR_GRAPH_RECAPTURE_FAILURE, "%zu of the graph's %zu nodes were captured again", capture.met,
                capture.expected.size());
  if (!joined(capture))
    return fail(CUDA_ERROR_STREAM_CAPTURE_UNJOINED, "work of a forked stream was not joined to the origin");
  return CUDA_SUCCESS;
}

CUresult problemOrShortage(const Capture& capture) noexcept VG_REQUIRES(captureMutex) {
  try {
    return problemOf(capture);
  } catch (const std::bad_alloc&) {
    return fail(CUDA_ERROR_OUT_OF_MEMORY, "no memory to examine the capture");
  }
}

}  // namespace

CUresult begin(Stream& stream, CUstreamCaptureMode mode) {
  VG_CHECK(checkMode(mode));
  const MutexLock lock(captureMutex);
  return beginLocked(stream, mode, std::nullopt, {});
}

CUresult begin(Stream& stream, CUstreamCaptureMode mode, CUgraph graph, const CUgraphNode* nodes,
               const CUgraphEdgeData* edges, size_t count) {
  VG_CHECK(checkMode(mode));
  VG_TRY(Tail tail, tailOf(nodes, edges, count));
  const MutexLock lock(captureMutex);
  return beginLocked(stream, mode, graph, std::move(tail));
}

CUresult begin(Stream& stream, CUstreamCaptureMode mode, CUgraph handle, const Recapture& again) {
  VG_CHECK(checkMode(mode));
  const MutexLock lock(captureMutex);
  std::vector<CUgraphNode> expected;
  {
    const graphs::Lock graphsLock;
    VG_TRY(Graph & graph, graphs::find(handle));
    if (graph.owner()) return fail(CUDA_ERROR_INVALID_VALUE, "the graph belongs to a node");
    for (GraphNode* node : graph.nodes()) expected.push_back(node->handle());
  }
  VG_CHECK(beginLocked(stream, mode, handle, {}));
  Capture& capture = *CaptureAccess::of(stream)->capture;
  capture.again = again;
  capture.expected = std::move(expected);
  const graphs::Lock graphsLock;
  graphs::releaseUserObjects(*graphs::find(handle));
  return CUDA_SUCCESS;
}

Result<Captured> end(Stream& stream) {
  const MutexLock lock(captureMutex);
  StreamCapture* const state = CaptureAccess::of(stream);
  if (!state) return fail(CUDA_ERROR_ILLEGAL_STATE, "the stream does not capture");
  if (isLegacyMark(state)) return refuseLegacy(stream.set(), "the end of a capture");
  const std::shared_ptr<Capture> capture = state->capture;
  if (capture->origin != &stream) {
    invalidate(*capture);
    return fail(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, "the capture was begun in another stream");
  }
  const CUresult problem = problemOrShortage(*capture);
  finish(capture);
  if (problem == CUDA_SUCCESS) return Captured{capture->graph, capture->given};
  if (!capture->again) dropGraph(*capture);
  return problem;
}

Result<Info> info(Stream& stream) {
  const MutexLock lock(captureMutex);
  const StreamCapture* const state = CaptureAccess::of(stream);
  if (!state) return Info{};
  if (isLegacyMark(state))
    return fail(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, "the legacy stream, while a blocking stream captures");
  const Capture& capture = *state->capture;
  if (capture.invalidated) return Info{CU_STREAM_CAPTURE_STATUS_INVALIDATED, capture.id};
  const Tail& tail = state->tail;
  Info info{CU_STREAM_CAPTURE_STATUS_ACTIVE, capture.id, capture.graph};
  if ((info.count = tail.nodes.size())) {
    info.nodes = tail.nodes.data();
    info.edges = tail.edges.data();
  }
  info.lossy = !std::all_of(tail.edges.begin(), tail.edges.end(), graphs::isDefault);
  return info;
}

CUresult updateDependencies(Stream& stream, const CUgraphNode* nodes, const CUgraphEdgeData* edges, size_t count,
                            unsigned flags) {
  const MutexLock lock(captureMutex);
  StreamCapture* const state = CaptureAccess::of(stream);
  if (!state) return fail(CUDA_ERROR_ILLEGAL_STATE, "the stream does not capture");
  if (isLegacyMark(state)) return refuseLegacy(stream.set(), "a change of a capture's dependencies");
  if (state->capture->invalidated) return invalidated();
  if (flags > CU_STREAM_SET_CAPTURE_DEPENDENCIES) return fail(CUDA_ERROR_INVALID_VALUE, "flags %#x", flags);
  VG_TRY(const Tail named, tailOf(nodes, edges, count));
  {
    const graphs::Lock graphsLock;
    VG_TRY(const auto dependencies, graphs::dependencies(nodes, edges, count));
    for (const Dependency& dependency : dependencies)
      if (dependency.node->graph().handle() != state->capture->graph)
        return fail(CUDA_ERROR_INVALID_VALUE, "a dependency is a node of another graph");
  }
  if (flags == CU_STREAM_SET_CAPTURE_DEPENDENCIES) {
    state->tail = named;
  } else {
    for (size_t i = 0; i < named.nodes.size(); ++i) state->tail.add(named.nodes[i], named.edges[i]);
  }
  return CUDA_SUCCESS;
}

namespace {

// Makes a node of the work, after what the stream has captured so far.
CUresult add(Stream& stream, const Describe& describe, Order order = Order::Full) {
  std::optional<Question> question;
  std::shared_ptr<Capture> capture;
  {
    const MutexLock lock(captureMutex);
    VG_TRY(StreamCapture & state, active(stream, "work"));
    if (!state.capture->again) return addLocked(state, describe, order);
    capture = state.capture;
    VG_CHECK(meetLocked(state, describe, order, question));
  }
  if (!question) return CUDA_SUCCESS;
  const CUresult refused = answer(*question);
  if (refused == CUDA_SUCCESS) return CUDA_SUCCESS;
  const MutexLock lock(captureMutex);
  invalidate(*capture);
  return refused;
}

CUresult add(Stream& stream, NodeParams params, Order order = Order::Full) {
  return add(
      stream, [&](Graph&, const std::vector<Dependency>&) { return Result<NodeParams>(std::move(params)); }, order);
}

CUresult record(Event& event, Stream& stream) {
  const MutexLock lock(captureMutex);
  VG_TRY(StreamCapture & state, active(stream, "cuEventRecord"));
  CaptureAccess::set(event, new EventCapture{state.capture, state.tail});
  return CUDA_SUCCESS;
}

CUresult wait(Stream& stream, Event& event) {
  const MutexLock lock(captureMutex);
  StreamCapture* const state = CaptureAccess::of(stream);
  const std::optional<EventCapture> recorded = CaptureAccess::of(event);
  const bool live = recorded && !recorded->capture->ended;
  if (stream.kind() == Stream::Kind::Legacy) {
    if (live) invalidate(*recorded->capture);
    return refuseLegacy(stream.set(), "cuStreamWaitEvent");
  }
  if (state && state->capture->invalidated) return invalidated();
  if (!recorded) {
    if (!state) return fail(CUDA_ERROR_ILLEGAL_STATE, "neither the stream nor the event captures any more");
    if (!CaptureAccess::everRecorded(event)) return CUDA_SUCCESS;  // never recorded: nothing to wait for
    invalidate(*state->capture);
    return fail(CUDA_ERROR_STREAM_CAPTURE_ISOLATION, "a capturing stream waits for an event from outside");
  }
  if (!live || recorded->capture->invalidated) {
    if (state) invalidate(*state->capture);
    return fail(CUDA_ERROR_INVALID_VALUE, "the event belongs to a capture that is over");
  }
  const std::shared_ptr<Capture>& capture = recorded->capture;
  if (!state) {
    enter(stream, prepare(capture, stream, recorded->tail));
    return CUDA_SUCCESS;
  }
  if (state->capture != capture) {
    invalidate(*capture);
    invalidate(*state->capture);
    return fail(CUDA_ERROR_STREAM_CAPTURE_MERGE, "the event belongs to another capture than the stream");
  }
  for (size_t i = 0; i < recorded->tail.nodes.size(); ++i)
    state->tail.add(recorded->tail.nodes[i], recorded->tail.edges[i]);
  return CUDA_SUCCESS;
}

CUresult takeKind(Stream& stream, work::Copy& copy) {
  return copy.nothing() ? CUDA_SUCCESS : add(stream, NodeParams(copy));
}
CUresult takeKind(Stream& stream, work::Fill& fill) {
  return fill.nothing() ? CUDA_SUCCESS : add(stream, NodeParams(fill));
}
CUresult takeKind(Stream& stream, work::HostCall& call) { return add(stream, NodeParams(call)); }
CUresult takeKind(Stream& stream, work::MemoryOperations& operations) {
  return add(stream, NodeParams(std::move(operations)));  // a node, even of none
}

CUresult takeKind(Stream& stream, work::Launch& launch) {
  KernelNode node{std::move(launch), nullptr};
  CUlaunchAttributeValue* const updatable = std::exchange(node.launch.updatable, nullptr);
  if (updatable)
    VG_CHECK(graphs::setKernelAttribute(node, CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE, *updatable));
  const CUevent behind = node.launch.attributes.event();
  const Order order = node.launch.attributes.programmatic() ? Order::Programmatic : Order::Full;
  VG_CHECK(add(stream, NodeParams(std::move(node)), order));
  if (!behind) return CUDA_SUCCESS;
  VG_TRY(Event & event, events::find(behind));
  VG_CHECK(event.goesWith(stream));
  return record(event, stream);
}

// With flags they are nodes of their own instead of edges of the capture.
CUresult takeKind(Stream& stream, const work::Record& given) {
  if (given.flags) return add(stream, NodeParams(given));
  VG_TRY(Event & event, events::find(given.event));
  return record(event, stream);
}
CUresult takeKind(Stream& stream, const work::Wait& given) {
  if (given.flags) return add(stream, NodeParams(given));
  VG_TRY(Event & event, events::find(given.event));
  return wait(stream, event);
}

CUresult takeKind(Stream& stream, const work::Allocation& allocation) {
  if (!allocation.bytes) {
    *allocation.address = 0;
    return CUDA_SUCCESS;
  }
  CUDA_MEM_ALLOC_NODE_PARAMS params{};
  params.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  params.poolProps.location = {CU_MEM_LOCATION_TYPE_DEVICE, stream.context().device().handle()};
  params.bytesize = allocation.bytes;
  VG_CHECK(add(stream, [&](Graph& graph, const std::vector<Dependency>& before) {
    return graphs::describeAlloc(graph, &params, before);
  }));
  *allocation.address = params.dptr;
  return CUDA_SUCCESS;
}
CUresult takeKind(Stream& stream, const work::Free& free) {
  if (!free.address) return CUDA_SUCCESS;
  return add(stream, [&](Graph& graph, const std::vector<Dependency>& before) {
    return graphs::describeFree(graph, free.address, before);
  });
}

}  // namespace

CUresult Sink::take(Stream& stream, Work&& work) {
  return std::visit([&](auto& kind) { return takeKind(stream, kind); }, work);
}

CUresult Sink::ready(Stream& stream) {
  const MutexLock lock(captureMutex);
  VG_CHECK(active(stream, "work"));
  return CUDA_SUCCESS;
}

CUresult Sink::refuse(const Stream& stream, const char* what) {
  const MutexLock lock(captureMutex);
  StreamCapture* const state = CaptureAccess::of(stream);
  if (!state) return CUDA_SUCCESS;
  if (isLegacyMark(state)) return refuseLegacy(stream.set(), what);
  invalidate(*state->capture);
  return fail(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "%s cannot be captured", what);
}

CUresult Sink::refuse(const Event& event) {
  const MutexLock lock(captureMutex);
  const std::optional<EventCapture> recorded = CaptureAccess::of(event);
  if (!recorded || recorded->capture->ended)
    return fail(CUDA_ERROR_INVALID_VALUE, "the event belongs to a capture that is over");
  invalidate(*recorded->capture);
  return fail(CUDA_ERROR_CAPTURED_EVENT, "the event was recorded in a capturing stream");
}

void Sink::spoil(const Stream& stream) {
  const MutexLock lock(captureMutex);
  const StreamCapture* const state = CaptureAccess::of(stream);
  if (state && !isLegacyMark(state)) invalidate(*state->capture);
}

void Sink::forget(Event& event) { CaptureAccess::set(event, nullptr); }

void Sink::forget(Stream& stream) {
  const MutexLock lock(captureMutex);
  StreamCapture* const state = CaptureAccess::of(stream);
  if (!state || isLegacyMark(state)) return;
  const std::shared_ptr<Capture> capture = state->capture;
  if (capture->origin != &stream) {
    try {
      capture->orphans.insert(capture->orphans.end(), state->tail.nodes.begin(), state->tail.nodes.end());
    } catch (const std::bad_alloc&) {
      invalidate(*capture);
    }
    return leave(stream);
  }
  finish(capture);
  dropGraph(*capture);
}

CUresult Sink::permitUnsafe() {
  if (threadState.captureMode == CU_STREAM_CAPTURE_MODE_RELAXED) return CUDA_SUCCESS;
  const MutexLock lock(captureMutex);
  bool forbidden = false;
  for (const auto& capture : captures()) {
    if (capture->mode == CU_STREAM_CAPTURE_MODE_RELAXED) continue;
    const bool mine = capture->thread == thisThread();
    const bool theirs =
        threadState.captureMode == CU_STREAM_CAPTURE_MODE_GLOBAL && capture->mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
    if (!mine && !theirs) continue;
    invalidate(*capture);
    forbidden = true;
  }
  if (!forbidden) return CUDA_SUCCESS;
  return fail(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "a call that is forbidden while a stream captures");
}

CUresult Sink::permitContextWait(Context& context) {
  if (!running.load(std::memory_order_relaxed)) return CUDA_SUCCESS;
  const MutexLock lock(captureMutex);
  bool capturing = false;
  for (const auto& capture : captures())
    for (const Stream* stream : capture->streams)
      if (&stream->context() == &context) {
        invalidate(*capture);
        capturing = true;
      }
  if (!capturing) return CUDA_SUCCESS;
  return fail(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "a stream of the context captures");
}

}  // namespace capture
}  // namespace vg::core
