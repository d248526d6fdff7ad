// Events between processes: cuIpcGetEventHandle and cuIpcOpenEventHandle.
//
// The last record of any process counts. A record of this process is a point of a timeline as ever, and is marked in
// the shared state when it is reached; a record of another process is waited for there (ipc/shared_event.h), by streams
// through ipc/event_bridge.h. When a process ends in the middle of what it recorded, waiting ends with
// CUDA_ERROR_EXTERNAL_DEVICE; streams go on. Thread-safe.
#pragma once

#include <cuda.h>

#include "base/result.h"

namespace vg::core {

class Context;
class Event;

namespace ipc_event {

// The same handle each time. CUDA_ERROR_INVALID_HANDLE for an event without CU_EVENT_INTERPROCESS or one that another
// process made.
Result<CUipcEventHandle> handleOf(Event& event);

// A new event object of the context. CUDA_ERROR_MAP_FAILED, as the vendor's driver answers, whatever is wrong with the
// handle.
Result<CUevent> open(Context& context, const CUipcEventHandle& handle);

}  // namespace ipc_event
}  // namespace vg::core
