#include "core/work/event_work.h"

#include "core/streams/capture_sink.h"
#include "core/streams/event.h"

namespace vg::core::work {
namespace {

Event& eventOf(CUevent handle) { return *reinterpret_cast<Event*>(handle); }

CUresult refuseFlags() { return fail(CUDA_ERROR_ILLEGAL_STATE, "the stream is not capturing"); }

}  // namespace

Result<Work> keep(Stream& stream, const Record& record) {
  if (!record.flags) VG_CHECK(eventOf(record.event).goesWith(stream));
  return Work(record);
}

Result<Work> keep(Stream&, const Wait& wait) { return Work(wait); }

CUresult perform(Stream& stream, const Record& record, Form) {
  return record.flags ? refuseFlags() : eventOf(record.event).record(stream);
}

CUresult perform(Stream& stream, const Wait& wait, Form) {
  if (wait.flags) return refuseFlags();
  Event& event = eventOf(wait.event);
  if (event.captured()) [[unlikely]]  // the stream joins that capture
    return capture::take(stream, Work(wait));
  return stream.waitFor(event.point());
}

}  // namespace vg::core::work
