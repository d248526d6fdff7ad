#include "core/contexts/current_context.h"

#include "core/process/device.h"

namespace vg::core {

Result<ContextReference> findAnyContext(CUcontext handle) {
  if (Context* context = asContext(handle)) return referenceTo(*context);
  if (GreenContext* green = asGreenContext(handle)) return referenceTo(*green);
  return fail(CUDA_ERROR_INVALID_CONTEXT, "%p is no context", static_cast<void*>(handle));
}

Result<Context&> findContextOrPrimary(CUcontext handle) {
  VG_TRY(const ContextReference found, findAnyContext(handle));
  Context& context = *found.context;
  if (found.green ? !found.green->alive() : !context.primary() && !context.alive())
    return fail(CUDA_ERROR_CONTEXT_IS_DESTROYED, "context %p has been destroyed", static_cast<void*>(handle));
  return context;
}

Result<Context&> findContext(CUcontext handle) {
  VG_TRY(Context & context, findContextOrPrimary(handle));
  if (!context.alive())
    return fail(CUDA_ERROR_CONTEXT_IS_DESTROYED, "the primary context of device %d is not retained",
                context.device().ordinal());
  return context;
}

Result<Context&> examineCurrentContext() {
  const ThreadState& state = threadState;
  Context* context = state.current;
  if (!context) return fail(CUDA_ERROR_INVALID_CONTEXT, "no context is current to this thread");
  if (state.green && state.green->usable(state.generation)) return *context;
  if (!lives(currentReference()))
    return fail(CUDA_ERROR_CONTEXT_IS_DESTROYED,
                "the current context was destroyed, or is a primary context that is not retained");
  if (const CUresult fault = context->state())
    return fail(fault, "an earlier error of this context, %d, sticks", static_cast<int>(fault));
  return CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

StreamSet& streamsOf(const ContextReference& reference) {
  return reference.green ? reference.green->streams() : reference.context->streams();
}

Result<StreamSet&> currentGreenStreams() {
  VG_CHECK(currentContext());
  return threadState.green->streams();
}

CUcontext handleOf(const ContextReference& reference) {
  if (reference.green) return reference.green->contextHandle();
  return reference.context ? reference.context->handle() : nullptr;
}

bool lives(const ContextReference& reference) {
  if (reference.green) return reference.green->alive() && reference.green->id() == reference.generation;
  return reference.context->alive() && reference.context->generation() == reference.generation;
}

Result<CUcontext> popCurrent() {
  const ContextReference top = takeCurrent();
  if (!top.context) return fail(CUDA_ERROR_INVALID_CONTEXT, "the thread's stack of contexts is empty");
  return handleOf(top);
}

}  // namespace vg::core
