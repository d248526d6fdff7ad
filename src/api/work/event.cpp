// Events: made, recorded, asked and waited for.
#include "core/streams/event.h"

#include "api/entry/call.h"
#include "core/contexts/context.h"
#include "core/contexts/context_events.h"
#include "core/contexts/current_context.h"
#include "core/contexts/green_context.h"
#include "core/streams/stream.h"
#include "core/work/event_work.h"

namespace vg::handlers {
namespace {

Result<core::StreamSet&> streamsOf(CUcontext context) {
  VG_CHECK(core::findContext(context));
  VG_TRY(const core::ContextReference found, core::findAnyContext(context));
  return core::streamsOf(found);
}

}  // namespace

CUresult cuEventCreate(const Call& call, CUevent* phEvent, unsigned int Flags) {
  if (!phEvent) return missing("phEvent");
  VG_TRY(*phEvent, core::events::create(*call.context, Flags));
  return CUDA_SUCCESS;
}

CUresult cuEventDestroy_v2(const Call&, CUevent hEvent) { return core::events::destroy(hEvent); }
CUresult cuEventDestroy(const Call&, CUevent hEvent) { return core::events::destroy(hEvent); }

CUresult cuEventRecordWithFlags(const Call& call, CUevent hEvent, CUstream hStream, unsigned int flags) {
  if (flags & ~unsigned{CU_EVENT_RECORD_EXTERNAL}) return fail(CUDA_ERROR_INVALID_VALUE, "record flags %#x", flags);
  VG_TRY(core::Event & event, core::events::find(hEvent));
  VG_TRY(core::Stream & stream, call.resolve(hStream));
  return stream.give(core::work::Record{event.handle(), flags});
}

CUresult cuEventRecord(const Call& call, CUevent hEvent, CUstream hStream) {
  return cuEventRecordWithFlags(call, hEvent, hStream, CU_EVENT_RECORD_DEFAULT);
}

CUresult cuEventQuery(const Call&, CUevent hEvent) {
  VG_TRY(core::Event & event, core::events::find(hEvent));
  VG_CHECK(event.mayBeWaitedFor());
  return event.query();
}

CUresult cuEventSynchronize(const Call&, CUevent hEvent) {
  VG_TRY(core::Event & event, core::events::find(hEvent));
  VG_CHECK(event.mayBeWaitedFor());
  return event.synchronize();
}

CUresult cuEventElapsedTime(const Call&, float* pMilliseconds, CUevent hStart, CUevent hEnd) {
  if (!pMilliseconds) return fail(CUDA_ERROR_INVALID_HANDLE, "pMilliseconds is null");  // as the driver answers
  VG_TRY(core::Event & start, core::events::find(hStart));
  VG_TRY(core::Event & end, core::events::find(hEnd));
  VG_TRY(*pMilliseconds, core::Event::elapsed(start, end));
  return CUDA_SUCCESS;
}

CUresult cuEventElapsedTime_v2(const Call& call, float* pMilliseconds, CUevent hStart, CUevent hEnd) {
  return cuEventElapsedTime(call, pMilliseconds, hStart, hEnd);
}

CUresult cuCtxRecordEvent(const Call&, CUcontext hCtx, CUevent hEvent) {
  VG_TRY(core::StreamSet & streams, streamsOf(hCtx));
  VG_TRY(core::Event & event, core::events::find(hEvent));
  return core::recordContext(streams, event);
}

CUresult cuCtxWaitEvent(const Call&, CUcontext hCtx, CUevent hEvent) {
  VG_TRY(core::StreamSet & streams, streamsOf(hCtx));
  VG_TRY(core::Event & event, core::events::find(hEvent));
  return core::waitContext(streams, event);
}

}  // namespace vg::handlers
