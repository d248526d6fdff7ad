// Functions of the application that run in stream order. They must not call the API: while one runs, the thunks answer
// its thread CUDA_ERROR_NOT_PERMITTED, but for the queries that the vendor's driver answers too (api/exports.cpp).
#pragma once

#include <cuda.h>

#include "core/streams/stream.h"
#include "core/work/work.h"

namespace vg::core {

// True on a thread that is inside a host function or a stream callback.
extern constinit thread_local bool insideHostFunction [[gnu::tls_model("initial-exec")]];

// The time that a thread spends in a function of the application.
class InsideHostFunction {
 public:
  InsideHostFunction() : before_(insideHostFunction) { insideHostFunction = true; }
  ~InsideHostFunction() { insideHostFunction = before_; }
  InsideHostFunction(const InsideHostFunction&) = delete;

 private:
  const bool before_;
};

namespace work {
// For Stream::give(). Not called when the context has failed by then.
inline Result<Work> keep(Stream&, const HostCall& call) { return Work(call); }
CUresult perform(Stream& stream, const HostCall& call, Form form);
}  // namespace work

// cuStreamAddCallback: called in any case, with `handle` and the context's state.
CUresult addCallback(Stream& stream, CUstream handle, CUstreamCallback callback, void* data);

}  // namespace vg::core
