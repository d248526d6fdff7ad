// Contexts: making and ending them, the thread's stack, and what a context is asked and told.
#include "core/contexts/context.h"

#include "api/entry/call.h"
#include "core/contexts/current_context.h"
#include "core/contexts/green_context.h"
#include "core/process/device.h"
#include "core/streams/capture_sink.h"

namespace vg::handlers {
namespace {

constexpr unsigned kFirstApiVersion = 3010, kApiVersion = 3020;

CUresult create(CUcontext* pctx, unsigned flags, CUdevice dev, unsigned apiVersion) {
  if (!pctx) return missing("pctx");
  VG_TRY(core::Device & device, core::findDevice(dev));
  VG_TRY(core::Context & context, core::createContext(device, flags, apiVersion));
  *pctx = context.handle();
  return CUDA_SUCCESS;
}

CUresult refuseAffinity(int count) {
  return fail(CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY, "%d execution affinities, but the device does not support any",
              count);
}

// The context that a handle names, null meaning the current one.
Result<core::ContextReference> named(CUcontext handle) {
  if (!handle) {
    VG_CHECK(core::currentContext());
    return core::currentReference();
  }
  VG_CHECK(core::findContext(handle));
  return core::findAnyContext(handle);
}

// The thread's current context for calls that need not have it retained or healthy.
Result<core::Context&> top() {
  if (core::Context* context = core::threadState.current) return *context;
  return fail(CUDA_ERROR_INVALID_CONTEXT, "no context is current to this thread");
}

}  // namespace

CUresult cuCtxCreate_v2(const Call&, CUcontext* pctx, unsigned int flags, CUdevice dev) {
  return create(pctx, flags, dev, kApiVersion);
}

CUresult cuCtxCreate(const Call&, CUcontext* pctx, unsigned int flags, CUdevice dev) {
  return create(pctx, flags, dev, kFirstApiVersion);
}

CUresult cuCtxCreate_v3(const Call&, CUcontext* pctx, CUexecAffinityParam* paramsArray, int numParams,
                        unsigned int flags, CUdevice dev) {
  if (numParams < 0 || (numParams > 0 && !paramsArray))
    return fail(CUDA_ERROR_INVALID_VALUE, "%d execution affinities at %p", numParams, static_cast<void*>(paramsArray));
  if (numParams) return refuseAffinity(numParams);
  return create(pctx, flags, dev, kApiVersion);
}

CUresult cuCtxCreate_v4(const Call&, CUcontext* pctx, CUctxCreateParams* ctxCreateParams, unsigned int flags,
                        CUdevice dev) {
  if (ctxCreateParams) {
    if (ctxCreateParams->cigParams && ctxCreateParams->execAffinityParams)
      return fail(CUDA_ERROR_INVALID_VALUE, "execution affinities and graphics parameters exclude each other");
    if (ctxCreateParams->cigParams) return unsupported("contexts that share a graphics queue");
    VG_CHECK(core::findDevice(dev));
    if (ctxCreateParams->execAffinityParams && ctxCreateParams->numExecAffinityParams)
      return refuseAffinity(ctxCreateParams->numExecAffinityParams);
  }
  return create(pctx, flags, dev, kApiVersion);
}

CUresult cuCtxDestroy_v2(const Call&, CUcontext ctx) {
  if (!ctx) return missing("ctx");
  VG_TRY(core::Context & context, core::findContextOrPrimary(ctx));
  return core::destroyContext(context);
}

CUresult cuCtxDestroy(const Call& call, CUcontext ctx) { return cuCtxDestroy_v2(call, ctx); }

CUresult cuCtxAttach(const Call&, CUcontext* pctx, unsigned int flags) {
  if (!pctx) return missing("pctx");
  if (flags) return fail(CUDA_ERROR_INVALID_VALUE, "flags must be 0, not %#x", flags);
  VG_TRY(core::Context & context, core::currentContext());
  VG_CHECK(core::attachContext(context));
  *pctx = context.handle();
  return CUDA_SUCCESS;
}

CUresult cuCtxDetach(const Call&, CUcontext ctx) {
  VG_TRY(core::Context & context, core::findContext(ctx));
  return core::detachContext(context);
}

CUresult cuCtxPushCurrent_v2(const Call&, CUcontext ctx) {
  if (!ctx) return missing("ctx");
  VG_TRY(const core::ContextReference context, core::findAnyContext(ctx));
  core::pushCurrent(context);
  return CUDA_SUCCESS;
}

CUresult cuCtxPushCurrent(const Call& call, CUcontext ctx) { return cuCtxPushCurrent_v2(call, ctx); }

CUresult cuCtxPopCurrent_v2(const Call&, CUcontext* pctx) {
  VG_TRY(const CUcontext popped, core::popCurrent());
  if (pctx) *pctx = popped;
  return CUDA_SUCCESS;
}

CUresult cuCtxPopCurrent(const Call& call, CUcontext* pctx) { return cuCtxPopCurrent_v2(call, pctx); }

CUresult cuCtxSetCurrent(const Call&, CUcontext ctx) {
  if (!ctx) {
    core::setCurrent({});
    return CUDA_SUCCESS;
  }
  VG_TRY(const core::ContextReference context, core::findAnyContext(ctx));
  core::setCurrent(context);
  return CUDA_SUCCESS;
}

CUresult cuCtxGetCurrent(const Call&, CUcontext* pctx) {
  if (!pctx) return missing("pctx");
  *pctx = core::handleOf(core::currentReference());
  return CUDA_SUCCESS;
}

CUresult cuCtxGetDevice(const Call&, CUdevice* device) {
  if (!device) return missing("device");
  VG_TRY(core::Context & context, top());
  *device = context.device().handle();
  return CUDA_SUCCESS;
}

CUresult cuCtxGetDevice_v2(const Call& call, CUdevice* device, CUcontext ctx) {
  if (!ctx) return cuCtxGetDevice(call, device);
  if (!device) return missing("device");
  VG_TRY(core::Context & context, core::findContextOrPrimary(ctx));
  *device = context.device().handle();
  return CUDA_SUCCESS;
}

// What applications probe a context with: one that has ended is no context, while a failed one still is.
CUresult cuCtxGetApiVersion(const Call&, CUcontext ctx, unsigned int* version) {
  if (!version) return missing("version");
  VG_CHECK(ctx ? CUDA_SUCCESS : top().error());
  VG_TRY(const core::ContextReference asked, ctx ? core::findAnyContext(ctx) : core::currentReference());
  if (!core::lives(asked))
    return fail(CUDA_ERROR_INVALID_CONTEXT, "the context was destroyed, or is a primary context that is not retained");
  *version = asked.context->apiVersion();
  return CUDA_SUCCESS;
}

CUresult cuCtxGetId(const Call&, CUcontext ctx, unsigned long long* ctxId) {
  if (!ctxId) return missing("ctxId");
  VG_TRY(const core::ContextReference context, named(ctx));
  *ctxId = context.green ? context.green->id() : context.context->id();
  return CUDA_SUCCESS;
}

CUresult cuCtxGetFlags(const Call& call, unsigned int* flags) {
  if (!flags) return missing("flags");
  *flags = call.context->flags();
  return CUDA_SUCCESS;
}

CUresult cuCtxSetFlags(const Call& call, unsigned int flags) { return call.context->setFlags(flags); }

CUresult cuCtxSynchronize(const Call& call) { return cuCtxSynchronize_v2(call, nullptr); }

CUresult cuCtxSynchronize_v2(const Call&, CUcontext ctx) {
  VG_TRY(const core::ContextReference asked, named(ctx));
  VG_CHECK(core::capture::permitContextWait(*asked.context));
  return asked.green ? core::streams::synchronizeAll(asked.green->streams()) : asked.context->synchronize();
}

CUresult cuCtxGetLimit(const Call& call, size_t* pvalue, CUlimit limit) {
  if (!pvalue) return missing("pvalue");
  VG_TRY(*pvalue, call.context->limit(limit));
  return CUDA_SUCCESS;
}

CUresult cuCtxSetLimit(const Call& call, CUlimit limit, size_t value) { return call.context->setLimit(limit, value); }

CUresult cuCtxGetCacheConfig(const Call& call, CUfunc_cache* pconfig) {
  if (!pconfig) return missing("pconfig");
  *pconfig = call.context->cacheConfig();
  return CUDA_SUCCESS;
}

CUresult cuCtxSetCacheConfig(const Call& call, CUfunc_cache config) {
  if (config < CU_FUNC_CACHE_PREFER_NONE || config > CU_FUNC_CACHE_PREFER_EQUAL)
    return fail(CUDA_ERROR_INVALID_VALUE, "there is no cache configuration %d", static_cast<int>(config));
  call.context->setCacheConfig(config);
  return CUDA_SUCCESS;
}

CUresult cuCtxGetSharedMemConfig(const Call&, CUsharedconfig* pConfig) {
  if (!pConfig) return missing("pConfig");
  *pConfig = CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE;  // whatever was set: the banks of devices since 5.0
  return CUDA_SUCCESS;
}

CUresult cuCtxSetSharedMemConfig(const Call&, CUsharedconfig config) {
  if (config < CU_SHARED_MEM_CONFIG_DEFAULT_BANK_SIZE || config > CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE)
    return fail(CUDA_ERROR_INVALID_VALUE, "there is no bank configuration %d", static_cast<int>(config));
  return CUDA_SUCCESS;
}

CUresult cuCtxGetStreamPriorityRange(const Call&, int* leastPriority, int* greatestPriority) {
  if (leastPriority) *leastPriority = core::streams::kLeastPriority;
  if (greatestPriority) *greatestPriority = core::streams::kGreatestPriority;
  return CUDA_SUCCESS;
}

// The emulated device keeps no lines persisting, so there is nothing to reset.
CUresult cuCtxResetPersistingL2Cache(const Call&) { return CUDA_SUCCESS; }

CUresult cuCtxGetExecAffinity(const Call& call, CUexecAffinityParam* pExecAffinity, CUexecAffinityType type) {
  if (!pExecAffinity) return missing("pExecAffinity");
  if (type < 0 || type >= CU_EXEC_AFFINITY_TYPE_MAX)
    return fail(CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY, "there is no execution affinity %d", static_cast<int>(type));
  if (core::threadState.green) return fail(CUDA_ERROR_INVALID_CONTEXT, "green contexts have no execution affinity");
  const int all = call.context->device().attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  *pExecAffinity = {CU_EXEC_AFFINITY_TYPE_SM_COUNT, {{static_cast<unsigned>(all)}}};
  return CUDA_SUCCESS;
}

CUresult cuCtxEnablePeerAccess(const Call& call, CUcontext peerContext, unsigned int Flags) {
  if (Flags) return fail(CUDA_ERROR_INVALID_VALUE, "flags must be 0, not %#x", Flags);
  VG_TRY(core::Context & peer, core::findContext(peerContext));
  return call.context->enablePeer(peer);
}

CUresult cuCtxDisablePeerAccess(const Call& call, CUcontext peerContext) {
  VG_TRY(core::Context & peer, core::findContext(peerContext));
  return call.context->disablePeer(peer);
}

}  // namespace vg::handlers
