#include "core/context_events.h"

#include "core/capture.h"
#include "core/context.h"
#include "core/event.h"
#include "core/stream.h"

namespace vg::core {

CUresult recordContext(Context& context, Event& event) {
  if (&event.context() != &context) return fail(CUDA_ERROR_INVALID_HANDLE, "the event belongs to another context");
  VG_CHECK(capture::permitContextWait(context));
  // A stream that waits for all others has nothing else to do, so it may end at once.
  VG_TRY(const CUstream handle, streams::create(context, CU_STREAM_NON_BLOCKING, streams::kLeastPriority));
  VG_TRY(Stream & stream, resolveStream(handle, &context));
  CUresult result = CUDA_SUCCESS;
  for (const Point& point : streams::unfinished(context))
    if (result == CUDA_SUCCESS) result = stream.waitFor(point);
  if (result == CUDA_SUCCESS) result = event.record(stream);
  const CUresult ended = streams::destroy(handle);
  return result != CUDA_SUCCESS ? result : ended;
}

CUresult waitContext(Context& context, Event& event) {
  VG_CHECK(capture::permitContextWait(context));
  if (event.captured()) return capture::refuse(event);
  const Point point = event.point();
  VG_CHECK(context.state());
  if (point.done()) return CUDA_SUCCESS;
  for (const CUstream handle : streams::all(context)) {
    const auto stream = resolveStream(handle, &context);
    if (stream.ok()) VG_CHECK(stream.value().waitFor(point));  // it may have ended meanwhile
  }
  return CUDA_SUCCESS;
}

}  // namespace vg::core
