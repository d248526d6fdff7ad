// Streams: made, asked, waited for, and what is ordered by them alone.
#include "core/streams/stream.h"

#include "api/entry/call.h"
#include "base/raw_enum.h"
#include "core/contexts/context.h"
#include "core/contexts/current_context.h"
#include "core/contexts/device_resource.h"
#include "core/contexts/green_context.h"
#include "core/process/device.h"
#include "core/streams/event.h"
#include "core/work/event_work.h"
#include "core/work/host_function.h"

namespace vg::handlers {
namespace {

// The current context. When it cannot be used, the vendor's driver leaves a null handle behind.
Result<core::StreamSet&> creationContext(CUstream* made) {
  auto streams = core::currentStreams();
  if (!streams.ok() && made) *made = nullptr;
  return streams;
}

}  // namespace

CUresult cuStreamCreateWithPriority(const Call&, CUstream* phStream, unsigned int flags, int priority) {
  VG_TRY(core::StreamSet & streams, creationContext(phStream));
  if (!phStream) return missing("phStream");
  VG_TRY(*phStream, core::streams::create(streams, flags, priority));
  return CUDA_SUCCESS;
}

CUresult cuStreamCreate(const Call& call, CUstream* phStream, unsigned int Flags) {
  return cuStreamCreateWithPriority(call, phStream, Flags, core::streams::kLeastPriority);
}

CUresult cuStreamDestroy_v2(const Call&, CUstream hStream) { return core::streams::destroy(hStream); }
CUresult cuStreamDestroy(const Call&, CUstream hStream) { return core::streams::destroy(hStream); }

CUresult cuStreamQuery(const Call& call, CUstream hStream) {
  VG_TRY(core::Stream & stream, call.resolve(hStream));
  VG_CHECK(stream.mayBeWaitedFor("cuStreamQuery"));
  return stream.query();
}

CUresult cuStreamSynchronize(const Call& call, CUstream hStream) {
  VG_TRY(core::Stream & stream, call.resolve(hStream));
  VG_CHECK(stream.mayBeWaitedFor("cuStreamSynchronize"));
  return stream.synchronize();
}

CUresult cuStreamWaitEvent(const Call& call, CUstream hStream, CUevent hEvent, unsigned int Flags) {
  if (Flags & ~unsigned{CU_EVENT_WAIT_EXTERNAL}) return fail(CUDA_ERROR_INVALID_VALUE, "wait flags %#x", Flags);
  VG_TRY(core::Stream & stream, call.resolve(hStream));
  VG_TRY(core::Event & event, core::events::find(hEvent));
  return stream.give(core::work::Wait{event.handle(), Flags});
}

CUresult cuStreamAddCallback(const Call& call, CUstream hStream, CUstreamCallback callback, void* userData,
                             unsigned int flags) {
  if (!callback) return missing("callback");
  if (flags) return fail(CUDA_ERROR_INVALID_VALUE, "callback flags %#x", flags);
  VG_TRY(core::Stream & stream, call.resolve(hStream));
  return core::addCallback(stream, hStream, callback, userData);
}

CUresult cuLaunchHostFunc(const Call& call, CUstream hStream, CUhostFn fn, void* userData) {
  if (!fn) return missing("fn");
  VG_TRY(core::Stream & stream, call.resolve(hStream));
  return stream.give(core::work::HostCall{{fn, userData}});
}

// How the thread waits that is to call it is advice: ours sleep after a while of spinning (base/sync/core_use.h).
CUresult cuLaunchHostFunc_v2(const Call& call, CUstream hStream, CUhostFn fn, void* userData, unsigned int syncMode) {
  if (!fn) return missing("fn");
  if (syncMode > CU_HOST_TASK_SPINWAIT) return fail(CUDA_ERROR_INVALID_VALUE, "synchronisation mode %u", syncMode);
  VG_TRY(core::Stream & stream, call.resolve(hStream));
  return stream.give(core::work::HostCall{{fn, userData}, syncMode});
}

CUresult cuStreamGetDevResource(const Call& call, CUstream hStream, CUdevResource* resource, CUdevResourceType type) {
  if (!resource) return missing("resource");
  if (rawValue(type) != CU_DEV_RESOURCE_TYPE_SM)
    return fail(CUDA_ERROR_INVALID_RESOURCE_TYPE, "streams have no resource of type %d", rawValue(type));
  VG_TRY(core::Stream & stream, call.resolve(hStream));
  const core::GreenContext* const green = stream.set().green;
  const core::Device& device = stream.context().device();
  if (green) {
    *resource = core::resources::part(device, static_cast<uint32_t>(green->multiprocessors().count()));
    return CUDA_SUCCESS;
  }
  VG_TRY(*resource, core::resources::ofDevice(device, type));
  return CUDA_SUCCESS;
}

CUresult cuStreamGetPriority(const Call& call, CUstream hStream, int* priority) {
  if (!priority) return missing("priority");
  VG_TRY(core::Stream & stream, call.resolve(hStream));
  VG_CHECK(stream.mayBeAsked());
  *priority = stream.priority();
  return CUDA_SUCCESS;
}

CUresult cuStreamGetFlags(const Call& call, CUstream hStream, unsigned int* flags) {
  if (!flags) return missing("flags");
  VG_TRY(core::Stream & stream, call.resolve(hStream));
  VG_CHECK(stream.mustRun("cuStreamGetFlags"));  // as the driver does
  *flags = stream.flags();
  return CUDA_SUCCESS;
}

CUresult cuStreamGetId(const Call& call, CUstream hStream, unsigned long long* streamId) {
  if (!streamId) return missing("streamId");
  VG_TRY(core::Stream & stream, call.resolve(hStream));
  VG_CHECK(stream.mustRun("cuStreamGetId"));  // as the driver does
  *streamId = stream.id();
  return CUDA_SUCCESS;
}

CUresult cuStreamGetDevice(const Call& call, CUstream hStream, CUdevice* device) {
  if (!device) return missing("device");
  VG_TRY(core::Stream & stream, call.resolve(hStream));
  VG_CHECK(stream.mustRun("cuStreamGetDevice"));  // as the driver does
  *device = stream.context().device().handle();
  return CUDA_SUCCESS;
}

CUresult cuStreamGetCtx(const Call& call, CUstream hStream, CUcontext* pctx) {
  if (!pctx) return missing("pctx");
  VG_TRY(core::Stream & stream, call.resolve(hStream));
  VG_CHECK(stream.mayBeAsked());
  *pctx = stream.set().green ? stream.set().green->contextHandle() : stream.context().handle();
  return CUDA_SUCCESS;
}

CUresult cuStreamGetCtx_v2(const Call& call, CUstream hStream, CUcontext* pCtx, CUgreenCtx* pGreenCtx) {
  if (!pCtx) return missing("pCtx");
  VG_TRY(core::Stream & stream, call.resolve(hStream));
  VG_CHECK(stream.mayBeAsked());
  *pCtx = stream.context().handle();
  if (pGreenCtx) *pGreenCtx = stream.set().green ? stream.set().green->handle() : nullptr;
  return CUDA_SUCCESS;
}

CUresult cuStreamGetGreenCtx(const Call& call, CUstream hStream, CUgreenCtx* phCtx) {
  if (!phCtx) return missing("phCtx");
  VG_TRY(core::Stream & stream, call.resolve(hStream));
  *phCtx = stream.set().green ? stream.set().green->handle() : nullptr;
  return CUDA_SUCCESS;
}

CUresult cuStreamGetAttribute(const Call& call, CUstream hStream, CUstreamAttrID attr, CUstreamAttrValue* value) {
  if (!value) return missing("value");
  VG_TRY(core::Stream & stream, call.resolve(hStream));
  VG_CHECK(stream.mayBeAsked());
  return core::streams::attribute(stream, attr, value);
}

CUresult cuStreamSetAttribute(const Call& call, CUstream hStream, CUstreamAttrID attr, const CUstreamAttrValue* param) {
  if (!param) return missing("param");
  VG_TRY(core::Stream & stream, call.resolve(hStream));
  VG_CHECK(stream.mayBeAsked());
  return core::streams::setAttribute(stream, attr, *param);
}

CUresult cuStreamCopyAttributes(const Call& call, CUstream dstStream, CUstream srcStream) {
  VG_TRY(core::Stream & destination, call.resolve(dstStream));
  VG_TRY(core::Stream & source, call.resolve(srcStream));
  VG_CHECK(destination.mayBeAsked());
  VG_CHECK(source.mayBeAsked());
  return core::streams::copyAttributes(destination, source);
}

}  // namespace vg::handlers
