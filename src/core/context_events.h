// Events of whole contexts: cuCtxRecordEvent and cuCtxWaitEvent. Thread-safe.
#pragma once

#include <cuda.h>

#include "base/result.h"

namespace vg::core {

class Context;
class Event;

// The event is reached when everything that all streams of the context have to do by now is done, non-blocking ones
// too.
CUresult recordContext(Context& context, Event& event);
// Later work of every stream that the context has now comes after the event.
CUresult waitContext(Context& context, Event& event);

}  // namespace vg::core
