// Functions of the application that run in stream order. They must not call the API
// (core/process/inside_host_function.h).
#pragma once

#include <cuda.h>

#include "core/process/inside_host_function.h"
#include "core/streams/stream.h"
#include "core/work/work.h"

namespace vg::core {

namespace work {
// For Stream::give(). Not called when the context has failed by then.
inline Result<Work> keep(Stream&, const HostCall& call) { return Work(call); }
CUresult perform(Stream& stream, const HostCall& call, Form form);
}  // namespace work

// cuStreamAddCallback: called in any case, with `handle` and the context's state.
CUresult addCallback(Stream& stream, CUstream handle, CUstreamCallback callback, void* data);

}  // namespace vg::core
