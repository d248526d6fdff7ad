// Stream capture: work given to a stream becomes nodes of a graph instead of running.
//
// A stream that captures, and the legacy stream of a context whose blocking streams capture, say so in one word
// (`Stream::captured()`); Stream::give() then hands the work to the role that is played here
// (core/streams/capture_sink.h). One lock guards all captures of the process; it is taken before graphs::Lock. All
// functions are thread-safe.
#pragma once

#include <cuda.h>

#include <cstdint>

#include "base/result.h"
#include "core/streams/capture_sink.h"

namespace vg::core {

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

}  // namespace capture
}  // namespace vg::core
