// What may be asked about capture while no stream can capture.
#include "api/call.h"
#include "base/raw_enum.h"
#include "core/stream.h"

namespace vg::handlers {

CUresult cuStreamIsCapturing(const Call& call, CUstream hStream, CUstreamCaptureStatus* captureStatus) {
  if (!captureStatus) return fail(CUDA_ERROR_INVALID_VALUE, "captureStatus is null");
  VG_CHECK(call.resolve(hStream));
  *captureStatus = CU_STREAM_CAPTURE_STATUS_NONE;
  return CUDA_SUCCESS;
}

CUresult cuStreamGetCaptureInfo(const Call& call, CUstream hStream, CUstreamCaptureStatus* captureStatus_out,
                                cuuint64_t*) {
  return cuStreamIsCapturing(call, hStream, captureStatus_out);
}

CUresult cuStreamGetCaptureInfo_v2(const Call& call, CUstream hStream, CUstreamCaptureStatus* captureStatus_out,
                                   cuuint64_t*, CUgraph*, const CUgraphNode**, size_t*) {
  return cuStreamIsCapturing(call, hStream, captureStatus_out);
}

CUresult cuStreamGetCaptureInfo_v3(const Call& call, CUstream hStream, CUstreamCaptureStatus* captureStatus_out,
                                   cuuint64_t*, CUgraph*, const CUgraphNode**, const CUgraphEdgeData**, size_t*) {
  return cuStreamIsCapturing(call, hStream, captureStatus_out);
}

CUresult cuStreamEndCapture(const Call& call, CUstream hStream, CUgraph* phGraph) {
  if (!phGraph) return fail(CUDA_ERROR_INVALID_VALUE, "phGraph is null");
  VG_CHECK(call.resolve(hStream));
  *phGraph = nullptr;
  return fail(CUDA_ERROR_ILLEGAL_STATE, "the stream is not capturing");
}

CUresult cuThreadExchangeStreamCaptureMode(const Call&, CUstreamCaptureMode* mode) {
  if (!mode) return fail(CUDA_ERROR_INVALID_VALUE, "mode is null");
  if (const int wanted = rawValue(*mode); wanted < 0 || wanted > CU_STREAM_CAPTURE_MODE_RELAXED)
    return fail(CUDA_ERROR_INVALID_VALUE, "capture mode %d", wanted);
  *mode = std::exchange(core::threadState.captureMode, *mode);
  return CUDA_SUCCESS;
}

}  // namespace vg::handlers
