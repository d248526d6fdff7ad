// Green contexts: how a device's multiprocessors are divided, and contexts over a part of them.
#include "core/contexts/green_context.h"

#include "api/entry/call.h"
#include "base/raw_enum.h"
#include "core/contexts/context_events.h"
#include "core/contexts/current_context.h"
#include "core/contexts/device_resource.h"
#include "core/process/device.h"
#include "core/process/driver_version.h"
#include "core/streams/event.h"

namespace vg::handlers {
namespace {

// Work queues are the device's, whoever asks.
CUresult giveResource(const core::GreenContext& green, CUdevResource* resource, CUdevResourceType type) {
  if (!resource) return missing("resource");
  const core::Device& device = green.primary().device();
  VG_TRY(*resource, core::resources::ofDevice(device, type));
  if (rawValue(type) == CU_DEV_RESOURCE_TYPE_SM)
    *resource = core::resources::part(device, static_cast<uint32_t>(green.multiprocessors().count()));
  return CUDA_SUCCESS;
}

}  // namespace

CUresult cuDeviceGetDevResource(const Call&, CUdevice device, CUdevResource* resource, CUdevResourceType type) {
  if (!resource) return missing("resource");
  VG_TRY(core::Device & found, core::findDevice(device));
  VG_TRY(*resource, core::resources::ofDevice(found, type));
  return CUDA_SUCCESS;
}

CUresult cuCtxGetDevResource(const Call&, CUcontext hCtx, CUdevResource* resource, CUdevResourceType type) {
  VG_TRY(core::Context & context, core::findContext(hCtx));
  if (const core::GreenContext* green = core::asGreenContext(hCtx)) return giveResource(*green, resource, type);
  if (!resource) return missing("resource");
  VG_TRY(*resource, core::resources::ofDevice(context.device(), type));
  return CUDA_SUCCESS;
}

CUresult cuGreenCtxGetDevResource(const Call&, CUgreenCtx hCtx, CUdevResource* resource, CUdevResourceType type) {
  VG_TRY(core::GreenContext & green, core::findGreenContext(hCtx));
  return giveResource(green, resource, type);
}

// Without a place for the groups it says how many there could be.
CUresult cuDevSmResourceSplitByCount(const Call&, CUdevResource* result, unsigned int* nbGroups,
                                     const CUdevResource* input, CUdevResource* remaining, unsigned int useFlags,
                                     unsigned int minCount) {
  if (!nbGroups) return missing("nbGroups");
  if (!input) return missing("input");
  if (result && !*nbGroups) return fail(CUDA_ERROR_INVALID_VALUE, "no groups are asked for");
  const CUdevResource whole = *input;  // the results may lie over it
  VG_TRY(const core::resources::Split split,
         core::resources::split(whole, result ? *nbGroups : ~0u, useFlags, minCount));
  *nbGroups = split.groups;
  for (unsigned i = 0; result && i < split.groups; ++i) result[i] = core::resources::group(whole, split, i);
  if (remaining && result) *remaining = core::resources::rest(whole, split);
  return CUDA_SUCCESS;
}

CUresult cuDevSmResourceSplit(const Call&, CUdevResource* result, unsigned int nbGroups, const CUdevResource* input,
                              CUdevResource* remainder, unsigned int flags,
                              CU_DEV_SM_RESOURCE_GROUP_PARAMS* groupParams) {
  if (!input || !groupParams) return missing("input or groupParams");
  if (!nbGroups || flags) return fail(CUDA_ERROR_INVALID_VALUE, "%u groups, flags %#x", nbGroups, flags);
  return core::resources::splitInGroups(*input, groupParams, nbGroups, result, remainder);
}

CUresult cuDevResourceGenerateDesc(const Call&, CUdevResourceDesc* phDesc, CUdevResource* resources,
                                   unsigned int nbResources) {
  if (!phDesc || !resources || !nbResources) return missing("phDesc, resources or nbResources");
  VG_TRY(*phDesc, core::resources::describe(resources, nbResources));
  return CUDA_SUCCESS;
}

CUresult cuGreenCtxCreate(const Call&, CUgreenCtx* phCtx, CUdevResourceDesc desc, CUdevice dev, unsigned int flags) {
  if (!phCtx) return missing("phCtx");
  const bool without = flags == CU_GREEN_CTX_NONE && core::offers(13030);  // earlier drivers want the flag
  if (flags != CU_GREEN_CTX_DEFAULT_STREAM && !without)
    return fail(CUDA_ERROR_INVALID_VALUE, "flags must be CU_GREEN_CTX_DEFAULT_STREAM, not %#x", flags);
  VG_TRY(core::Device & device, core::findDevice(dev));
  VG_TRY(const backend::MultiprocessorSet& multiprocessors, core::resources::multiprocessors(device, desc));
  VG_TRY(core::GreenContext & green, core::createGreenContext(device, multiprocessors));
  *phCtx = green.handle();
  return CUDA_SUCCESS;
}

// One that a reset of the primary context has ended still holds on to that.
CUresult cuGreenCtxDestroy(const Call&, CUgreenCtx hCtx) {
  if (core::GreenContext* green = core::asGreenContext(hCtx)) return core::destroyGreenContext(*green);
  return fail(CUDA_ERROR_INVALID_CONTEXT, "%p is no green context", static_cast<void*>(hCtx));
}

CUresult cuCtxFromGreenCtx(const Call&, CUcontext* pContext, CUgreenCtx hCtx) {
  if (!pContext) return missing("pContext");
  VG_TRY(core::GreenContext & green, core::findGreenContext(hCtx));
  *pContext = green.contextHandle();
  return CUDA_SUCCESS;
}

CUresult cuGreenCtxGetId(const Call&, CUgreenCtx greenCtx, unsigned long long* greenCtxId) {
  if (!greenCtxId) return missing("greenCtxId");
  VG_TRY(core::GreenContext & green, core::findGreenContext(greenCtx));
  *greenCtxId = green.id();
  return CUDA_SUCCESS;
}

CUresult cuGreenCtxStreamCreate(const Call&, CUstream* phStream, CUgreenCtx greenCtx, unsigned int flags,
                                int priority) {
  if (!phStream) return missing("phStream");
  VG_TRY(core::GreenContext & green, core::findGreenContext(greenCtx));
  if (flags != CU_STREAM_NON_BLOCKING)
    return fail(CUDA_ERROR_INVALID_VALUE, "flags must be CU_STREAM_NON_BLOCKING, not %#x", flags);
  VG_TRY(*phStream, core::streams::create(green.streams(), flags, priority));
  return CUDA_SUCCESS;
}

CUresult cuGreenCtxRecordEvent(const Call&, CUgreenCtx hCtx, CUevent hEvent) {
  VG_TRY(core::GreenContext & green, core::findGreenContext(hCtx));
  VG_TRY(core::Event & event, core::events::find(hEvent));
  return core::recordContext(green.streams(), event);
}

CUresult cuGreenCtxWaitEvent(const Call&, CUgreenCtx hCtx, CUevent hEvent) {
  VG_TRY(core::GreenContext & green, core::findGreenContext(hCtx));
  VG_TRY(core::Event & event, core::events::find(hEvent));
  return core::waitContext(green.streams(), event);
}

}  // namespace vg::handlers
