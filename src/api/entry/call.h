// What every handler is given, and the declarations of all handlers.
//
// A handler is `CUresult vg::handlers::<symbol>(const Call&, parameters...)` in api/<room>/<family>.cpp. It runs after
// the thunk (exports.cpp) has passed the process gate and, where the row in entry_points.inc says `Context`, found a
// current context. It checks its arguments, finds the objects and calls one verb of core. std::bad_alloc may leave it:
// the thunk answers CUDA_ERROR_OUT_OF_MEMORY. It runs on the application's thread and holds no lock when it starts.
#pragma once

#include <cuda.h>

#include "api/entry/interop.h"
#include "base/result.h"
#include "core/contexts/context.h"
#include "core/contexts/current_context.h"
#include "core/process/process.h"
#include "core/process/thread_state.h"
#include "core/streams/stream.h"

namespace vg {

// What a row needs before its handler runs.
enum class Needs { Nothing, Init, Context };

// What the null stream handle means to this call.
enum class DefaultStream : unsigned char { Legacy, PerThread };

struct Call {
  core::Context* context;  // usable and current to the calling thread; null where the row does not ask for one
  DefaultStream stream;    // PerThread in the _ptsz and _ptds twins

  // The stream that a handle means: null is a default stream, which one the symbol decides. Default streams are those
  // of the current context, which must be usable: its error otherwise. CUDA_ERROR_INVALID_HANDLE for what is no stream.
  Result<core::Stream&> resolve(CUstream handle) const;
};

inline Result<core::Stream&> Call::resolve(CUstream handle) const {
  if (!handle) handle = stream == DefaultStream::PerThread ? CU_STREAM_PER_THREAD : CU_STREAM_LEGACY;
  if (handle != CU_STREAM_LEGACY && handle != CU_STREAM_PER_THREAD) return core::resolveStream(handle, nullptr);
  VG_TRY(core::StreamSet & current, core::currentStreams());
  return core::resolveStream(handle, &current);
}

#define CU_COMMA(...) __VA_OPT__(, ) __VA_ARGS__  // "(a, b)" becomes ", a, b"; "()" becomes nothing

namespace handlers {

// What a handler answers to a null pointer.
[[gnu::cold]] inline CUresult missing(const char* argument) {
  return fail(CUDA_ERROR_INVALID_VALUE, "%s is null", argument);
}

#define CU_LIVE(name, since, needs, twin, params, args) CUresult name(const Call& CU_COMMA params);
#define CU_STUB(name, since, needs, twin, params, args)
#include "api/entry/entry_points.inc"
#undef CU_LIVE
#undef CU_STUB
}  // namespace handlers
}  // namespace vg
