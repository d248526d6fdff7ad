// Stream capture: work given to a stream becomes nodes of a graph instead of running.
//
// A stream that captures, and the legacy stream of a context whose blocking streams capture, say so in one word
// (`Stream::captured()`); verbs that can become nodes ask it and call `add`. Work that nobody turned into a node is
// refused by the stream itself (`refuse`). One lock guards all captures of the process; it is taken before
// graphs::Lock. All functions are thread-safe.
#pragma once

#include <cuda.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <vector>

#include "base/result.h"
#include "core/graphs/graph_node.h"

namespace vg::core {

class Context;
class Event;
class Stream;
struct StreamCapture;  // what a capturing stream knows
struct EventCapture;   // what an event knows that was recorded in a capturing stream

namespace capture {

// cuStreamBeginCapture: into a graph of its own. Errors leave the stream as it was.
CUresult begin(Stream& stream, CUstreamCaptureMode mode);
// cuStreamBeginCaptureToGraph: into a graph of the application, after the given nodes of it.
CUresult begin(Stream& stream, CUstreamCaptureMode mode, CUgraph graph, const CUgraphNode* nodes,
               const CUgraphEdgeData* edges, size_t count);
// cuStreamBeginRecaptureToGraph: what is captured takes the place of the graph's nodes one by one, in the order in
// which they were added. Where it says something else than a node, `ask` (may be null) is told and may refuse. What
// does not go with the graph is CUDA_ERROR_GRAPH_RECAPTURE_FAILURE and ends the capture; the graph stays, in what state
// is unsaid.
struct Recapture {
  CUgraphRecaptureCallback ask;
  void* data;
};
CUresult begin(Stream& stream, CUstreamCaptureMode mode, CUgraph graph, const Recapture& again);
struct Captured {
  CUgraph graph;
  bool given;  // it was the application's before
};
// CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, _UNJOINED and _WRONG_THREAD end the capture without one, and the
// graph is destroyed even if it is the application's, unless a node owns it; _UNMATCHED (a forked stream) invalidates
// the capture.
Result<Captured> end(Stream& stream);

// The arrays live until the stream's next call.
struct Info {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  cuuint64_t id = 0;
  CUgraph graph = nullptr;
  const CUgraphNode* nodes = nullptr;
  const CUgraphEdgeData* edges = nullptr;
  size_t count = 0;
  bool lossy = false;  // an edge says something
};
// CUDA_ERROR_STREAM_CAPTURE_IMPLICIT for a legacy stream beside captures.
Result<Info> info(Stream& stream);
// cuStreamUpdateCaptureDependencies: flags CU_STREAM_ADD_CAPTURE_DEPENDENCIES or CU_STREAM_SET_CAPTURE_DEPENDENCIES.
CUresult updateDependencies(Stream& stream, const CUgraphNode* nodes, const CUgraphEdgeData* edges, size_t count,
                            unsigned flags);

// The rest are for work in a stream that says captured().

// Makes a node of the work, after what the stream has captured so far. `describe` is called with the graph and those
// nodes, under graphs::Lock, and must not add to the graph itself.
// Programmatic: after kernels it may begin when they say so (the edge's type), not only when they are over.
enum class Order : uint8_t { Full, Programmatic };
CUresult add(Stream& stream, NodeParams params, Order order = Order::Full);
using Describe = std::function<Result<NodeParams>(Graph& graph, const std::vector<Dependency>& before)>;
CUresult add(Stream& stream, const Describe& describe, Order order = Order::Full);
// Refuses work that cannot be captured, and ends what it could have been part of:
// CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, or _IMPLICIT for the legacy stream.
[[gnu::cold]] CUresult refuse(const Stream& stream, const char* what);
// CUDA_SUCCESS when the stream captures and work may be added.
CUresult ready(Stream& stream);
// Invalidates what the stream captures: a launch failed.
[[gnu::cold]] void spoil(const Stream& stream);

// cuEventRecord in a capturing stream, and the waits for such an event.
CUresult record(Event& event, Stream& stream);
CUresult wait(Stream& stream, Event& event);
// The same as nodes of their own, for CU_EVENT_RECORD_EXTERNAL and CU_EVENT_WAIT_EXTERNAL.
CUresult recordExternal(Event& event, Stream& stream, unsigned flags);
CUresult waitExternal(Stream& stream, Event& event, unsigned flags);
// An event of a capture was asked or waited for by the host: CUDA_ERROR_CAPTURED_EVENT, and the capture is invalidated;
// CUDA_ERROR_INVALID_VALUE when the capture has ended.
[[gnu::cold]] CUresult refuse(const Event& event);
// The event was recorded plainly, or ends. May be called under any lock.
[[gnu::cold]] void forget(Event& event);
// The stream ends.
[[gnu::cold]] void forget(Stream& stream);

// For calls that could disturb captures of other threads: CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, and the captures are
// over, when the calling thread's mode and theirs forbid it.
extern constinit std::atomic<uint32_t> guarded;  // captures that are not relaxed
[[gnu::cold]] CUresult permitUnsafeSlowly();
inline CUresult permitUnsafe() { return guarded.load(std::memory_order_relaxed) ? permitUnsafeSlowly() : CUDA_SUCCESS; }
// For calls that wait for a whole context: refused while any stream of it captures.
CUresult permitContextWait(Context& context);

}  // namespace capture
}  // namespace vg::core
