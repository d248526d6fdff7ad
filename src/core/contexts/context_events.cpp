#include "core/contexts/context_events.h"

#include "check/races/order.h"
#include "core/contexts/context.h"
#include "core/streams/capture_sink.h"
#include "core/streams/event.h"
#include "core/streams/stream.h"

namespace vg::core {
namespace {

std::vector<Point> pendingIn(StreamSet& set) {
  return set.green ? streams::pending(set) : streams::pending(set.context);
}

CUresult waitIn(StreamSet& set, Point point) {
  for (const CUstream handle : streams::all(set)) {
    const auto stream = resolveStream(handle, &set);
    if (stream.ok()) VG_CHECK(stream.value().waitFor(point));  // it may have ended meanwhile
  }
  return CUDA_SUCCESS;
}

}  // namespace

CUresult recordContext(StreamSet& set, Event& event) {
  Context& context = set.context;
  if (&event.context() != &context) return fail(CUDA_ERROR_INVALID_HANDLE, "the event belongs to another context");
  VG_CHECK(capture::permitContextWait(context));
  // A stream that waits for all others has nothing else to do, so it may end at once.
  VG_TRY(const CUstream handle, streams::create(set, CU_STREAM_NON_BLOCKING, streams::kLeastPriority));
  VG_TRY(Stream & stream, resolveStream(handle, &set));
  CUresult result = CUDA_SUCCESS;
  for (const Point& point : pendingIn(set))
    if (result == CUDA_SUCCESS) result = stream.waitFor(point);
  if (result == CUDA_SUCCESS) result = event.record(stream);
  const CUresult ended = streams::destroy(handle);
  return result != CUDA_SUCCESS ? result : ended;
}

CUresult waitContext(StreamSet& set, Event& event) {
  Context& context = set.context;
  VG_CHECK(capture::permitContextWait(context));
  if (event.captured()) return capture::refuse(event);
  const Point point = event.point();
  VG_CHECK(context.state());
  // More than the event has seen, but never less: which streams it stands for was not kept.
  if (check::order::on()) check::order::hostWaitedForAll();
  if (point.done()) return CUDA_SUCCESS;
  VG_CHECK(waitIn(set, point));
  if (set.green) return CUDA_SUCCESS;
  for (StreamSet* part = set.next.load(std::memory_order_acquire); part;
       part = part->next.load(std::memory_order_acquire))
    VG_CHECK(waitIn(*part, point));
  return CUDA_SUCCESS;
}

}  // namespace vg::core
