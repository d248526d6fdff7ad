// Events of whole contexts, green or not: cuCtxRecordEvent, cuGreenCtxRecordEvent and their counterparts. A context's
// own set of streams stands for those of its green contexts too. Thread-safe.
#pragma once

#include <cuda.h>

#include "base/result.h"

namespace vg::core {

class Event;
struct StreamSet;

// The event is reached when everything that all streams of the context have to do by now is done, non-blocking ones
// too.
CUresult recordContext(StreamSet& set, Event& event);
// Later work of every stream that the context has now comes after the event.
CUresult waitContext(StreamSet& set, Event& event);

}  // namespace vg::core
