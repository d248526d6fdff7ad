// Which context is meant: the one that is current to the calling thread, or the one that a handle names. Each of them
// may be a green context's.
#pragma once

#include <cuda.h>

#include "base/result.h"
#include "core/contexts/context.h"
#include "core/contexts/green_context.h"
#include "core/process/thread_state.h"

namespace vg::core {

// The living context with this handle. CUDA_ERROR_INVALID_CONTEXT for null, foreign and stale handles,
// CUDA_ERROR_CONTEXT_IS_DESTROYED for a context that has ended or a primary one that nobody retains.
// The handle of a green context stands for the primary one that it is a part of.
Result<Context&> findContext(CUcontext handle);
// The same for calls that may name a primary context that nobody retains.
Result<Context&> findContextOrPrimary(CUcontext handle);
// A context that lives, has ended or is to begin: cuCtxSetCurrent takes them all. CUDA_ERROR_INVALID_CONTEXT for what
// never was one. `green` says whether the handle is a green context's.
Result<ContextReference> findAnyContext(CUcontext handle);

// The current context of the calling thread when it may be used; otherwise CUDA_ERROR_INVALID_CONTEXT (none),
// CUDA_ERROR_CONTEXT_IS_DESTROYED (ended, or a primary one that nobody retains) or its sticky error.
inline Result<Context&> currentContext();
// The same, when a look at the context is not enough to say yes: of a green context, or to say why not.
[[gnu::noinline]] Result<Context&> examineCurrentContext();

inline Result<Context&> currentContext() {
  Context* context = threadState.current;
  if (!context || !context->usable(threadState.generation)) [[unlikely]]
    return examineCurrentContext();
  return *context;
}

// The streams that the thread's default streams and new ones belong to; the same errors.
inline Result<StreamSet&> currentStreams();
[[gnu::noinline]] Result<StreamSet&> currentGreenStreams();  // requires: a green context is current

inline Result<StreamSet&> currentStreams() {
  if (threadState.green) [[unlikely]]
    return currentGreenStreams();
  VG_TRY(Context & context, currentContext());
  return context.streams();
}

// The streams of the context that is meant.
StreamSet& streamsOf(const ContextReference& reference);
// Its handle: null for none.
CUcontext handleOf(const ContextReference& reference);
// Whether the context that was meant has begun and not ended; it may have failed.
bool lives(const ContextReference& reference);

// Takes the context off the calling thread's stack that is on top, and answers its handle; CUDA_ERROR_INVALID_CONTEXT
// when the stack is empty.
Result<CUcontext> popCurrent();

}  // namespace vg::core
