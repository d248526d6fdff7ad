// Stream capture: begun, ended, asked and steered.
#include "core/graphs/capture.h"

#include "api/entry/call.h"
#include "base/raw_enum.h"
#include "core/graphs/graph.h"
#include "core/streams/stream.h"

namespace vg::handlers {
namespace {

template <class Out, class Value>
void put(Out* out, Value value) {
  if (out) *out = value;
}

// What all versions of cuStreamGetCaptureInfo tell: the outputs of a stream that does not capture stay as they are.
struct InfoOutputs {
  CUstreamCaptureStatus* status;
  cuuint64_t* id;
  CUgraph* graph = nullptr;
  const CUgraphNode** nodes = nullptr;
  const CUgraphEdgeData** edges = nullptr;
  size_t* count = nullptr;
};

CUresult tell(const Call& call, CUstream handle, const InfoOutputs& out) {
  if (!out.status) return missing("captureStatus_out");
  VG_TRY(core::Stream & stream, call.resolve(handle));
  VG_TRY(const core::capture::Info info, core::capture::info(stream));
  *out.status = info.status;
  if (info.status == CU_STREAM_CAPTURE_STATUS_NONE) return CUDA_SUCCESS;
  put(out.id, info.id);
  if (info.status == CU_STREAM_CAPTURE_STATUS_INVALIDATED) return CUDA_SUCCESS;
  if (info.lossy && out.nodes && !out.edges)
    return fail(CUDA_ERROR_LOSSY_QUERY, "the edges have data, which this call has no room for");
  put(out.graph, info.graph);
  put(out.nodes, info.nodes);
  put(out.edges, info.edges);
  put(out.count, info.count);
  return CUDA_SUCCESS;
}

}  // namespace

CUresult cuStreamBeginCapture_v2(const Call& call, CUstream hStream, CUstreamCaptureMode mode) {
  VG_TRY(core::Stream & stream, call.resolve(hStream));
  return core::capture::begin(stream, mode);
}

CUresult cuStreamBeginCapture(const Call& call, CUstream hStream) {
  return cuStreamBeginCapture_v2(call, hStream, CU_STREAM_CAPTURE_MODE_GLOBAL);
}

CUresult cuStreamBeginCaptureToGraph(const Call& call, CUstream hStream, CUgraph hGraph,
                                     const CUgraphNode* dependencies, const CUgraphEdgeData* dependencyData,
                                     size_t numDependencies, CUstreamCaptureMode mode) {
  VG_TRY(core::Stream & stream, call.resolve(hStream));
  return core::capture::begin(stream, mode, hGraph, dependencies, dependencyData, numDependencies);
}

CUresult cuStreamBeginRecaptureToGraph(const Call& call, CUstream hStream, CUstreamCaptureMode mode, CUgraph hGraph,
                                       CUgraphRecaptureCallback callbackFunc, void* userData) {
  VG_TRY(core::Stream & stream, call.resolve(hStream));
  return core::capture::begin(stream, mode, hGraph, {callbackFunc, userData});
}

// Without phGraph the graph is lost, as with the vendor's driver.
CUresult cuStreamEndCapture(const Call& call, CUstream hStream, CUgraph* phGraph) {
  VG_TRY(core::Stream & stream, call.resolve(hStream));
  put(phGraph, CUgraph{});
  VG_TRY(const core::capture::Captured captured, core::capture::end(stream));
  put(phGraph, captured.graph);
  if (phGraph || captured.given) return CUDA_SUCCESS;
  const core::graphs::Lock lock;  // nobody could ever name it
  VG_TRY(core::Graph & lost, core::graphs::find(captured.graph));
  core::graphs::destroy(lost);
  return CUDA_SUCCESS;
}

// Work for the command lists of a graphics library goes to contexts that were made for one, and there is none here
// (CU_DEVICE_ATTRIBUTE_D3D12_CIG_STREAMS_SUPPORTED and _VULKAN_ are 0).
CUresult cuStreamBeginCaptureToCig(const Call& call, CUstream hStream,
                                   CUstreamCigCaptureParams* streamCigCaptureParams) {
  if (!streamCigCaptureParams) return missing("streamCigCaptureParams");
  VG_TRY(core::Stream & stream, call.resolve(hStream));
  if (stream.kind() == core::Stream::Kind::Legacy)
    return fail(CUDA_ERROR_INVALID_VALUE, "the legacy stream cannot capture for a graphics library");
  return fail(CUDA_ERROR_INVALID_CONTEXT, "the context was not made for a graphics library");
}

CUresult cuStreamEndCaptureToCig(const Call& call, CUstream hStream) {
  VG_CHECK(call.resolve(hStream));
  return fail(CUDA_ERROR_INVALID_VALUE, "the stream does not capture for a graphics library");
}

CUresult cuStreamIsCapturing(const Call& call, CUstream hStream, CUstreamCaptureStatus* captureStatus) {
  return tell(call, hStream, {captureStatus, nullptr});
}

CUresult cuStreamGetCaptureInfo(const Call& call, CUstream hStream, CUstreamCaptureStatus* captureStatus_out,
                                cuuint64_t* id_out) {
  return tell(call, hStream, {captureStatus_out, id_out});
}

CUresult cuStreamGetCaptureInfo_v2(const Call& call, CUstream hStream, CUstreamCaptureStatus* captureStatus_out,
                                   cuuint64_t* id_out, CUgraph* graph_out, const CUgraphNode** dependencies_out,
                                   size_t* numDependencies_out) {
  return tell(call, hStream, {captureStatus_out, id_out, graph_out, dependencies_out, nullptr, numDependencies_out});
}

CUresult cuStreamGetCaptureInfo_v3(const Call& call, CUstream hStream, CUstreamCaptureStatus* captureStatus_out,
                                   cuuint64_t* id_out, CUgraph* graph_out, const CUgraphNode** dependencies_out,
                                   const CUgraphEdgeData** edgeData_out, size_t* numDependencies_out) {
  return tell(call, hStream,
              {captureStatus_out, id_out, graph_out, dependencies_out, edgeData_out, numDependencies_out});
}

CUresult cuStreamUpdateCaptureDependencies_v2(const Call& call, CUstream hStream, CUgraphNode* dependencies,
                                              const CUgraphEdgeData* dependencyData, size_t numDependencies,
                                              unsigned int flags) {
  VG_TRY(core::Stream & stream, call.resolve(hStream));
  return core::capture::updateDependencies(stream, dependencies, dependencyData, numDependencies, flags);
}

CUresult cuStreamUpdateCaptureDependencies(const Call& call, CUstream hStream, CUgraphNode* dependencies,
                                           size_t numDependencies, unsigned int flags) {
  return cuStreamUpdateCaptureDependencies_v2(call, hStream, dependencies, nullptr, numDependencies, flags);
}

CUresult cuThreadExchangeStreamCaptureMode(const Call&, CUstreamCaptureMode* mode) {
  if (!mode) return missing("mode");
  constexpr int kMost = 3;  // one more than there are, as the vendor's driver has it
  if (const int wanted = rawValue(*mode); wanted < 0 || wanted > kMost)
    return fail(CUDA_ERROR_INVALID_VALUE, "capture mode %d", wanted);
  *mode = std::exchange(core::threadState.captureMode, *mode);
  return CUDA_SUCCESS;
}

}  // namespace vg::handlers
